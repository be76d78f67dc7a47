// SPDX-License-Identifier: Apache-2.0
// Recurrent cells as equations. cells.cpp is their whole definition: nothing else in graphc knows
// their names.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "frontend/model.h"

namespace graphc::core {

/// A cell with its parameters declared.
struct Cell {
  /// The widths of its states [batch, width]; the first is its output h.
  std::vector<int64_t> widths;
  /// One step: from x [batch, inputs] and the previous states to the next states.
  std::function<void(Value x, std::vector<State>& states)> step;
};

struct CellRecord {
  std::string_view name;
  Cell (*make)(Model& model, int64_t inputs, int64_t hidden);
  /// Nominal FLOP of one step of one example: the products with x, and those with carried values.
  double (*input_flop)(double inputs, double hidden);
  double (*recurrent_flop)(double hidden);
};

/// lstm, layer-norm-lstm, peephole-lstm, projected-lstm, gru, gru-reset-before, rnn.
std::span<const CellRecord> all_cells();

/// Registers for the states of a cell, starting at zero.
std::vector<State> zero_states(const Cell& cell, int64_t batch);

}  // namespace graphc::core
