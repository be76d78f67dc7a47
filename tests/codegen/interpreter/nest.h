// SPDX-License-Identifier: Apache-2.0
// One call of a nest, interpreted: its body for one vector of columns after another, each scalar op
// by the evaluator's own function.
#pragma once

#include <vector>

#include "codegen/step/plan.h"
#include "tests/codegen/interpreter/elements.h"

namespace graphc::core::testing {

/// The addresses of a NestCall, resolved: of operands that are loaded or stored, and of products.
struct NestPlaces {
  std::vector<CheckedPlace> operands, left, right;
};

/// Does the part of the call, `lanes` columns at a time. Sums are formed in f64, in an
/// order that does not depend on how the call is shared out.
void interpret_nest(const NestProgram& program, const NestCall& call, const NestPlaces& places,
                    const NestPart& part, int lanes);

/// Where an element of a matrix [k, parts * unit] lies in panels, in bytes.
int64_t offset_in_panels(const PanelForm& form, int64_t k, int64_t part, int64_t column);

}  // namespace graphc::core::testing
