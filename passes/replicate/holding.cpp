// SPDX-License-Identifier: Apache-2.0
#include "passes/replicate/holding.h"

#include "ir/build.h"
#include "ir/mutant.h"
#include "ir/op.h"

namespace graphc::core {
namespace {

/// The axis of parts as two: the blocks, and what is shared out.
Shape split_shape(const Shape& shape, const Holding& holding) {
  return shape.with(holding.axis, holding.outer)
      .insert(holding.axis + 1, shape[holding.axis] / holding.outer);
}

/// The product of the extents before an axis.
int64_t elements_before(const Shape& shape, int axis) {
  int64_t before = 1;
  for (int i = 0; i < axis; ++i) before *= shape[i];
  return before;
}

}  // namespace

bool divides(const Shape& shape, const Holding& holding, int64_t shards) {
  if (!holding.parts()) return true;
  const int64_t extent = shape[holding.axis];
  if (extent == 0 || extent % holding.outer != 0) return false;
  if (holding.outer > 1 && shape.rank() == Shape::kMaxRank) return false;
  return extent / holding.outer % shards == 0;
}

Shape own_shape(const Shape& shape, const Holding& holding, int64_t shards) {
  if (!holding.parts()) return shape;
  return shape.with(holding.axis, shape[holding.axis] / shards);
}

std::optional<Holding> reshaped(const Shape& from, const Holding& holding, const Shape& to,
                                int64_t shards) {
  if (!holding.parts()) return holding;
  if (from.elements() == 0) return std::nullopt;
  // What is shared out is `before` runs of equal length, whatever axes they are written in.
  const int64_t before = elements_before(from, holding.axis) * holding.outer;
  for (int axis = 0; axis < to.rank(); ++axis) {
    const int64_t outside = elements_before(to, axis);
    if (outside > before) break;
    if (before % outside != 0) continue;
    const Holding candidate = parts_along(axis, before / outside);
    if (to[axis] > 1 && divides(to, candidate, shards)) return candidate;
  }
  return std::nullopt;
}

Value part_of(Value whole, const Holding& holding, int64_t shard, int64_t shards) {
  const Shape& shape = whole.shape();
  const int64_t own = shape[holding.axis] / holding.outer / shards;
  const int64_t first = (mutated(Mutant::shards_take_the_first_part) ? 0 : shard) * own;
  if (holding.outer == 1) return slice(whole, holding.axis, first, first + own);
  const Value split = reshape(whole, split_shape(shape, holding));
  return reshape(slice(split, holding.axis + 1, first, first + own),
                 own_shape(shape, holding, shards));
}

Value gathered(const Values& parts, const Holding& holding, const Shape& whole,
               const Shards& shards, const std::string& name) {
  const bool split = holding.outer > 1;
  const int axis = holding.axis + (split ? 1 : 0);
  Values own;
  for (const Value part : parts)
    own.push_back(split ? reshape(part, split_shape(part.shape(), holding)) : part);
  const Value mine = own.size() == 1 ? own[0] : concat(own, axis);
  const Value all =
      mine.node->graph
          ->add(ops::all_gather, {mine},
                {{"axis", int64_t(axis)}, {"rank", shards.rank}, {"ranks", shards.ranks}}, {},
                mine.node->where, {name})
          .result();
  return split ? reshape(all, whole) : all;
}

Value reduced(const Values& terms, const Shards& shards, const std::string& name, DType sent) {
  // The sum of bf16 would be rounded at every step.
  const bool narrow = terms[0].dtype() == DType::bf16;
  Values operands;
  for (const Value term : terms) operands.push_back(narrow ? cast(term, DType::f32) : term);
  Attributes attributes{{"ranks", shards.ranks}};
  if (terms.size() > 1) attributes.set("terms", int64_t(terms.size()));
  if (sent == DType::bf16 && shards.ranks > 1 && operands[0].dtype() == DType::f32)
    attributes.set("sent", sent);
  const Value sum = terms[0]
                        .node->graph
                        ->add(ops::all_reduce, std::move(operands), std::move(attributes), {},
                              terms[0].node->where, {name})
                        .result();
  return narrow ? cast(sum, DType::bf16) : sum;
}

Value term_of(Value whole, int64_t shard, int64_t shards) {
  // Equal terms for numbers that can be divided: the graphs of all ranks are alike.
  if (is_floating(whole.dtype())) return whole * (1 / double(shards));
  return whole * int64_t(shard == 0 ? 1 : 0);
}

Value own_iota(Graph& graph, const Node& node, const Holding& holding, int64_t shard,
               int64_t shards) {
  const Type& type = node.types[0];
  if (!is_integer(type.dtype)) return {};  // rounded elsewhere than in the whole
  if (holding.outer > 1) {
    // As two axes, of which the second is shared out.
    const Shape split = split_shape(type.shape, holding);
    Attributes attributes = node.attributes;
    attributes.set("shape", std::vector<int64_t>(split.begin(), split.end()));
    Graph whole;
    const bool flat = node.attributes.find("axis") == nullptr;
    const int64_t axis = node.attributes.get_int("axis", 0);
    if (!flat && axis == holding.axis) return {};
    if (!flat && axis > holding.axis) attributes.set("axis", axis + 1);
    const Node& other = whole.add(ops::iota, {}, attributes, {}, node.where);
    const Value own = own_iota(graph, other, parts_along(holding.axis + 1), shard, shards);
    return reshape(own, own_shape(type.shape, holding, shards));
  }
  const Shape own = own_shape(type.shape, holding, shards);
  const int64_t first = shard * own[holding.axis];
  const auto along = [&](int axis) {
    const Value index = iota(graph, own, axis, type.dtype);
    return axis == holding.axis ? index + first : index;
  };
  if (node.attributes.find("axis") != nullptr)
    return along(int(node.attributes.get_int("axis", 0)));
  Value index;
  const auto strides = type.shape.strides();
  for (int axis = 0; axis < own.rank(); ++axis) {
    const Value term = along(axis) * strides[size_t(axis)];
    index = index ? index + term : term;
  }
  return index;
}

}  // namespace graphc::core
