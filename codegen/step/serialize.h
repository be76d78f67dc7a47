// SPDX-License-Identifier: Apache-2.0
// Steps as text that is read back. It holds all of a step and needs no code generator: a step can
// be written by one process and walked by another.
#pragma once

#include <string>
#include <string_view>

#include "codegen/step/plan.h"

namespace graphc::core {

/// The step as JSON, one member a line: what `graphc dump --stage=step` prints. A field that has
/// its default value is left out. print() has the same for people.
std::string step_text(const Plan& plan);
/// Reads what step_text() wrote, or a person changed. Throws ErrorKind::input, with the path of the
/// field and what was found there, for text that is no JSON, unknown fields, values of a wrong
/// kind, and for a step that check_step() refuses.
Plan parse_step(std::string_view text);

/// Throws ErrorKind::input for a step that cannot be walked: an index of a buffer, a program, an
/// operand or a loop that is not there; a negative extent; an access outside of its buffer, or a
/// buffer outside of the arena. It does not check what the step computes.
void check_step(const Plan& plan);

}  // namespace graphc::core
