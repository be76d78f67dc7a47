// SPDX-License-Identifier: Apache-2.0
#include "models/checkpoint.h"

#include <charconv>
#include <cstdlib>

#include "runtime/files/safetensors.h"

namespace graphc {
namespace {

// The keys of the metadata; those of notes begin with kNote.
constexpr const char *kFormat = "format", *kModel = "model", *kEpoch = "epoch", *kWindow = "window",
                     *kStep = "step", *kTotal = "total", *kSeed = "seed";
constexpr std::string_view kThisFormat = "graphc checkpoint 1", kNote = "note.";

/// Metadata of a checkpoint, read strictly.
class Metadata {
 public:
  Metadata(const std::map<std::string, std::string>& entries, std::string file)
      : entries_(entries), file_(std::move(file)) {}

  const std::string& text(const char* key) const {
    const auto entry = entries_.find(key);
    if (entry == entries_.end())
      throw input_error({}, "{}: no checkpoint: its metadata lacks '{}'", file_, key);
    return entry->second;
  }

  template <typename Integer>
  Integer integer(const char* key) const {
    const std::string& found = text(key);
    Integer value = 0;
    const char* end = found.data() + found.size();
    const auto [rest, error] = std::from_chars(found.data(), end, value);
    if (error != std::errc() || rest != end || found[0] == '-')
      throw input_error({}, "{}: '{}' is a number from 0: found '{}'", file_, key, found);
    return value;
  }

  /// A number as "%a" writes it, exactly.
  double number(const char* key) const {
    const std::string& found = text(key);
    char* end = nullptr;
    const double value = std::strtod(found.c_str(), &end);
    if (found.empty() || *end != '\0')
      throw input_error({}, "{}: '{}' is a number: found '{}'", file_, key, found);
    return value;
  }

 private:
  const std::map<std::string, std::string>& entries_;
  std::string file_;
};

/// The states of graph `train`: what a step reads and writes.
std::vector<std::shared_ptr<StateCell>> states_of_training(Program& program) {
  Model& model = program.model();
  const TracedGraph traced = model.trace("train", program.extents("train"));
  std::vector<std::shared_ptr<StateCell>> cells;
  for (Value state : traced.graph->states()) cells.push_back(model.state_cell(state.name()));
  return cells;
}

}  // namespace

void write_checkpoint(const std::filesystem::path& path, Program& program, Session& session,
                      const std::string& model, const TrainPosition& position, const Notes& notes) {
  Safetensors content;
  for (const auto& cell : states_of_training(program))
    content.arrays.emplace(cell->name, session.state(cell->name));
  content.metadata = {{kFormat, std::string(kThisFormat)},
                      {kModel, model},
                      {kSeed, std::to_string(session.options().seed)},
                      {kEpoch, std::to_string(position.epoch)},
                      {kWindow, std::to_string(position.window)},
                      {kStep, std::to_string(position.step)},
                      {kTotal, fmt::format("{:a}", position.total)}};
  for (const auto& [name, note] : notes) content.metadata.emplace(std::string(kNote) + name, note);
  write_safetensors(path, content);
}

std::filesystem::path checkpoint_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored) ? path / "checkpoint.safetensors" : path;
}

Checkpoint read_checkpoint(const std::filesystem::path& path) {
  const std::filesystem::path file = checkpoint_file(path);
  Safetensors content = read_safetensors(file);
  const Metadata metadata(content.metadata, file.string());
  if (metadata.text(kFormat) != kThisFormat) {
    throw input_error({}, "{}: its format is '{}': wanted '{}'", file.string(),
                      metadata.text(kFormat), kThisFormat);
  }
  Checkpoint checkpoint{.model = metadata.text(kModel),
                        .seed = metadata.integer<uint64_t>(kSeed),
                        .position = {.epoch = metadata.integer<int64_t>(kEpoch),
                                     .window = metadata.integer<int64_t>(kWindow),
                                     .step = metadata.integer<int64_t>(kStep),
                                     .total = metadata.number(kTotal)},
                        .states = std::move(content.arrays)};
  for (const auto& [key, note] : content.metadata) {
    if (key.starts_with(kNote)) checkpoint.notes.emplace(key.substr(kNote.size()), note);
  }
  return checkpoint;
}

void restore(const Checkpoint& checkpoint, Program& program, Session& session,
             bool parameters_only) {
  std::vector<std::shared_ptr<StateCell>> wanted;
  for (const auto& cell : states_of_training(program)) {
    if (cell->parameter || !parameters_only) wanted.push_back(cell);
  }
  for (const auto& cell : wanted) {
    const auto found = checkpoint.states.find(cell->name);
    if (found == checkpoint.states.end())
      throw input_error({}, "the checkpoint of '{}' lacks the state '{}'", checkpoint.model,
                        cell->name);
    if (found->second.type() != session.state(cell->name).type())
      throw input_error({}, "the checkpoint's state '{}' is {}: wanted {}", cell->name,
                        to_string(found->second.type()), to_string(cell->type));
  }
  if (!parameters_only && checkpoint.states.size() != wanted.size())
    throw input_error({}, "the checkpoint has {} states: graph 'train' of '{}' has {}",
                      checkpoint.states.size(), checkpoint.model, wanted.size());
  for (const auto& cell : wanted) session.set_state(cell->name, checkpoint.states.at(cell->name));
}

}  // namespace graphc
