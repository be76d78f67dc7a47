// SPDX-License-Identifier: Apache-2.0
#include "passes/split_loop.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "ir/build.h"
#include "ir/mutant.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "passes/axis_cuts.h"
#include "passes/axis_groups.h"

namespace graphc::core {
namespace {

using Ints = std::vector<int64_t>;
Value in_extents(Value x, const Ints& extents) {
  const Shape shape(extents);
  return x.shape() == shape ? x : reshape(x, shape);
}

/// The extents of parts that are not unpacked.
Ints packed(const std::vector<AxisPart>& parts) {
  Ints extents;
  for (const AxisPart& part : parts) {
    if (part.group < 0) extents.push_back(part.extent);
  }
  return extents;
}

/// One loop with its axes divided.
class SplitLoop {
 public:
  SplitLoop(const Scan& scan, const AxisParts& parts)
      : scan_(scan), parts_(parts), at_(parts.unpacked().size()), live_(live_nodes(scan.body())) {}

  Values add(const Values& operands, Graph& to) {
    ScanParts made;
    const size_t streams = scan_.streams().size(), carries = scan_.initial().size();
    for (size_t i = 0; i < operands.size(); ++i) {
      const Value input = scan_.body().inputs()[i];
      Values& list = i < streams             ? made.streams
                     : i < streams + carries ? made.initial
                                             : made.captures;
      add_input(input, operands[i], i < streams ? 1 : 0, list);
    }
    for (const Node& node : scan_.body().nodes()) {
      if (!live_[size_t(node.id)] || node.is(ops::input)) continue;
      const WhereScope scope(node.where);
      each_copy(node.result(), [&] { make(node); });
    }
    Values results;
    for (const Value result : scan_.body().results())
      each_copy(result, [&] { results.push_back(known(result)); });
    body_->set_results(std::move(results));
    made.body = freeze(std::move(body_));
    made.steps = scan_.steps();
    made.reverse = scan_.reverse();
    made.save_every = scan_.save_every();
    const Node& loop = add_scan(to, std::move(made), scan_.node().where, names());
    Values values;
    int next = 0;
    for (size_t i = 0; i < scan_.emits().size(); ++i)
      values.push_back(joined(loop, next, scan_.emits()[i], scan_.emitted(i), 1));
    for (size_t i = 0; i < carries; ++i)
      values.push_back(joined(loop, next, scan_.next()[i], scan_.final(i), 0));
    return values;
  }

 private:
  // --- values of the step, one for each element of their unpacked parts

  /// Which element of its unpacked parts a value is at: `at_`, as far as it has them.
  size_t place_of(Value value) const {
    size_t place = 0;
    if (parts_.is_matrix(value)) return place;
    for (const AxisPart& part : parts_.of_value(value)) {
      if (part.group >= 0) place = place * size_t(part.extent) + size_t(at_[size_t(part.group)]);
    }
    return place;
  }
  Value known(Value value) const {
    return known_.at({value.node->id, value.index, place_of(value)});
  }
  void set(Value old, Value value) { known_[{old.node->id, old.index, place_of(old)}] = value; }

  /// Calls `visit` with `at_` at each element of the value's unpacked parts, in C order.
  template <typename Visit>
  void each_copy(Value value, const Visit& visit) {
    std::vector<AxisPart> parts = parts_.of_value(value);
    std::erase_if(parts, [](const AxisPart& part) { return part.group < 0; });
    int64_t count = 1;
    for (const AxisPart& part : parts) count *= part.extent;
    for (int64_t place = 0; place < count; ++place) {
      int64_t left = place;
      for (auto part = parts.rbegin(); part != parts.rend(); left /= part++->extent)
        at_[size_t(part->group)] = left % part->extent;
      visit();
    }
  }

  Ints shape_of(Value value) const { return packed(parts_.of_value(value)); }

  // --- what comes into the loop and out of it

  /// The names of the loop's results: elements of one have the same.
  std::vector<std::string> names() {
    std::vector<std::string> all;
    const size_t emits = scan_.emits().size();
    for (size_t i = 0; i < scan_.node().names.size(); ++i) {
      const Value inside = i < emits ? scan_.emits()[i] : scan_.next()[i - emits];
      each_copy(inside, [&] { all.push_back(scan_.node().names[i]); });
    }
    return all;
  }

  /// Of the loop's results from `next` on, the elements of a value of the step as one value, as
  /// `wanted` was. With `steps` axes in front.
  Value joined(const Node& loop, int& next, Value inside, Value wanted, int steps) {
    Ints shape;
    if (steps > 0) shape.push_back(wanted.shape()[0]);
    std::vector<std::pair<int, int64_t>> unpacked;  // the axis that is to be, its extent
    for (const AxisPart& part : parts_.of_value(inside)) {
      if (part.group >= 0) unpacked.emplace_back(int(shape.size()), part.extent);
      shape.push_back(part.group >= 0 ? 1 : part.extent);
    }
    Values elements;
    each_copy(inside, [&] { elements.push_back(in_extents(loop.result(next++), shape)); });
    // The last axis first: its elements are side by side.
    for (auto axis = unpacked.rbegin(); axis != unpacked.rend(); ++axis) {
      Values fewer;
      for (auto at = elements.begin(); at != elements.end(); at += axis->second)
        fewer.push_back(concat(Values(at, at + axis->second), axis->first));
      elements = std::move(fewer);
    }
    return in_extents(elements[0], Ints(wanted.shape().begin(), wanted.shape().end()));
  }

  void add_input(Value input, Value outside, int steps, Values& list) {
    if (parts_.is_matrix(input)) {
      outside = as_matrix(outside, input);
      list.push_back(outside);
      return set(input, body_->input(Type{input.dtype(), outside.shape()}, input.name(),
                                     input.node->where));
    }
    Ints extents;
    if (steps > 0) extents.push_back(outside.shape()[0]);
    std::vector<int> unpacked;
    for (const AxisPart& part : parts_.of_value(input)) {
      if (part.group >= 0) unpacked.push_back(int(extents.size()));
      extents.push_back(part.extent);
    }
    Values elements{in_extents(outside, extents)};
    for (const int axis : unpacked) {
      Values more;
      for (const Value element : elements) {
        const Values own = split(element, int(extents[size_t(axis)]), axis);
        more.insert(more.end(), own.begin(), own.end());
      }
      elements = std::move(more);
    }
    Ints shape = shape_of(input), stacked = shape;
    if (steps > 0) stacked.insert(stacked.begin(), outside.shape()[0]);
    size_t next = 0;
    each_copy(input, [&] {
      list.push_back(in_extents(elements[next++], stacked));
      set(input, body_->input(Type{input.dtype(), Shape(shape)}, input.name(), input.node->where));
    });
  }

  /// The matrix of products: its leading axes in parts, and its columns, if their elements are
  /// unpacked, element by element.
  Value as_matrix(Value outside, Value input) const {
    const int rank = input.shape().rank();
    Ints extents, divided;
    std::vector<int64_t> order;
    for (int axis = 0; axis < rank; ++axis) {
      const std::vector<AxisPart> parts = parts_.of_axis(input, axis);
      if (axis + 2 < rank) {
        for (const AxisPart& part : parts) extents.push_back(part.extent);
      } else {
        extents.push_back(input.shape()[axis]);
      }
      const size_t first = divided.size();
      for (const AxisPart& part : parts) divided.push_back(part.extent);
      for (const bool unpacked : {true, false}) {
        for (size_t i = 0; i < parts.size(); ++i) {
          if ((parts[i].group >= 0) == unpacked) order.push_back(int64_t(first + i));
        }
      }
    }
    if (std::ranges::is_sorted(order) || mutated(Mutant::columns_of_elements_as_they_lie))
      return in_extents(outside, extents);
    return in_extents(transpose(in_extents(outside, divided), order), extents);
  }

  // --- nodes

  /// The node at the element that `at_` says.
  void make(const Node& node) {
    const Value result = node.result();
    if (node.is(ops::reshape)) {
      set(result, in_extents(known(node.operands[0]), shape_of(result)));
    } else if (node.is(ops::slice) || node.is(ops::split)) {
      for (const AxisPiece& each : pieces_of(node)) set(each.part, piece(node, each));
    } else if (node.is(ops::concat)) {
      set(result, concatenation(node));
    } else if (node.is(ops::matmul)) {
      set(result, product(node));
    } else if (reduces_axes(node)) {
      set(result, reduction(node));
    } else {
      copy(node);
    }
  }

  void copy(const Node& node) {
    Attributes attributes = node.attributes;
    Values operands;
    const bool broadcasts = is_elementwise(node.op) || node.is(ops::broadcast_to);
    for (const Value operand : node.operands)
      operands.push_back(broadcasts ? broadcastable(operand, node.result()) : known(operand));
    if (node.is(ops::transpose)) {
      attributes.set("permutation",
                     packed_axes(node.operands[0], node.attributes.get_ints("permutation")));
    } else if (node.is(ops::broadcast_to) || node.is(ops::iota) || node.is(ops::constant)) {
      if (node.types[0].shape.rank() > 0) attributes.set("shape", shape_of(node.result()));
    }
    if (node.is(ops::iota) && counts_along_axis(node))
      attributes.set("axis", first_part(node.result(), int(node.attributes.get_int("axis", 0))));
    const Node& made = body_->add(node.op, std::move(operands), std::move(attributes), node.regions,
                                  node.where, node.names);
    for (int i = 0; i < node.results(); ++i) set(node.result(i), made.result(i));
  }

  /// An operand with the axes that broadcasting needs: of extent 1 for every part that it is the
  /// same along.
  Value broadcastable(Value operand, Value result) const {
    const int rank = operand.shape().rank(), more = result.shape().rank() - rank;
    Ints extents;
    for (int axis = 0; axis < rank; ++axis) {
      Ints parts = packed(parts_.of_axis(result, axis + more));
      if (operand.shape()[axis] == 1) std::ranges::fill(parts, 1);
      extents.insert(extents.end(), parts.begin(), parts.end());
    }
    return in_extents(known(operand), extents);
  }

  /// The number of axes in front of an axis's parts.
  int64_t first_part(Value value, int axis) const {
    int64_t first = 0;
    for (int each = 0; each < axis; ++each)
      first += int64_t(packed(parts_.of_axis(value, each)).size());
    return first;
  }

  /// The axes that these axes of a value have become.
  Ints packed_axes(Value value, const Ints& axes) const {
    Ints all;
    for (const int64_t axis : axes) {
      const int64_t first = first_part(value, int(axis));
      const size_t parts = packed(parts_.of_axis(value, int(axis))).size();
      for (size_t i = 0; i < parts; ++i) all.push_back(first + int64_t(i));
    }
    return all;
  }

  Value reduction(const Node& node) const {
    const Value from = node.operands[0];
    Attributes attributes = node.attributes;
    attributes.set("axes", packed_axes(from, node.attributes.get_ints("axes")));
    const Node& made =
        body_->add(node.op, {known(from)}, std::move(attributes), {}, node.where, node.names);
    return in_extents(made.result(), shape_of(node.result()));
  }

  /// A piece of an axis: the element of unpacked parts that it is at, and a slice along each part
  /// of which it has some.
  Value piece(const Node& node, const AxisPiece& wanted) {
    const int axis = cut_axis(node);
    const Value from = wanted.all;
    const int64_t start = wanted.start, extent = wanted.part.shape()[axis];
    const std::vector<AxisPart> parts = parts_.of_axis(from, axis);
    int64_t distance = 1;
    std::vector<std::pair<int64_t, int64_t>> ranges(parts.size());
    for (size_t i = parts.size(); i-- > 0; distance *= parts[i].extent) {
      const int64_t first = start / distance % parts[i].extent;
      const int64_t count = std::clamp<int64_t>(extent / distance, 1, parts[i].extent);
      ranges[i] = {first, count};
      if (parts[i].group >= 0 && count == 1) at_[size_t(parts[i].group)] = first;
    }
    Value x = known(from);
    int64_t place = first_part(from, axis);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].group >= 0) continue;
      const auto [first, count] = ranges[i];
      if (count != parts[i].extent) x = slice(x, int(place), first, first + count);
      ++place;
    }
    return in_extents(x, shape_of(wanted.part));
  }

  /// Where the outermost part is unpacked, the operand that has the element: no operand has more
  /// than one along it. Else all of them along that part.
  Value concatenation(const Node& node) {
    const Value result = node.result();
    const int axis = cut_axis(node);
    std::vector<AxisPart> parts = parts_.of_axis(result, axis);
    std::erase_if(parts, [](const AxisPart& part) { return part.extent == 1; });
    const bool is_apart = !parts.empty() && parts[0].group >= 0;
    int64_t start = 0, end = 0;
    for (const AxisPart& part : parts) {
      const bool counts = !mutated(Mutant::pieces_by_outermost_part) || &part == &parts[0];
      start = start * part.extent + (part.group >= 0 && counts ? at_[size_t(part.group)] : 0);
    }
    Values operands;
    for (const Value operand : node.operands) {
      end += operand.shape()[axis];
      if (is_apart && start < end) return in_extents(known(operand), shape_of(result));
      operands.push_back(known(operand));
    }
    return body_
        ->add(node.op, std::move(operands), {{"axis", first_part(result, axis)}}, {}, node.where,
              node.names)
        .result();
  }

  /// The columns of a product that are the element that `at_` says.
  Value product(const Node& node) {
    const std::vector<AxisPart> columns =
        parts_.of_axis(node.result(), node.types[0].shape.rank() - 1);
    const Value left = known(node.operands[0]), right = known(node.operands[1]);
    Value& all_columns = products_[node.id];
    if (!all_columns) {
      all_columns =
          body_->add(node.op, {left, right}, node.attributes, {}, node.where, node.names).result();
    }
    int64_t elements = 1, place = 0;
    for (const AxisPart& part : columns) {
      if (part.group < 0) continue;
      elements *= part.extent;
      place = place * part.extent + at_[size_t(part.group)];
    }
    if (elements == 1) return in_extents(all_columns, shape_of(node.result()));
    const int64_t extent = all_columns.shape()[-1] / elements;
    return in_extents(slice(all_columns, -1, place * extent, (place + 1) * extent),
                      shape_of(node.result()));
  }

  const Scan& scan_;
  const AxisParts& parts_;
  Ints at_;  ///< by unpacked group
  std::vector<bool> live_;
  std::map<std::tuple<int, int, size_t>, Value> known_;  ///< by node, result and place
  std::map<int, Value> products_;                        ///< by node, with all of its columns
  std::unique_ptr<Graph> body_ = std::make_unique<Graph>(scan_.body().name());
};

}  // namespace

GraphPtr split_loop(const Scan& scan, const AxisParts& parts) {
  auto graph = std::make_unique<Graph>("split");
  Values operands;
  for (const Value operand : scan.node().operands)
    operands.push_back(graph->input(operand.type(), operand.name()));
  graph->set_results(SplitLoop(scan, parts).add(operands, *graph));
  return freeze(std::move(graph));
}

}  // namespace graphc::core
