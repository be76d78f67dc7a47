// SPDX-License-Identifier: Apache-2.0
// What of each record is shared out to workers (step/share.h). Their number is the machine's.
#pragma once

#include "codegen/machine.h"
#include "codegen/step/plan.h"

namespace graphc::core {

/// Gives every record of the plan its share among the machine's workers.
void schedule(Plan& plan, const Machine& machine);

}  // namespace graphc::core
