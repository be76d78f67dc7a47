// SPDX-License-Identifier: Apache-2.0
// What a compilation has to say to the user, as lines.
#pragma once

#include <string>
#include <vector>

#include "codegen/compile.h"

namespace graphc::core {

/// "cell.cpp:12: remark: fuse: %y: a loop, not one recurrent kernel: ...".
std::string to_string(const Remark& remark);

/// Of what a compilation remarked: the loops that carry something from step to step and are not one
/// recurrent kernel, and why.
std::vector<Remark> loops_in_pieces(const CompileReport& report);

}  // namespace graphc::core
