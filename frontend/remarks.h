// SPDX-License-Identifier: Apache-2.0
// Remarks of a compilation as lines of text.
#pragma once

#include <string>
#include <vector>

#include "codegen/compile.h"

namespace graphc::core {

/// "cell.cpp:12: remark: fuse: %y: a loop, not one recurrent kernel: ...".
std::string to_string(const Remark& remark);

/// The remarks on loops with carries that were not compiled to one recurrent kernel, with the
/// reasons.
std::vector<Remark> loops_in_pieces(const CompileReport& report);

/// What a user is told unasked: loops_in_pieces(), and all with Remark::is_notice.
std::vector<Remark> notices(const CompileReport& report);

}  // namespace graphc::core
