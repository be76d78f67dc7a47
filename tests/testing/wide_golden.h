// SPDX-License-Identifier: Apache-2.0
// Recurrent layers at many extents, and reference results computed by PyTorch in f64
// (tests/golden/generate_wide.py, which documents how arguments are drawn and what is stored).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/literal.h"
#include "tests/testing/golden.h"

namespace graphc::core::testing {

/// A cell with its extents.
struct WideCase {
  std::string cell;
  int64_t steps = 0, batch = 0, hidden = 0;

  std::string name() const;  ///< "lstm T=7 B=3 H=5"
};

/// The cells, in the generator's order, and their cases.
std::vector<std::string> wide_cells();
std::vector<WideCase> wide_cases(const std::string& cell);

/// The layer as a graph of f32 values. Results: loss = sum(y * r), the outputs, and, if requested,
/// the gradient of the loss by each argument.
GraphPtr wide_layer(const WideCase& c, Derivatives derivatives);

/// Its inputs; all numbers are exact in f32.
std::vector<Literal> wide_inputs(const WideCase& c);

/// The comparison of one result.
struct WideDifference {
  std::string name;       ///< "y", "grad.w"
  double difference = 0;  ///< the largest, of an element or of a product with a direction
  double scale = 1;       ///< the largest element, at least 1; times sqrt(elements) for directions
};

/// Compares the results of the layer, with derivatives, with the stored ones: `arrays` is
/// golden_arrays("wide_" + cell).
std::vector<WideDifference> compare(const WideCase& c, const std::vector<Literal>& results,
                                    const std::map<std::string, Literal>& arrays);

}  // namespace graphc::core::testing
