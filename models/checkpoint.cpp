// SPDX-License-Identifier: Apache-2.0
#include "models/checkpoint.h"

#include "runtime/files/safetensors.h"

namespace graphc {
namespace {

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
  Checkpoint checkpoint{.model = model,
                        .seed = session.options().seed,
                        .position = position,
                        .notes = notes,
                        .states = {}};
  for (const auto& cell : states_of_training(program))
    checkpoint.states.emplace(cell->name, session.state(cell->name));
  write_safetensors(path, to_safetensors(std::move(checkpoint)));
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
