// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/contraction.h"

#include <algorithm>

namespace graphc::core {

void choose_contraction(Plan& plan) {
  const bool compares = std::ranges::any_of(plan.programs, &NestProgram::looks_for_maximum);
  for (NestProgram& program : plan.programs) program.contracts = program.few_terms && !compares;
}

}  // namespace graphc::core
