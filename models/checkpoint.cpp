// SPDX-License-Identifier: Apache-2.0
#include "models/checkpoint.h"

#include <algorithm>

#include "ir/utf8.h"
#include "models/registry.h"
#include "runtime/files/safetensors.h"

namespace graphc::core {
namespace {

constexpr size_t kLongestReason = 1000;

/// The states that a step reads and writes, those of graph `train`, and the rest of the model:
/// parameters and buffers that only other graphs read.
std::vector<std::shared_ptr<StateCell>> states_of_training(Program& program) {
  Model& model = program.model();
  const TracedGraph traced = model.trace("train", program.extents("train"));
  std::vector<std::shared_ptr<StateCell>> cells;
  for (Value state : traced.graph->states()) cells.push_back(model.state_cell(state.name()));
  for (const auto& cell : model.states()) {
    if (!cell->transient && std::ranges::find(cells, cell) == cells.end()) cells.push_back(cell);
  }
  return cells;
}

/// The states to set from the checkpoint. Throws ErrorKind::input if one is missing there or has
/// another shape, and, unless model_only, if the checkpoint has others.
std::vector<std::shared_ptr<StateCell>> check_states(const Checkpoint& checkpoint, Program& program,
                                                     bool model_only) {
  const auto check_present = [&](const StateCell& cell) {
    if (checkpoint.states.contains(cell.name)) return;
    throw input_error({}, "the checkpoint of '{}' lacks the state '{}'",
                      printable(checkpoint.model), cell.name);
  };
  // Every checkpoint has these. A file that lacks one is rejected before a graph is built with a
  // size that only its metadata give.
  for (const auto& cell : program.model().states()) {
    if (!cell->transient) check_present(*cell);
  }
  std::vector<std::shared_ptr<StateCell>> wanted;
  for (const auto& cell : states_of_training(program)) {
    if (!cell->transient || !model_only) wanted.push_back(cell);
  }
  for (const auto& cell : wanted) {
    check_present(*cell);
    const auto found = checkpoint.states.find(cell->name);
    if (found->second.shape() != cell->type.shape)
      throw input_error({}, "the checkpoint's state '{}' is {}: wanted {}", cell->name,
                        to_string(found->second.type()), to_string(cell->type));
  }
  if (!model_only && checkpoint.states.size() != wanted.size())
    throw input_error({}, "the checkpoint has {} states: training '{}' has {}",
                      checkpoint.states.size(), printable(checkpoint.model), wanted.size());
  return wanted;
}

/// The words of a text, separated by spaces.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

}  // namespace

void write_checkpoint(const std::filesystem::path& path, Program& program, Session& session,
                      const std::string& model, const TrainPosition& position, const Notes& notes) {
  Checkpoint checkpoint{.file = path,
                        .model = model,
                        .seed = session.options().seed,
                        .position = position,
                        .notes = notes,
                        .states = {}};
  for (const auto& cell : states_of_training(program))
    checkpoint.states.emplace(cell->name, session.state(cell->name));
  write_safetensors(path, to_safetensors(std::move(checkpoint)));
}

std::unique_ptr<Program> program_of(const Checkpoint& checkpoint, bool model_only) {
  std::vector<std::string> words = words_of(checkpoint.model);
  const std::string file = checkpoint.file.string();
  if (words.empty()) throw input_error({}, "{}: it names no model", file);
  const std::string model = words.front();
  words.erase(words.begin());
  try {
    std::unique_ptr<Program> program = make_program(model, words);
    check_states(checkpoint, *program, model_only);
    return program;
  } catch (const Error& error) {
    // An error in the arguments is here an error in the file.
    if (error.kind() != ErrorKind::usage && error.kind() != ErrorKind::input) throw;
    throw input_error({}, "{}: {}", file, printable(error.message(), kLongestReason));
  }
}

void restore(const Checkpoint& checkpoint, Program& program, Session& session, bool model_only) {
  const auto wanted = check_states(checkpoint, program, model_only);
  for (const auto& cell : wanted) {
    const Type& found = checkpoint.states.at(cell->name).type();
    if (found != session.state(cell->name).type())
      throw input_error({}, "the checkpoint's state '{}' is {}: wanted {}", cell->name,
                        to_string(found), to_string(session.state(cell->name).type()));
  }
  for (const auto& cell : wanted) session.set_state(cell->name, checkpoint.states.at(cell->name));
}

}  // namespace graphc::core
