// SPDX-License-Identifier: Apache-2.0
// Division of each record among workers (step/share.h). The machine gives their number.
#pragma once

#include "codegen/machine.h"
#include "codegen/step/plan.h"

namespace graphc::core {

/// Sets the share of every record of the plan for the machine's workers.
void schedule(Plan& plan, const Machine& machine);

}  // namespace graphc::core
