// SPDX-License-Identifier: Apache-2.0
// The reference of all ops, from their records.
#pragma once

#include <string>

namespace graphc::core::commands {

/// Markdown: of each op what it does, an application with shapes, the body of a composite, and the
/// derivative its record has.
std::string op_reference();

}  // namespace graphc::core::commands
