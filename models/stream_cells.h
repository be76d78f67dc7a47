// SPDX-License-Identifier: Apache-2.0
// Recurrent cells on their own, as cell-layer runs them: a step from streams, which are inputs, to
// an output, without the projections around it. The steps are those of frontend/cell_steps.h.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/blocks.h"
#include "frontend/model.h"

namespace graphc::core {

/// The extents of a cell; each uses some of them.
struct CellExtents {
  int64_t batch = 1;   ///< sequences
  int64_t heads = 1;   ///< of a sequence; a row is one head of one sequence
  int64_t key = 0;     ///< K
  int64_t value = 0;   ///< V
  int64_t hidden = 0;  ///< units, or channels D
  int64_t state = 0;   ///< N, numbers of a channel
  int64_t memory = 0;  ///< rows that a decoder attends to
};

/// An input of a cell: its shape in one step, and where random ones are drawn from, uniformly.
struct CellInput {
  std::string name;
  Shape shape;
  double low = -1, high = 1;
};

/// A cell with its parameters declared.
struct StreamCell {
  std::vector<CellInput> streams;
  std::vector<CellInput> fixed;  ///< the same in all steps
  std::vector<BlockState> states;
  /// One step: from a step of each stream, the fixed inputs and the states to the output.
  std::function<Value(const Values& streams, const Values& fixed, std::vector<State>& states)> step;
  /// Nominal FLOP of one step: products, sums and updates of the states, without elementary
  /// functions.
  double flop = 0;
};

struct StreamCellRecord {
  std::string_view name;
  /// The extents that it uses in addition to the batch, by their names: "heads key value".
  std::string_view extents;
  StreamCell (*make)(Model& model, const CellExtents& extents);
};

/// gated-delta, selective-scan, mlstm, slstm, rwkv7, rg-lru, min-gru, attention-decoder.
std::span<const StreamCellRecord> all_stream_cells();

/// The states at their first values, as registers of the traced graph.
std::vector<State> first_states(const StreamCell& cell);

}  // namespace graphc::core
