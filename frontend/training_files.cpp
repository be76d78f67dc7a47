// SPDX-License-Identifier: Apache-2.0
// Compares a checkpoint with every state and the training that resumes from it: optimizer slots and
// counters, carried activations.
#include <algorithm>

#include "frontend/session.h"
#include "frontend/trace.h"

namespace graphc::core {
namespace {

/// A graph may begin or cease to draw random numbers in the middle of a training.
bool is_random(const StateCell& cell) {
  return cell.name == random_seed_cell()->name || cell.name == random_step_cell()->name;
}

std::string few_of(const std::vector<std::string>& names) {
  constexpr size_t kShown = 8;
  const auto shown = std::span(names).first(std::min(names.size(), kShown));
  return fmt::format("{}{}", fmt::join(shown, ", "), names.size() > kShown ? ", ..." : "");
}

}  // namespace

std::string_view optimizer_of(std::string_view owner) {
  return owner.substr(0, std::min(owner.find(" of "), owner.size()));
}

bool AwaitedState::is_of_same_optimizer(const StateCell& cell) const {
  return cell.owner.empty() || kept_by.owner.empty() ||
         optimizer_of(cell.owner) == optimizer_of(kept_by.owner);
}

std::string TrainingDifferences::line() const {
  std::vector<std::string> parts;
  if (!missing.empty()) parts.push_back(fmt::format("the file lacks {}", few_of(missing)));
  if (!unused.empty()) parts.push_back(fmt::format("no graph keeps its {}", few_of(unused)));
  if (!others.empty()) parts.push_back(few_of(others));
  return fmt::format("{}", fmt::join(parts, "; "));
}

TrainingDifferences differences(const TrainingFile& file, const std::string& graph,
                                const std::vector<std::string>& used,
                                const std::vector<std::shared_ptr<StateCell>>& cells) {
  TrainingDifferences found;
  // The writer of the file had not traced this graph, if it had it.
  if (!file.says.traced.contains(graph)) return found;
  std::map<std::string_view, const StateCell*> known;
  for (const std::shared_ptr<StateCell>& cell : cells) known.emplace(cell->name, cell.get());
  for (const std::string& name : used) {
    const auto cell = known.find(name);
    if (cell == known.end() || !cell->second->transient || is_random(*cell->second)) continue;
    if (!file.names.contains(name)) {
      found.missing.push_back(name);
      continue;
    }
    const auto there = file.says.kept_by.find(name);
    if (there == file.says.kept_by.end()) continue;
    const std::string_view here = optimizer_of(cell->second->owner);
    if (here.empty() || there->second.owner.empty()) continue;
    if (optimizer_of(there->second.owner) != here)
      found.others.push_back(fmt::format("'{}' is of {} in the file, and of {} here", name,
                                         optimizer_of(there->second.owner), here));
  }
  for (const auto& [name, kept_by] : file.says.kept_by) {
    if (kept_by.graph == graph && !known.contains(name)) found.unused.push_back(name);
  }
  return found;
}

Error refused_differences(const TrainingFile& file, const std::string& graph,
                          const TrainingDifferences& found, Where where) {
  Error error = input_error(where,
                            "{}: its training kept other states for graph '{}' than this one does, "
                            "as with another optimizer or other parameters to train",
                            file.path, graph);
  if (!found.missing.empty())
    error.note(
        fmt::format("missing in the file ({}): {}", found.missing.size(), few_of(found.missing)));
  if (!found.unused.empty())
    error.note(fmt::format("in the file, and kept by no graph here ({}): {}", found.unused.size(),
                           few_of(found.unused)));
  for (const std::string& other : found.others) error.note(other);
  return error.note(
      "to take what is there and begin the rest anew: session.load(path, Loading::partial) in the "
      "place of going on from the file, and another file for what is saved");
}

void Session::compare(const TrainingFile& file, const std::string& graph,
                      const std::vector<std::string>& used, Where where) const {
  const auto cells = model_.states();
  const TrainingDifferences found = differences(file, graph, used, cells);
  if (found.empty()) return;
  if (!file.exact) {
    options_.announce(fmt::format(
        "{}: graph '{}' keeps other states than when the file was written; they begin anew: {}",
        file.path, graph, found.line()));
    return;
  }
  for (const std::shared_ptr<StateCell>& cell : cells) {
    const auto missing = std::ranges::find(found.missing, cell->name);
    if (missing != found.missing.end()) where = cell->where;
  }
  throw refused_differences(file, graph, found, where);
}

void Session::expect_everything(const TrainingFile& file) const {
  if (!file.says.everything) {
    throw input_error({},
                      "{}: it has the model alone: wanted what save(path, Saving::everything) "
                      "wrote, to go on from",
                      file.path);
  }
  for (const std::string& name : *claimed_) {
    if (!file.names.contains(name))
      throw input_error({}, "{}: it lacks '{}', which this training keeps", file.path, name);
  }
  const auto cells = model_.states();
  for (const std::shared_ptr<StateCell>& cell : cells) {
    // States declared by graphs are compared graph by graph. A state with an owner but no graph
    // holds numbers kept by another session of the model.
    const bool here = cell->transient && cell->graph.empty() && cell->owner.empty();
    if (here && !file.names.contains(cell->name)) {
      throw input_error(cell->where, "{}: it lacks the transient state '{}', which this model has",
                        file.path, cell->name)
          .note("Loading::partial takes what is there and begins the rest anew");
    }
  }
}

}  // namespace graphc::core
