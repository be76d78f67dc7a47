// SPDX-License-Identifier: Apache-2.0
// Graphs in which the order of passes shows (order_test.cpp).
#pragma once

#include "ir/graph.h"

namespace graphc::core::testing::ordered {

/// A loop that somebody wrote out, from a state of zeros.
GraphPtr written_out();
GraphPtr lstm();
GraphPtr lstm_training();
GraphPtr last_output();
GraphPtr lstm_gates_training();
/// Two equal products in a loop: before autodiff one is left.
GraphPtr equal_products();
/// A loop that saves the state of every fourth step.
GraphPtr every_fourth_state();
/// A loop with a matrix for each of two heads.
GraphPtr heads();
/// The same with the heads of a row in one vector.
GraphPtr heads_side_by_side();
/// A loop that feeds the index of its largest output back.
GraphPtr indices();
/// A loop over a matrix in every row.
GraphPtr linear_attention();
/// A loop over a matrix in every row that reads a vector of each head.
GraphPtr parameters_of_heads();
GraphPtr matrix_read_by_product();
GraphPtr softmax();
GraphPtr loss();
GraphPtr embedding();
/// The same on two ranks.
GraphPtr embedding_on_ranks();
/// A vocabulary projection, its loss and gradients: 15 rows of 33 columns.
GraphPtr projection();
GraphPtr sum_changed_back();
GraphPtr sums_of_several_axes();

}  // namespace graphc::core::testing::ordered
