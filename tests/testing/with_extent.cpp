// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/with_extent.h"

#include <algorithm>
#include <map>

#include "ir/op.h"

namespace graphc::core::testing {
namespace {

using Ints = std::vector<int64_t>;

class Change {
 public:
  Change(int64_t from, int64_t to, bool multiples) : from_(from), to_(to), multiples_(multiples) {}

  GraphPtr operator()(const Graph& graph) const {
    auto result = std::make_unique<Graph>(graph.name());
    std::map<std::pair<const Node*, int>, Value> made;
    const auto at = [&](Value value) { return made.at({value.node, value.index}); };
    const auto all = [&](const Values& values) {
      Values mapped;
      for (Value value : values) mapped.push_back(at(value));
      return mapped;
    };
    for (const Node& node : graph.nodes()) {
      if (node.is(ops::input) || node.is(ops::state)) {
        const Type type{node.types[0].dtype, shape(node.types[0].shape)};
        made[{&node, 0}] = node.is(ops::input) ? result->input(type, node.names[0])
                                               : result->state(type, node.names[0]);
        continue;
      }
      std::vector<GraphPtr> regions;
      for (const GraphPtr& region : node.regions) regions.push_back((*this)(*region));
      const Values operands = all(node.operands);
      const Node& copy = result->add(node.op, operands, attributes(node, operands),
                                     std::move(regions), node.where, node.names);
      for (int i = 0; i < copy.results(); ++i) made[{&node, i}] = copy.result(i);
    }
    result->set_results(all(graph.results()));
    for (const Next& next : graph.next()) result->set_next(at(next.state), at(next.value));
    return freeze(std::move(result));
  }

 private:
  int64_t extent(int64_t old) const {
    for (int64_t m = 1; m <= (multiples_ ? 4 : 1); ++m) {
      if (old == m * from_) return m * to_;
    }
    return old;
  }

  Shape shape(const Shape& old) const {
    Ints extents;
    for (int64_t e : old) extents.push_back(extent(e));
    return Shape(extents);
  }

  Attributes attributes(const Node& node, const Values& operands) const {
    Attributes changed = node.attributes;
    for (const char* name : {"limit", "depth", "steps", "width"}) {
      if (node.attributes.find(name) != nullptr)
        changed.set(name, extent(node.attributes.get_int(name, 0)));
    }
    if (node.attributes.find("shape") != nullptr) {
      Ints extents = node.attributes.get_ints("shape");
      for (int64_t& e : extents) e = extent(e);
      if (node.is(ops::reshape) && extents.size() == 1) extents[0] = operands[0].shape().elements();
      changed.set("shape", extents);
    }
    if (node.is(ops::slice)) cut_off(operands[0].shape(), changed);
    if (node.is(ops::constant)) fit(changed);
    return changed;
  }

  void cut_off(const Shape& operand, Attributes& slice) const {
    const int64_t end = operand[int(slice.get_int("axis", 0))];
    const int64_t limit = std::min(slice.get_int("limit", end), end);
    slice.set("limit", limit);
    slice.set("start", std::min(slice.get_int("start", 0), std::max<int64_t>(limit - 1, 0)));
  }

  /// Resizes to the number of elements of the shape, and keeps indices below the new extent.
  void fit(Attributes& constant) const {
    const auto* value = std::get_if<Ints>(constant.find("value"));
    if (value == nullptr) return;
    Ints elements = *value;
    elements.resize(size_t(Shape(constant.get_ints("shape")).elements()), 0);
    for (int64_t& e : elements) e = std::min(e, std::max<int64_t>(to_ - 1, 0));
    constant.set("value", elements);
  }

  int64_t from_, to_;
  bool multiples_;
};

}  // namespace

std::set<int64_t> extents_of(const Graph& graph) {
  std::set<int64_t> extents;
  for (const Node& node : graph.nodes()) {
    for (const Type& type : node.types) extents.insert(type.shape.begin(), type.shape.end());
    for (const GraphPtr& region : node.regions) extents.merge(extents_of(*region));
  }
  return extents;
}

GraphPtr with_extent(const Graph& graph, int64_t from, int64_t to, bool multiples) {
  return Change(from, to, multiples)(graph);
}

}  // namespace graphc::core::testing
