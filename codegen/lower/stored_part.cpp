// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/stored_part.h"

#include <algorithm>

#include "passes/region.h"

namespace graphc::core {

std::optional<StoredPart> part_to_store(const Graph& body, const std::vector<View>& inputs,
                                        const std::vector<View>& results) {
  const auto has_elements = [](const View& view) { return view.shape.elements() > 0; };
  if (std::ranges::all_of(results, has_elements)) return std::nullopt;
  StoredPart part;
  Values wanted;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!has_elements(results[i])) continue;
    wanted.push_back(body.results()[i]);
    part.results.push_back(results[i]);
  }
  const std::vector<bool> needed = needed_for(body, wanted);
  auto copy = std::make_unique<Graph>(body.name());
  ValueMap known(body);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value input = body.inputs()[i];
    if (!needed[size_t(input.node->id)]) continue;
    known.set(input, copy->input(input.type(), input.name(), input.node->where));
    part.inputs.push_back(inputs[i]);
  }
  copy->set_results(copy_cone(body, known, wanted, *copy));
  part.body = freeze(std::move(copy));
  return part;
}

}  // namespace graphc::core
