// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/compile_options.h"

#include <algorithm>

#include "tools/commands/commands.h"
#include "tools/commands/validators.h"

namespace graphc::core::commands {
namespace {

CLI::Option* add_one(CLI::App& app, CompileOptions& compile, std::string_view name) {
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
  if (name == "placement") {
    return app
        .add_option(
            "--placement", compile.placement,
            "where a GPU keeps the matrices of loops: auto, streamed, grid, cluster or block")
        ->capture_default_str();
  }
  if (name == "products") {
    return app
        .add_option("--products", compile.products,
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

void GivenOptions::check(const Target& on, const CompileOptions& compile) const {
  for (std::string_view name : names_) {
    if (std::ranges::find(on.options, name) != on.options.end()) continue;
    const std::string known =
        on.options.empty() ? "" : fmt::format(": it has --{}", fmt::join(on.options, ", --"));
    throw usage_error("--{}: target '{}' has no such option{}", name, on.name, known);
  }
  if (std::ranges::find(names_, "variant") != names_.end()) check_variant(on, compile.variant);
  if (on.check_options != nullptr) on.check_options(compile);
}

const Target& chosen_target(const std::string& typed, CompileOptions& compile,
                            const GivenOptions& given) {
  const Target& on = target(typed, compile);
  given.check(on, compile);
  return on;
}

void add_compile_options(CLI::App& app, CompileOptions& compile, GivenOptions& given,
                         std::initializer_list<std::string_view> names) {
  for (std::string_view name : names) given.watch(name, add_one(app, compile, name));
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
