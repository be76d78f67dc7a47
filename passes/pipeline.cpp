// SPDX-License-Identifier: Apache-2.0
#include "passes/pipeline.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "ir/op.h"
#include "ir/spelling.h"
#include "passes/passes.h"
#include "passes/recurrence/chunk_recurrence.h"

namespace graphc::core {
namespace {

// For the reasons of the standard order see passes/order.cpp.
struct Variant {
  std::string_view name;
  std::string_view passes;   ///< to an optimised graph, for every target
  std::string_view kernels;  ///< from there to kernels, for targets that generate code
  bool library = false;      ///< leaves layers to a library
  bool rounds = false;       ///< kernels round their results when storing them
};
constexpr Variant variants[] = {
    // One kernel per op in the loop.
    {"basic",
     "simplify,cse,"
     "remat,autodiff,expand,collectives,simplify,cse,sparse-rows",
     "reductions,simplify,fuse{single=true}"},
    // The same with loops unrolled.
    {"unrolled",
     "simplify,cse,"
     "remat,autodiff,expand,collectives,simplify,cse,"
     "unroll{full=true},simplify,cse,sparse-rows",
     "reductions,simplify,fuse{single=true}"},
    // Distributed loops: the form from which kernels are planned.
    {"fused",
     "reroll,simplify,cse,vector-products,pack-matmuls,simplify,cse,hoist,simplify,cse,outline,"
     "split-axes,align-axes,chunk-recurrence,simplify,cse,remat,autodiff,expand,simplify,cse,hoist,"
     "align-axes,"
     "unroll{auto},simplify,"
     "cse,collectives,simplify,cse,"
     "sparse-rows,chunk",
     "reductions,simplify,cse,row-operands,cse,fuse", false, true},
    // The same, except for recurrent layers that a library has.
    {"cudnn",
     "reroll,simplify,cse,vector-products,pack-matmuls,simplify,cse,hoist,simplify,cse,"
     "outline{library},"
     "split-axes,align-axes,chunk-recurrence,simplify,cse,remat,autodiff{library},expand{library},"
     "simplify,cse,hoist,align-axes,"
     "simplify,cse,collectives,simplify,"
     "cse,sparse-rows,chunk",
     "reductions,simplify,cse,row-operands,cse,fuse", true},
};
/// The faster of `fused` and `cudnn`; `fused` if a target has no library, and until that is known.
constexpr std::string_view kEither = "auto";

const Variant& find_variant(std::string_view variant) {
  if (variant == kEither) variant = "fused";
  std::vector<std::string> names;
  for (const Variant& known : variants) {
    if (known.name == variant) return known;
    names.emplace_back(known.name);
  }
  names.emplace_back(kEither);
  throw Error(ErrorKind::usage, {},
              fmt::format("there is no variant '{}'; there are {}{}", variant,
                          fmt::join(names, ", "), did_you_mean(variant, names)));
}

/// The option names of a pass, including those of all composites if it accepts them.
std::vector<std::string> options_of(const Pass& pass) {
  std::vector<std::string> names;
  for (std::string_view left = pass.options; !left.empty();) {
    const size_t end = std::min(left.find(','), left.size());
    if (left.substr(0, end) == "COMPOSITE") {
      for (const Op* op : all_ops()) {
        if (is_composite(*op)) names.emplace_back(op->name);
      }
    } else {
      names.emplace_back(left.substr(0, end));
    }
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return names;
}

PassUse parse_use(std::string_view text) {
  const size_t brace = text.find('{');
  std::string_view name = text.substr(0, brace);
  while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
  PassUse use{&find_pass(name), {}};
  if (brace == std::string_view::npos) return use;
  use.options = PassOptions(text.substr(brace + 1, text.rfind('}') - brace - 1));
  for (const auto& [option, value] : use.options.entries()) {
    const std::vector<std::string> known = options_of(*use.pass);
    if (std::find(known.begin(), known.end(), option) != known.end()) continue;
    throw Error(ErrorKind::usage, {},
                fmt::format("pass '{}' has no option '{}'; it has {}{}", name, option,
                            use.pass->options.empty() ? "none" : use.pass->options,
                            did_you_mean(option, known)));
  }
  return use;
}

/// A positive number of steps.
std::optional<int64_t> steps_of(std::string_view text) {
  int64_t steps = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), steps);
  const bool is_number = error == std::errc() && end == text.end() && steps > 0;
  return is_number ? std::optional(steps) : std::nullopt;
}

}  // namespace

Pipeline parse_pipeline(std::string_view text) {
  Pipeline pipeline;
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (depth < 0 || depth > 1 || (i == text.size() && depth != 0))
      throw Error(ErrorKind::usage, {}, fmt::format("braces do not match in '{}'", text));
    if (c != ',' || depth != 0) continue;
    std::string_view entry = text.substr(start, i - start);
    while (!entry.empty() && entry.front() == ' ') entry.remove_prefix(1);
    while (!entry.empty() && entry.back() == ' ') entry.remove_suffix(1);
    start = i + 1;
    if (entry.empty() && text.find_first_not_of(' ') == std::string_view::npos) continue;
    pipeline.push_back(parse_use(entry));
  }
  return pipeline;
}

std::string to_text(const Pipeline& pipeline) {
  std::string text;
  for (const PassUse& use : pipeline) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ",", use.pass->name, use.options.to_text());
  }
  return text;
}

namespace {

/// Replaces the use of chunk-recurrence, if the variant has one, by what was asked for.
void set_recurrence(Pipeline& pipeline, std::string_view recurrence) {
  if (recurrence == "auto") return;
  std::erase_if(pipeline, [](const PassUse& use) { return use.pass == &passes::chunk_recurrence; });
  if (recurrence == "steps") return;
  constexpr std::string_view chunks = "chunks", of = "chunks=";
  const auto steps = recurrence.starts_with(of) ? steps_of(recurrence.substr(of.size()))
                                                : std::optional<int64_t>();
  if (recurrence != chunks && (!steps || *steps < 2)) {
    throw Error(ErrorKind::usage, {},
                fmt::format("recurrence is auto, steps, chunks or chunks=N, of 2 steps or more: "
                            "found '{}'",
                            recurrence));
  }
  const Pipeline chunked = parse_pipeline(
      fmt::format("chunk-recurrence{{steps={}}},simplify,cse", steps ? *steps : kStepsOfChunk));
  pipeline.insert(std::ranges::find(pipeline, &passes::remat, &PassUse::pass), chunked.begin(),
                  chunked.end());
}

}  // namespace

Pipeline standard_pipeline(std::string_view variant, std::string_view unroll,
                           std::string_view remat, std::string_view recurrence) {
  Pipeline pipeline = parse_pipeline(find_variant(variant).passes);
  set_recurrence(pipeline, recurrence);
  const auto remats = std::ranges::find(pipeline, &passes::remat, &PassUse::pass);
  if (const auto steps = steps_of(remat)) {
    remats->options.set("steps", std::to_string(*steps));
  } else if (remat == "off") {
    pipeline.erase(remats);
  } else if (remat != "auto") {
    throw Error(ErrorKind::usage, {},
                fmt::format("remat is auto, off or a number of steps: found '{}'", remat));
  }
  if (unroll == "auto") return pipeline;
  std::erase_if(pipeline, [](const PassUse& use) { return use.pass == &passes::unroll; });
  if (unroll == "loop") return pipeline;
  const auto steps = steps_of(unroll);
  if (!steps && unroll != "full") {
    throw Error(ErrorKind::usage, {},
                fmt::format("unroll is auto, loop, full or a number of steps: found '{}'", unroll));
  }
  const std::string option = steps ? fmt::format("steps={}", *steps) : "full=true";
  // Before the pass that inspects all uses of a gradient.
  const auto place = std::ranges::find(pipeline, &passes::sparse_rows, &PassUse::pass);
  const Pipeline unrolled = parse_pipeline(fmt::format("unroll{{{}}},simplify,cse", option));
  pipeline.insert(place, unrolled.begin(), unrolled.end());
  return pipeline;
}

Pipeline kernel_pipeline(std::string_view variant, bool stores_bf16) {
  const Variant& known = find_variant(variant);
  Pipeline pipeline = parse_pipeline(known.kernels);
  if (!stores_bf16 || !known.rounds) return pipeline;
  // Before what must not be rounded.
  const auto place = std::ranges::find(pipeline, &passes::row_operands, &PassUse::pass);
  pipeline.insert(place, parse_pipeline("precision{bf16}").front());
  return pipeline;
}

std::vector<std::string_view> all_variants() {
  std::vector<std::string_view> names;
  for (const Variant& variant : variants) {
    if (!variant.library) names.push_back(variant.name);
  }
  return names;
}

std::vector<std::string_view> typed_variants() {
  std::vector<std::string_view> names;
  for (const Variant& variant : variants) names.push_back(variant.name);
  names.push_back(kEither);
  return names;
}

bool leaves_layers(std::string_view variant) { return find_variant(variant).library; }

}  // namespace graphc::core
