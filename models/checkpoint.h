// SPDX-License-Identifier: Apache-2.0
// Checkpoints: a safetensors file with everything training goes on from. Equal trainings write
// equal bytes: there is no clock in them.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "models/program.h"
#include "runtime/files/safetensors.h"

namespace graphc {

/// The name of the file in a folder that keeps a checkpoint.
inline constexpr const char* kCheckpointName = "checkpoint.safetensors";

/// The name of the file there by which one training at a time has the folder.
inline constexpr const char* kTrainingLock = "training.lock";

struct Checkpoint {
  std::filesystem::path file;  ///< where it was read
  std::string model;  ///< its name and every parameter: make_program() takes the words of it
  uint64_t seed = 0;  ///< of the session
  TrainPosition position;
  Notes notes;
  std::map<std::string, Literal> states;  ///< every state of graph `train`
};

/// Writes the file in one piece or not at all; the program's session has just reached `position`.
/// Throws ErrorKind::resource when it cannot be written.
void write_checkpoint(const std::filesystem::path& path, Program& program, Session& session,
                      const std::string& model, const TrainPosition& position, const Notes& notes);

/// Reads the file, or the file `checkpoint.safetensors` of a folder. Throws ErrorKind::input when
/// there is none, or what is found is no checkpoint.
Checkpoint read_checkpoint(const std::filesystem::path& path);
/// The file that stands for a folder of checkpoints, or the path itself.
std::filesystem::path checkpoint_file(const std::filesystem::path& path);

/// What the file has, and back: `file` is for errors. Throws ErrorKind::input when what is found is
/// no checkpoint.
Safetensors to_safetensors(Checkpoint checkpoint);
Checkpoint from_safetensors(Safetensors content, const std::string& file);

/// The program that a checkpoint is of, which has states like the checkpoint's: every one of graph
/// `train`, or only the parameters. Throws ErrorKind::input, naming the file, when the file names
/// no model, parameters that no model has, or another model than its arrays are of. Allocates
/// nothing that the checkpoint does not have.
std::unique_ptr<Program> program_of(const Checkpoint& checkpoint, bool parameters_only = false);

/// Gives every state of graph `train` its value, or only the parameters. Throws ErrorKind::input,
/// before any is changed, when one is missing or of another type; more states than these are of
/// another model and are an error too.
void restore(const Checkpoint& checkpoint, Program& program, Session& session,
             bool parameters_only = false);

}  // namespace graphc
