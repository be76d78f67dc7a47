// SPDX-License-Identifier: Apache-2.0
#include "frontend/round_up.h"

#include <algorithm>
#include <bit>

namespace graphc::core {
RoundUp to_multiple_of(int64_t step) {
  if (step < 1)
    throw Error(ErrorKind::usage, {},
                fmt::format("to_multiple_of: wanted at least 1, found {}", step));
  return [step](int64_t extent) { return (extent + step - 1) / step * step; };
}

RoundUp to_power_of_two() {
  return
      [](int64_t extent) { return extent < 1 ? extent : int64_t(std::bit_ceil(uint64_t(extent))); };
}

RoundUp to_one_of(std::vector<int64_t> sizes) {
  std::ranges::sort(sizes);
  return [sizes = std::move(sizes)](int64_t extent) {
    const auto found = std::ranges::lower_bound(sizes, extent);
    return found == sizes.end() ? extent : *found;
  };
}

RoundedCall round_call(Model& model, std::string_view graph, const GivenTypes& called,
                       const GivenTypes& traced_as, const RoundUps& rounds) {
  const TracedGraph traced = model.sound(graph, traced_as);
  RoundedCall call{.called = called, .inputs = called, .results = {}, .rules = rules_of(traced)};
  for (Value result : traced.graph->results()) call.results.push_back(result.type());
  for (size_t i = 0; i < called.size(); ++i) {
    const std::vector<Dim>& dims = traced.dims[i];
    for (int axis = 0; axis < int(dims.size()); ++axis) {
      const auto round = rounds.find(dims[size_t(axis)].name);
      if (dims[size_t(axis)].name.empty() || round == rounds.end()) continue;
      const int64_t extent = called[i].type.shape[axis], rounded = round->second(extent);
      if (rounded < extent) {
        throw Error(ErrorKind::usage, {},
                    fmt::format("round_up: '{}' of {} becomes {}: wanted no less", round->first,
                                extent, rounded));
      }
      Shape& shape = call.inputs[i].type.shape;
      shape = shape.with(axis, rounded);
    }
  }
  return call;
}

}  // namespace graphc::core
