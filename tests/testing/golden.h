// SPDX-License-Identifier: Apache-2.0
// Recurrent layers in our text, and reference outputs and derivatives computed by PyTorch in f64
// for random arguments (tests/golden/generate.py).
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/literal.h"

namespace graphc::core::testing {

struct GoldenCell {
  const char* file;      ///< in tests/golden, without its suffix
  const char* carries;   ///< of the scan over %x
  const char* captures;  ///< everything else the step uses
  const char* step;      ///< from %x.t and the carries to %h.1 and, in an LSTM, %c.1
};

std::span<const GoldenCell> golden_cells();

/// The arrays of a file in tests/golden. Throws if it cannot be read.
std::map<std::string, Literal> golden_arrays(const std::string& name);
/// The losses in a file in tests/golden, written by a reference with --losses
/// (tools/references/ptb_lm.py, wikitext2_lm.py).
std::vector<double> golden_losses(const std::string& name);
/// The arguments of the layer: the names of the arrays that have a derivative.
std::vector<std::string> golden_arguments(const std::map<std::string, Literal>& arrays);

enum class Derivatives { without, with };

/// The layer as a graph of f32 values. Inputs: the arguments, then r. Results: y, loss = sum(y *
/// r), h_end and, for an LSTM, c_end; then, if requested, `grad` of the loss by each argument.
GraphPtr golden_layer(const GoldenCell& cell, Derivatives derivatives);
/// The inputs of golden_layer as `dtype`, and the names of the arrays with its results.
std::vector<Literal> golden_inputs(const GoldenCell& cell, DType dtype);
std::vector<std::string> golden_results(const GoldenCell& cell, Derivatives derivatives);

}  // namespace graphc::core::testing
