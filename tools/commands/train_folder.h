// SPDX-License-Identifier: Apache-2.0
// The checkpoint folder of `graphc train`. With several ranks it is that of rank 0, which alone
// reads and writes it; every function below is collective.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "models/checkpoint_folder.h"
#include "runtime/files/file_lock.h"
#include "tools/commands/train_command.h"
#include "tools/commands/train_plot.h"

namespace graphc::core::commands {

/// Creates the folder and locks it against other trainings, which would overwrite its checkpoints.
/// Throws ErrorKind::usage if a new training would overwrite what is there.
std::unique_ptr<FileLock> take_folder(const TrainCommand& options);

/// Resumes from the checkpoint in the folder, if there is one: sets the session's seed and the
/// start position. The states are loaded later.
std::optional<Checkpoint> checkpoint_to_resume(TrainCommand& options, CheckpointFolder& folder,
                                               const std::string& model);

/// Makes training save its checkpoints to the folder, with the curve of the epochs so far.
void save_to_folder(TrainCommand& options, CheckpointFolder& folder, Program& program,
                    Session& session, const std::string& model, const TrainPlot& picture);

/// Makes training keep the model of its best validation, in the folder or otherwise in memory, and
/// test that model at the end. A folder that has a best model keeps it.
void keep_best(TrainCommand& options, CheckpointFolder& folder, Program& program, Session& session,
               const std::string& model);

}  // namespace graphc::core::commands
