// SPDX-License-Identifier: Apache-2.0
// How ranks hold a value of the whole batch, and the nodes that take it from one form to another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace graphc::core {

/// The batch is cut into `count` shards of equal size, and the ranks share them out: each has as
/// many, in order. Without more shards than ranks a rank has one.
struct Shards {
  int64_t ranks = 1, rank = 0;
  int64_t count = 1;             ///< over all ranks
  std::vector<int64_t> own;      ///< those that are computed here, ascending
  DType gradients = DType::f32;  ///< the type in which gradients are sent

  /// The same for one of the own shards.
  Shards only(int64_t shard) const { return {ranks, rank, count, {shard}, gradients}; }
};

enum class Held : uint8_t {
  whole,  ///< every rank has the value
  parts,  ///< a shard has the indices of its own along an axis
  terms,  ///< the value is the sum of what the shards have
};

/// How a value is held. An axis of parts is `outer` blocks, one after another; of each of these a
/// shard has its part. (Merging the axes [T, B] of which B is shared out gives outer = T.)
struct Holding {
  Held held = Held::whole;
  int axis = 0;
  int64_t outer = 1;

  bool operator==(const Holding&) const = default;
  bool whole() const { return held == Held::whole; }
  bool parts() const { return held == Held::parts; }
  bool terms() const { return held == Held::terms; }
};

inline constexpr Holding kWhole{}, kTerms{Held::terms};
inline Holding parts_along(int axis, int64_t outer = 1) { return {Held::parts, axis, outer}; }

/// Whether a value of this shape can be cut so.
bool divides(const Shape& shape, const Holding& holding, int64_t shards);
/// The shape of what one shard has.
Shape own_shape(const Shape& shape, const Holding& holding, int64_t shards);
/// The holding of the same elements in another shape, if an axis has them so.
std::optional<Holding> reshaped(const Shape& from, const Holding& holding, const Shape& to,
                                int64_t shards);

/// The part of a whole value that one shard has.
Value part_of(Value whole, const Holding& holding, int64_t shard, int64_t shards);
/// The whole, called `name`, from the parts of the own shards.
Value gathered(const Values& parts, const Holding& holding, const Shape& whole,
               const Shards& shards, const std::string& name);
/// The whole, from the terms of the own shards: these are summed in pairs, then the ranks' sums.
/// What ranks send of f32 is rounded to `sent`.
Value reduced(const Values& terms, const Shards& shards, const std::string& name,
              DType sent = DType::f32);
/// What one shard has of a whole value that is to be a sum of terms.
Value term_of(Value whole, int64_t shard, int64_t shards);
/// The part of one shard of an iota, computed from the shard's place; absent where that would
/// round otherwise or take more than additions.
Value own_iota(Graph& graph, const Node& iota, const Holding& holding, int64_t shard,
               int64_t shards);

}  // namespace graphc::core
