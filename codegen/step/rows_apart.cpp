// SPDX-License-Identifier: Apache-2.0
#include "codegen/step/rows_apart.h"

#include <algorithm>
#include <optional>

#include "codegen/step/barriers.h"
#include "codegen/step/footprint.h"
#include "codegen/step/visit.h"

namespace graphc::core {
namespace {

struct SharedRows {
  int64_t rows = 0;
  bool matrices = false;
};

/// The rows of a nest; none if it does not share out single rows.
std::optional<SharedRows> rows_of(const Record& record) {
  const auto* call = std::get_if<NestCall>(&record.call);
  const Share& share = record.share;
  if (call == nullptr || share.grain != 1) return std::nullopt;
  // A product of one row at a time would read its matrix for each of them, unless each has its own.
  const auto has_own = [&](const CallProduct& product) {
    return share.along == Along::outer && product.right_outer[0] != 0;
  };
  if (!std::ranges::all_of(call->products, has_own)) return std::nullopt;
  if (share.along == Along::rows && call->outer.empty() && call->rows == share.extent)
    return SharedRows{share.extent, false};
  if (share.along == Along::outer && !call->outer.empty() && call->outer[0] == share.extent)
    return SharedRows{share.extent, true};
  return std::nullopt;
}

/// Adds the rows of what the loop does; false if there are others than before, or none.
bool add_rows(const LoopCall& loop, SharedRows& all) {
  for (const Record& record : loop.body) {
    if (record.barrier) return false;
    if (const LoopCall* inner = loop_of_phases(record)) {
      if (!add_rows(*inner, all)) return false;
      continue;
    }
    const std::optional<SharedRows> own = rows_of(record);
    if (!own || (all.rows != 0 && all.rows != own->rows)) return false;
    all.rows = own->rows;
    all.matrices |= own->matrices;
  }
  return true;
}

void keep_rows_apart(const Plan& plan, std::vector<Record>& records, Position& position,
                     int depth) {
  for (Record& record : records) {
    if (loop_of_phases(record) == nullptr) continue;
    auto& loop = std::get<LoopCall>(record.call);
    if (loop.steps == 0) continue;
    const int64_t rows = shared_rows(loop);
    // Each row might be a worker's of its own.
    if (rows > 0 &&
        !has_barriers({.plan = plan,
                       .loop = loop,
                       .position = position,
                       .depth = depth,
                       .workers = 2,
                       .ownership = Ownership::indices,
                       .footprint = [&plan](const Record& inner, const Position& at, int around) {
                         return footprint_of(plan, inner, at, around);
                       }})) {
      loop.rows_apart = rows;
      continue;
    }
    position[size_t(depth)] = position_in(loop, 0);
    keep_rows_apart(plan, loop.body, position, depth + 1);
  }
}

}  // namespace

int64_t shared_rows(const LoopCall& loop) {
  SharedRows all;
  return add_rows(loop, all) && all.matrices && all.rows > 1 ? all.rows : 0;
}

void keep_rows_apart(Plan& plan) {
  Position position(size_t(plan.loop_depth));
  keep_rows_apart(plan, plan.records, position, 0);
}

}  // namespace graphc::core
