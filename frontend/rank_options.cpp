// SPDX-License-Identifier: Apache-2.0
#include "frontend/rank_options.h"

#include <algorithm>
#include <bit>

namespace graphc::core {
namespace {

int ranks_of(const SessionOptions& options) {
  return options.ranks == nullptr ? 1 : options.ranks->count();
}

int shards_of(const SessionOptions& options) {
  return options.shards > 0 ? options.shards : ranks_of(options);
}

/// The axis with the dim, or -1.
int axis_of(const std::vector<Dim>& dims, std::string_view name) {
  const auto found =
      std::ranges::find_if(dims, [&](const Dim& dim) { return dim.is_name && dim.name == name; });
  return found == dims.end() ? -1 : int(found - dims.begin());
}

}  // namespace

namespace {

void check_gradients(const SessionOptions& options) {
  const auto refuse = [](std::string message) {
    throw Error(ErrorKind::usage, {}, std::move(message));
  };
  if (options.gradients == DType::f32) return;
  if (options.gradients != DType::bf16)
    refuse(fmt::format("gradients: wanted f32 or bf16: found {}", to_string(options.gradients)));
  if (options.shards != 0) {
    refuse(
        "gradients in bf16 are rounded when ranks send them, so no bit would depend on shards "
        "alone: wanted one or the other");
  }
  if (options.compile.precision == Precision::f64)
    refuse("gradients in bf16: wanted a precision other than f64");
}

}  // namespace

void check_ranks(const SessionOptions& options) {
  const int ranks = ranks_of(options);
  check_gradients(options);
  if (options.shards == 0) return;
  const bool power = options.shards > 0 && std::has_single_bit(unsigned(options.shards));
  if (power && options.shards % ranks == 0) return;
  throw Error(ErrorKind::usage, {},
              fmt::format("shards: wanted a power of two that is divided by the number of ranks, "
                          "{}: found {}",
                          ranks, options.shards));
}

bool batch_is_odd(const SessionOptions& options, const TracedGraph& traced) {
  const auto extent = traced.extents.find(options.batch);
  return extent != traced.extents.end() && extent->second % shards_of(options) != 0;
}

std::vector<int> batch_axes(const TracedGraph& traced, std::string_view batch) {
  std::vector<int> axes;
  for (const Value input : traced.graph->inputs()) {
    // The lengths that a session adds are not among the caller's inputs.
    const auto named = std::ranges::find(traced.inputs, input.name());
    const size_t place = size_t(named - traced.inputs.begin());
    axes.push_back(named == traced.inputs.end() ? -1 : axis_of(traced.dims[place], batch));
  }
  return axes;
}

RankOptions rank_options(const SessionOptions& options, const TracedGraph& traced) {
  if (shards_of(options) == 1 || !traced.extents.contains(options.batch) ||
      traced.extents.at(options.batch) == 0 || batch_is_odd(options, traced)) {
    // Whole on every rank: on a GPU, on that of the rank.
    return {.engine = options.ranks};
  }
  return RankOptions{.count = ranks_of(options),
                     .rank = options.ranks == nullptr ? 0 : options.ranks->rank(),
                     .shards = options.shards,
                     .gradients = options.gradients,
                     .axes = batch_axes(traced, options.batch),
                     .engine = options.ranks};
}

std::string shards_text(const SessionOptions& options) {
  return fmt::format("{} {}", shards_of(options), options.shards > 0 ? "shards" : "ranks");
}

}  // namespace graphc::core
