// SPDX-License-Identifier: Apache-2.0
// The bytes that a record reads and writes. This is the only description of a record's footprint:
// lifetimes, the replay, the order of launches, the barriers of loops, traffic and costs read it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "codegen/step/plan.h"

namespace graphc::core {

enum class AccessMode : uint8_t { read, write };

/// What an access moves along.
enum class AxisOf : uint8_t {
  outermost,  ///< the outermost axis around the rows (NestCall::outer)
  outer,      ///< another axis around the rows
  row,        ///< the rows of a nest
  part,       ///< the parts of its column space: an LSTM's four gates
  column,     ///< the columns of a part
  term,       ///< the terms of a product (k)
  step,       ///< the steps of a loop
};

/// `count` places, each `stride` bytes after the one before.
struct AccessAxis {
  AxisOf of = AxisOf::outer;
  int64_t stride = 0, count = 1;
};

/// A range of bytes: `begin` is the first, `end` is one past the last.
struct Extent {
  int64_t begin = 0, end = 0;

  bool operator==(const Extent&) const = default;
  Extent moved(int64_t by) const { return {begin + by, end + by}; }
  /// Adds `count` places, each `stride` bytes after the one before.
  void stretch(int64_t stride, int64_t count);
};
inline bool overlap(const Extent& a, const Extent& b) { return a.begin < b.end && b.begin < a.end; }

/// `bytes` contiguous bytes at every place that the axes lead to. The first place is `offset` bytes
/// after an address.
class Region {
 public:
  int64_t offset = 0, bytes = 0;

  Region() = default;
  explicit Region(int64_t size) : bytes(size) {}
  Region& along(AxisOf of, int64_t stride, int64_t count);

  std::span<const AccessAxis> axes() const { return {axes_.data(), size_}; }
  /// The axis of this kind, or null. Of outer axes and steps there may be several: the first.
  const AccessAxis* axis(AxisOf of) const;
  bool is_empty() const;
  /// From the lowest byte to one past the highest, as seen from the address.
  Extent extent() const;
  /// The bytes at distinct places, where no two places overlap.
  double size() const;

 private:
  std::array<AccessAxis, Shape::kMaxRank + 3> axes_{};
  size_t size_ = 0;
};

/// One operand of a record, and the bytes of it that the record reads or writes.
struct Access {
  /// Which operand of a nest it is. `other`: the record is no nest.
  enum class Operand : uint8_t { operand, left, right, other };

  const Address* address = nullptr;  ///< lies in the record, which outlives the access
  AccessMode mode = AccessMode::read;
  Region region;
  Operand operand = Operand::other;
  int index = -1;  ///< of the operand or of the product
  /// The first iteration of the loop around does not access it (CallProduct::zeros_at_first).
  bool not_at_first = false;
  /// Of the rows of a table that indices select: how many bytes of the region they are at most.
  /// -1: all bytes of the region are accessed.
  int64_t selected = -1;

  bool writes() const { return mode == AccessMode::write; }
  /// The bytes that are accessed, at most; without gaps between places.
  double size() const { return selected >= 0 ? double(selected) : region.size(); }
};

/// What a record accesses by itself, first what it reads and then what it writes. A loop reads the
/// initial values of its carries; what the records inside loops and blocks access is theirs. An
/// operand of which some parts are left out comes in several accesses, one for each run of parts.
/// What is changed in place comes twice. Empty accesses are left out.
std::vector<Access> accesses_of(const Plan& plan, const Record& record);
std::vector<Access> accesses_of(const NestProgram& program, const NestCall& call);
std::vector<Access> accesses_of(const TableCall& call);

/// Calls `visit` for the accesses of a record and of all records inside.
void visit_accesses(const Plan& plan, const Record& record,
                    const std::function<void(const Access&)>& visit);

}  // namespace graphc::core
