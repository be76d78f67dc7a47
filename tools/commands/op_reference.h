// SPDX-License-Identifier: Apache-2.0
// The reference of all ops, generated from their records.
#pragma once

#include <string>

namespace graphc::core::commands {

/// Markdown: for each op its description, an application with shapes, the body of a composite, and
/// the derivative in its record.
std::string op_reference();

}  // namespace graphc::core::commands
