// SPDX-License-Identifier: Apache-2.0
// A folder with the checkpoints of one training. The newest is `checkpoint.safetensors`; older ones
// are `checkpoint.<step>.safetensors`, as many as are kept. A training with patience also keeps
// that of its best validation, `best.safetensors`. At any moment, even if the process is killed,
// every file except the one being written is complete.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "models/checkpoint.h"

namespace graphc::core {

/// The name of the newest checkpoint.
inline constexpr const char* kCheckpointName = "checkpoint.safetensors";

/// The name of the checkpoint of the best validation, if a training keeps one.
inline constexpr const char* kBestName = "best.safetensors";

/// The name of the lock file that reserves the folder for one training at a time.
inline constexpr const char* kTrainingLock = "training.lock";

/// The suffix of damaged files that were set aside.
inline constexpr const char* kDamagedEnding = ".damaged";

/// The files of the folder with checkpoint names, newest first; empty if there are none.
std::vector<std::filesystem::path> checkpoint_files(const std::filesystem::path& folder);

/// The best checkpoint of a folder if it has one, else the result of read_checkpoint().
Checkpoint read_best_checkpoint(const std::filesystem::path& path);

/// Writes the checkpoints of a training to a folder.
class CheckpointFolder {
 public:
  /// Keeps the newest `keep` of them, at least 1.
  CheckpointFolder(std::filesystem::path folder, int64_t keep);

  /// The newest readable checkpoint, or nothing if no file has a checkpoint name. Newer, unreadable
  /// files are set aside under a name that ends in `.damaged` (Checkpoint::passed_over lists them).
  /// If none can be read, throws ErrorKind::input and sets nothing aside.
  std::optional<Checkpoint> resume();
  /// Writes the newest, and removes those no longer kept. Throws ErrorKind::resource if it cannot
  /// be written.
  void save(Program& program, Session& session, const std::string& model,
            const TrainPosition& position, const Notes& notes);
  /// Writes the best, replacing the previous one.
  void save_best(Program& program, Session& session, const std::string& model,
                 const TrainPosition& position, const Notes& notes) const;
  /// The best; nothing if there is none. Throws ErrorKind::input if it cannot be read.
  std::optional<Checkpoint> best() const;

 private:
  std::filesystem::path newest() const { return folder_ / kCheckpointName; }
  /// Also gives the newest file the name with its step, under which it is kept.
  void keep_newest() const;
  void remove_old() const;

  std::filesystem::path folder_;
  size_t keep_;
  std::optional<int64_t> step_;  ///< of the newest file, if it is intact
};

}  // namespace graphc::core
