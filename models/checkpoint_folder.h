// SPDX-License-Identifier: Apache-2.0
// A folder with the checkpoints of one training. The newest is `checkpoint.safetensors`; those
// before it are `checkpoint.<step>.safetensors`, so many as are kept. A training with patience has
// that of its best validation too, `best.safetensors`. At every moment, that of a
// kill included, all but what is being written are whole.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "models/checkpoint.h"

namespace graphc::core {

/// The name of the newest checkpoint.
inline constexpr const char* kCheckpointName = "checkpoint.safetensors";

/// The name of the checkpoint of the best validation, where a training keeps one.
inline constexpr const char* kBestName = "best.safetensors";

/// The name of the file there by which one training at a time has the folder.
inline constexpr const char* kTrainingLock = "training.lock";

/// What the name of a file that was set aside ends with.
inline constexpr const char* kDamagedEnding = ".damaged";

/// The files of the folder that are named as checkpoints, newest first; empty where there is none.
std::vector<std::filesystem::path> checkpoint_files(const std::filesystem::path& folder);

/// The best of a folder, where it has one; else what read_checkpoint() reads.
Checkpoint read_best_checkpoint(const std::filesystem::path& path);

/// Writes the checkpoints of a training to a folder.
class CheckpointFolder {
 public:
  /// Keeps the newest `keep` of them, at least 1.
  CheckpointFolder(std::filesystem::path folder, int64_t keep);

  /// The newest that is whole, nothing where no file is named as one; those that are newer and
  /// cannot be read are set aside, under a name that ends in `.damaged` (Checkpoint::passed_over
  /// says which). Throws ErrorKind::input, and sets nothing aside, when none can be read.
  std::optional<Checkpoint> resume();
  /// Writes the newest, and removes what is no longer kept. Throws ErrorKind::resource when it
  /// cannot be written.
  void save(Program& program, Session& session, const std::string& model,
            const TrainPosition& position, const Notes& notes);
  /// Writes the best, in the place of the one before.
  void save_best(Program& program, Session& session, const std::string& model,
                 const TrainPosition& position, const Notes& notes) const;
  /// The best; nothing where there is none. Throws ErrorKind::input when it cannot be read.
  std::optional<Checkpoint> best() const;

 private:
  std::filesystem::path newest() const { return folder_ / kCheckpointName; }
  /// Gives the newest file the name of its step too, under which it is kept.
  void keep_newest() const;
  void remove_old() const;

  std::filesystem::path folder_;
  size_t keep_;
  std::optional<int64_t> step_;  ///< of the newest file, where it is whole
};

}  // namespace graphc::core
