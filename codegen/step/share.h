// SPDX-License-Identifier: Apache-2.0
// Who does what: the share of each worker in each record, decided once (plan/schedule.h).
//
// A target that walks plans, the replay that checks them and the text that people read all ask
// share_of(); nobody decides while running.
#pragma once

#include <algorithm>
#include <cstdint>

namespace graphc::core {

/// Indices begin .. end-1.
struct Range {
  int64_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
  bool contains(int64_t i) const { return begin <= i && i < end; }
  int64_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

/// What of a record is shared out.
enum class Along : uint8_t {
  inside,   ///< nothing here: the records of the body have shares of their own
  around,   ///< the rows that the loop or block around it gives the worker
  rows,     ///< rows of a nest, or of a loop or block with all that is in it
  columns,  ///< columns of a nest, in whole blocks
  outer,    ///< the outermost axis around the rows of a nest (NestCall::outer)
  panels,   ///< blocks of a matrix that is put into panels
  indices,  ///< indices of a gather or a merge
  table,    ///< rows of the table that is written
};

/// `extent` things, in whole grains, shared out in the order of the workers.
struct Share {
  Along along = Along::inside;
  int64_t extent = 0;
  int64_t grain = 1;
  bool operator==(const Share&) const = default;
};

/// What `worker` of `workers` does of a share: their ranges follow each other and make the whole.
inline Range share_of(const Share& share, int worker, int workers) {
  const int64_t grains = (share.extent + share.grain - 1) / share.grain;
  return {std::min(grains * worker / workers * share.grain, share.extent),
          std::min(grains * (worker + 1) / workers * share.grain, share.extent)};
}

}  // namespace graphc::core
