// SPDX-License-Identifier: Apache-2.0
#include "models/checkpoint_folder.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "runtime/files/files.h"

namespace graphc::core {
namespace {

namespace filesystem = std::filesystem;

constexpr std::string_view kBegin = "checkpoint.", kEnd = ".safetensors";

std::string name_of_step(int64_t step) { return fmt::format("{}{}{}", kBegin, step, kEnd); }

/// The step in the name of an older checkpoint; empty for any other name.
std::optional<int64_t> step_in(const std::string& name) {
  if (name.size() <= kBegin.size() + kEnd.size()) return std::nullopt;
  int64_t step = 0;
  std::from_chars(name.data() + kBegin.size(), name.data() + name.size() - kEnd.size(), step);
  return step >= 0 && name == name_of_step(step) ? std::optional(step) : std::nullopt;
}

/// The older checkpoints of a folder, newest first.
std::vector<filesystem::path> older_files(const filesystem::path& folder) {
  std::vector<std::pair<int64_t, filesystem::path>> found;
  std::error_code unreadable;
  for (const auto& entry : filesystem::directory_iterator(folder, unreadable)) {
    if (const auto step = step_in(entry.path().filename().string()))
      found.emplace_back(*step, entry.path());
  }
  std::ranges::sort(found, std::greater());
  std::vector<filesystem::path> files;
  for (auto& [step, path] : found) files.push_back(std::move(path));
  return files;
}

Checkpoint read_one(const filesystem::path& file) {
  return from_safetensors(read_safetensors(file), file.string());
}

/// The first of the files that can be read.
Checkpoint read_newest(const std::vector<filesystem::path>& files) {
  std::vector<PassedOver> passed_over;
  for (const filesystem::path& file : files) {
    try {
      Checkpoint checkpoint = read_one(file);
      checkpoint.passed_over = std::move(passed_over);
      return checkpoint;
    } catch (const Error& error) {
      // An older file does not help if the machine is at fault.
      if (error.kind() != ErrorKind::input) throw;
      passed_over.push_back({file, error.message()});
    }
  }
  const std::string others =
      files.size() == 1 ? "" : fmt::format("; nor can the {} before it be read", files.size() - 1);
  throw input_error({}, "{}{}", passed_over.front().fault, others);
}

}  // namespace

std::vector<filesystem::path> checkpoint_files(const filesystem::path& folder) {
  std::vector<filesystem::path> files = older_files(folder);
  std::error_code ignored;
  if (filesystem::exists(folder / kCheckpointName, ignored))
    files.insert(files.begin(), folder / kCheckpointName);
  return files;
}

Checkpoint read_checkpoint(const filesystem::path& path) {
  std::error_code ignored;
  if (!filesystem::is_directory(path, ignored)) return read_one(path);
  const std::vector<filesystem::path> files = checkpoint_files(path);
  // If there is none, the error refers to the newest.
  return files.empty() ? read_one(path / kCheckpointName) : read_newest(files);
}

Checkpoint read_best_checkpoint(const filesystem::path& path) {
  std::error_code ignored;
  const filesystem::path best = path / kBestName;
  return filesystem::exists(best, ignored) ? read_one(best) : read_checkpoint(path);
}

CheckpointFolder::CheckpointFolder(filesystem::path folder, int64_t keep)
    : folder_(std::move(folder)), keep_(size_t(std::max<int64_t>(keep, 1))) {}

std::optional<Checkpoint> CheckpointFolder::resume() {
  const std::vector<filesystem::path> files = checkpoint_files(folder_);
  if (files.empty()) return std::nullopt;
  Checkpoint checkpoint = read_newest(files);
  for (PassedOver& damaged : checkpoint.passed_over) {
    filesystem::path aside = damaged.file;
    aside += kDamagedEnding;
    std::error_code error;
    filesystem::rename(damaged.file, aside, error);
    if (error)
      throw resource_error("cannot rename '{}': {}", damaged.file.string(), error.message());
    damaged.file = aside;
  }
  if (checkpoint.file == newest()) step_ = checkpoint.position.step;
  return checkpoint;
}

void CheckpointFolder::save(Program& program, Session& session, const std::string& model,
                            const TrainPosition& position, const Notes& notes) {
  // If training ends with an epoch, the same step is written twice.
  if (step_ != position.step) keep_newest();
  write_checkpoint(newest(), program, session, model, position, notes);
  step_ = position.step;
  remove_old();
}

void CheckpointFolder::save_best(Program& program, Session& session, const std::string& model,
                                 const TrainPosition& position, const Notes& notes) const {
  write_checkpoint(folder_ / kBestName, program, session, model, position, notes);
}

std::optional<Checkpoint> CheckpointFolder::best() const {
  std::error_code ignored;
  if (!filesystem::exists(folder_ / kBestName, ignored)) return std::nullopt;
  return read_one(folder_ / kBestName);
}

void CheckpointFolder::keep_newest() const {
  if (!step_ || keep_ == 1) return;
  const filesystem::path kept = folder_ / name_of_step(*step_);
  // A hard link, so that the newest file exists at every moment. It may be left from a killed
  // process.
  if (link(newest().c_str(), kept.c_str()) == 0 || errno == EEXIST) return;
  // Some file systems have no hard links.
  write_file_atomically(kept, read_file(newest()));
}

void CheckpointFolder::remove_old() const {
  const std::vector<filesystem::path> older = older_files(folder_);
  for (size_t i = keep_ - 1; i < older.size(); ++i) {
    if (unlink(older[i].c_str()) != 0 && errno != ENOENT)
      throw resource_error("cannot remove '{}': {}", older[i].string(), std::strerror(errno));
  }
}

}  // namespace graphc::core
