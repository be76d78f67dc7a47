// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/compile_options.h"

#include <algorithm>

#include "tools/commands/commands.h"
#include "tools/commands/validators.h"

namespace graphc::core::commands {
namespace {

CLI::Option* add_one(CLI::App& app, CompileOptions& compile, GivenOptions& given,
                     std::string_view name) {
  if (name == "precision") {
    given.word(name) = name_of(compile.precision);
    return app.add_option("--precision", given.word(name), "what f32 are computed in")
        ->capture_default_str();
  }
  if (name == "threads") {
    return app.add_option("--threads", compile.threads, "else the cores this process may use")
        ->check(CLI::Range(1, 4096));
  }
  if (name == "variant") {
    return app.add_option("--variant", compile.variant, "the list of passes")
        ->capture_default_str();
  }
  if (name == "unroll") {
    return app.add_option("--unroll", compile.unroll, "auto, loop, full or a number of steps")
        ->capture_default_str();
  }
  if (name == "remat") {
    return app
        .add_option("--remat", compile.remat,
                    "which states of a loop are saved for its derivative, the others being "
                    "computed again: auto, off (all) or every so many")
        ->capture_default_str();
  }
  if (name == "recurrence") {
    return app
        .add_option("--recurrence", compile.recurrence,
                    "how linear recurrences of matrices are computed: auto, steps, chunks or "
                    "chunks=N")
        ->capture_default_str();
  }
  if (name == "memory") {
    return app
        .add_option("--memory", compile.memory,
                    "of a step's values: a step that needs more saves fewer states of its loops; "
                    "4GB; else what the machine, or the GPU, has")
        ->transform(CLI::AsSizeValue(true));
  }
  if (name == "placement") {
    given.word(name) = name_of(compile.cuda.placement);
    return app
        .add_option("--placement", given.word(name),
                    "where a GPU keeps the matrices of loops: auto, streamed, grid, cluster, block "
                    "or rows; "
                    "or launches, for every step")
        ->capture_default_str();
  }
  if (name == "products") {
    given.word(name) = name_of(compile.cuda.products);
    return app
        .add_option("--products", given.word(name),
                    "what computes a GPU's large products: auto, generated or cublaslt")
        ->capture_default_str();
  }
  GRAPHC_CHECK(name == "cpu", "no such option: {}", name);
  return app.add_option("--cpu", compile.architecture, "a lesser CPU to compile for: x86-64-v3");
}

}  // namespace

void GivenOptions::watch(std::string_view name, CLI::Option* option) {
  option->each([name, this](const std::string&) { names_.push_back(name); });
}

bool GivenOptions::has(std::string_view name) const {
  return std::ranges::find(names_, name) != names_.end();
}

void GivenOptions::apply(const Target& on, CompileOptions& compile) const {
  for (std::string_view name : names_) {
    if (name == "precision" || std::ranges::find(on.options, name) != on.options.end()) continue;
    const std::string known =
        on.options.empty() ? "" : fmt::format(": it has --{}", fmt::join(on.options, ", --"));
    throw usage_error("--{}: target '{}' has no such option{}", name, on.name, known);
  }
  if (has("variant")) check_variant(on, compile.variant);
  if (has("placement")) compile.cuda.placement = cuda::placement_named(words_.at("placement"));
  if (has("products")) compile.cuda.products = cuda::products_named(words_.at("products"));
  if (has("precision")) compile.precision = precision_of(on, words_.at("precision"));
  if (on.check_options != nullptr) on.check_options(compile);
}

const Target& chosen_target(const std::string& typed, CompileOptions& compile,
                            const GivenOptions& given) {
  const Target& on = target(typed, compile);
  given.apply(on, compile);
  return on;
}

void add_compile_options(CLI::App& app, CompileOptions& compile, GivenOptions& given,
                         std::initializer_list<std::string_view> names) {
  for (std::string_view name : names) given.watch(name, add_one(app, compile, given, name));
}

void add_gradients_option(CLI::App& app, DType& gradients) {
  app.add_option_function<std::string>(
         "--gradients",
         [&gradients](const std::string& word) {
           if (word != "f32" && word != "bf16")
             throw usage_error("--gradients is f32 or bf16: found '{}'", word);
           gradients = word == "bf16" ? DType::bf16 : DType::f32;
         },
         "the type in which ranks send gradients: f32; or bf16, half the bytes, whose sums are f32")
      ->default_str("f32");
}

void add_rank_options(CLI::App& app, RankArguments& arguments, bool of_one) {
  app.add_option("--ranks", arguments.ranks, "how many ranks share out the batch")
      ->check(whole_number(1));
  if (of_one) app.add_option("--rank", arguments.rank, "whose graph is shown: 0 is the first");
  app.add_option("--shards", arguments.shards,
                 "how many shards gradients are summed by: a power of two that the ranks divide")
      ->check(whole_number(1));
  add_gradients_option(app, arguments.gradients);
  app.add_option("--batch", arguments.batch,
                 "the axis of an input that the ranks share out: x=1, or x=whole")
      ->allow_extra_args(false);
}

void add_argument_options(CLI::App& app, std::vector<std::string>& inputs, double& scale) {
  app.add_option("--input", inputs,
                 "an input or state that is not drawn: x=@x.npy, or x=0.5 for every element")
      ->allow_extra_args(false);
  app.add_option("--scale", scale,
                 "a factor of the numbers drawn, which else are from -1 to 1, and those of weights "
                 "smaller the more terms a product sums")
      ->check(number_from_zero())
      ->capture_default_str();
}

}  // namespace graphc::core::commands
