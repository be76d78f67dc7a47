// SPDX-License-Identifier: Apache-2.0
// Checkpoints: a safetensors file with everything training goes on from. Equal trainings write
// equal bytes: there is no clock in them.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/program.h"
#include "runtime/files/safetensors.h"

namespace graphc::core {

/// A file that would have been read, and why it cannot be.
struct PassedOver {
  std::filesystem::path file;
  std::string fault;  ///< names the file
};

struct Checkpoint {
  std::filesystem::path file;             ///< where it was read
  std::vector<PassedOver> passed_over{};  ///< newer files of the folder, which cannot be read
  std::string model;  ///< its name and every parameter: make_program() takes the words of it
  uint64_t seed = 0;  ///< of the session
  TrainPosition position;
  Notes notes;
  /// Every state of graph `train`, and every parameter and buffer of the model.
  std::map<std::string, Literal> states;
};

/// Writes the file in one piece or not at all; the program's session has just reached `position`.
/// Throws ErrorKind::resource when it cannot be written.
void write_checkpoint(const std::filesystem::path& path, Program& program, Session& session,
                      const std::string& model, const TrainPosition& position, const Notes& notes);

/// Reads the file, or of a folder the newest file that is whole (models/checkpoint_folder.h).
/// Throws ErrorKind::input when there is none, or what is found is damaged or no checkpoint.
Checkpoint read_checkpoint(const std::filesystem::path& path);

/// Whether a file holds what was written, as far as its checksum tells.
enum class Integrity : uint8_t { whole, damaged, unknown };
/// `unknown` where the metadata have no checksum.
Integrity integrity_of(const Safetensors& content);
/// The error of ErrorKind::input that says that a file is damaged.
Error damaged_error(const std::string& file);

/// What the file has, and back: `file` is for errors. Throws ErrorKind::input when what is found is
/// damaged or no checkpoint.
Safetensors to_safetensors(Checkpoint checkpoint);
Checkpoint from_safetensors(Safetensors content, const std::string& file);

/// The program that a checkpoint is of, which has states like the checkpoint's: all of them, or
/// only parameters and buffers. Throws ErrorKind::input, naming the file, when the file names
/// no model, parameters that no model has, or another model than its arrays are of. Allocates
/// nothing that the checkpoint does not have.
std::unique_ptr<Program> program_of(const Checkpoint& checkpoint, bool model_only = false);

/// Gives every state that a checkpoint has its value, or only the model's: parameters and buffers.
/// Throws ErrorKind::input, before any is changed, when one is missing or of another type; more
/// states than these are of another model and are an error too.
void restore(const Checkpoint& checkpoint, Program& program, Session& session,
             bool model_only = false);

}  // namespace graphc::core
