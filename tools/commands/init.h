// SPDX-License-Identifier: Apache-2.0
// train --init: the parameters and buffers that a training begins with.
#pragma once

#include <string>

#include "models/program.h"

namespace graphc::core::commands {

/// Gives parameters and buffers of the program's session their values in a file: a checkpoint, the
/// best of a training, a folder with either, a model file (`graphc export`), or any safetensors
/// file of arrays by these names. What an optimizer counts and states between calls are not taken.
/// Returns the notes of the file, such as its vocabulary. Throws ErrorKind::input, before a value
/// is changed, where one is missing or of another type, and for an array that is none of the
/// model's.
Notes begin_with(Session& session, Program& program, const std::string& path);

}  // namespace graphc::core::commands
