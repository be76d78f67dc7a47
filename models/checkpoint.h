// SPDX-License-Identifier: Apache-2.0
// Checkpoints: a safetensors file with everything needed to resume a training. Equal trainings
// write equal bytes: the file has no time stamp.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/program.h"
#include "runtime/files/safetensors.h"

namespace graphc::core {

/// A file that could not be read, and why.
struct PassedOver {
  std::filesystem::path file;
  std::string fault;  ///< names the file
};

struct Checkpoint {
  std::filesystem::path file;             ///< the file it was read from
  std::vector<PassedOver> passed_over{};  ///< newer files of the folder that could not be read
  std::string model;  ///< its name and all parameters, the words for make_program()
  uint64_t seed = 0;  ///< of the session
  TrainPosition position;
  Notes notes;
  /// Every state of graph `train`, and every parameter and buffer of the model.
  std::map<std::string, Literal> states;
};

/// Writes the file atomically; the program's session has just reached `position`. Throws
/// ErrorKind::resource if it cannot be written.
void write_checkpoint(const std::filesystem::path& path, Program& program, Session& session,
                      const std::string& model, const TrainPosition& position, const Notes& notes);

/// Reads the file or, in a folder, the newest undamaged file (models/checkpoint_folder.h). Throws
/// ErrorKind::input if there is none, or if it is damaged or not a checkpoint.
Checkpoint read_checkpoint(const std::filesystem::path& path);

/// Whether a file is intact, as far as its checksum tells.
enum class Integrity : uint8_t { whole, damaged, unknown };
/// `unknown` if the metadata has no checksum.
Integrity integrity_of(const Safetensors& content);
/// The ErrorKind::input error for a damaged file.
Error damaged_error(const std::string& file);

/// Conversions between a checkpoint and its file; `file` is for errors. Throw ErrorKind::input if
/// the content is damaged or not a checkpoint.
Safetensors to_safetensors(Checkpoint checkpoint);
Checkpoint from_safetensors(Safetensors content, const std::string& file);

/// The program of a checkpoint, checked to have the checkpoint's states: all of them, or only
/// parameters and buffers. Throws ErrorKind::input, naming the file, if it names no model,
/// parameters that no model has, or another model than its arrays belong to. Allocates nothing that
/// the checkpoint does not have.
std::unique_ptr<Program> program_of(const Checkpoint& checkpoint, bool model_only = false);

/// Sets every state to its value in the checkpoint, or only parameters and buffers. Throws
/// ErrorKind::input, before changing any, if one is missing or of another type, or if the
/// checkpoint has additional states, which belong to another model.
void restore(const Checkpoint& checkpoint, Program& program, Session& session,
             bool model_only = false);

}  // namespace graphc::core
