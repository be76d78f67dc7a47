// SPDX-License-Identifier: Apache-2.0
// train --init: initialises the parameters and buffers of a training from a file.
#pragma once

#include <string>

#include "models/program.h"

namespace graphc::core::commands {

/// Sets parameters and buffers of the program's session from a file: a checkpoint, the best
/// checkpoint of a training, a folder with either, a model file (`graphc export`), or any
/// safetensors file with arrays of these names. Optimizer states and states between calls are not
/// taken. Returns the notes of the file, such as its vocabulary. Throws ErrorKind::input, before
/// changing a value, if one is missing or of another type, and for an array that does not belong to
/// the model.
Notes begin_with(Session& session, Program& program, const std::string& path);

}  // namespace graphc::core::commands
