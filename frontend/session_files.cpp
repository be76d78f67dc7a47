// SPDX-License-Identifier: Apache-2.0
// Saving and loading the states of a session as safetensors, and the metadata on states that are
// not declared yet.
#include <algorithm>
#include <array>

#include "frontend/session_compiled.h"
#include "ir/spelling.h"
#include "ir/utf8.h"
#include "runtime/files/safetensors.h"
#include "runtime/ranks/agree.h"

namespace graphc::core {
namespace {

// Keys of the metadata, and the value of the first one.
constexpr const char *kSaved = "saved", *kTraced = "traced_graphs",
                     *kByGraphs = "declared_by_graphs", *kKeptBy = "kept_by";
constexpr const char *kEverything = "everything", *kOfModel = "model";
constexpr std::array<std::string_view, 4> kKinds{"unknown", "parameter", "buffer", "transient"};

std::string list_of(const std::vector<std::string>& names) {
  constexpr size_t kShown = 8;
  const std::vector<std::string> shown(names.begin(),
                                       names.begin() + long(std::min(names.size(), kShown)));
  return fmt::format("{}{}", fmt::join(shown, ", "), names.size() > kShown ? ", ..." : "");
}

/// The lines of a text, without their newlines.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// Compares the states of the file with those of the model, in both directions.
LoadReport compared(const Model& model, const Safetensors& content, const SavedStates& says) {
  LoadReport report;
  std::map<std::string, const StateCell*, std::less<>> known;
  const auto cells = model.states();
  for (const std::shared_ptr<StateCell>& cell : cells) {
    known.emplace(cell->name, cell.get());
    if (!content.arrays.contains(cell->name))
      (says.should_have(*cell) ? report.missing : report.unsaved).push_back(cell->name);
  }
  for (const auto& [name, value] : content.arrays) {
    std::vector<std::string>& list = known.contains(name)            ? report.loaded
                                     : says.by_graphs.contains(name) ? report.awaited
                                                                     : report.extra;
    list.push_back(name);
  }
  return report;
}

}  // namespace

const StateCell& Session::declared(std::string_view name) const {
  try {
    return *model_.state_cell(name);
  } catch (Error& error) {
    throw error.note(
        "a state that a graph's function declares, as an optimizer's, is known once the graph was "
        "compiled: call Session::compile() or run it first; Session::load with Loading::partial "
        "keeps values for states that are declared later");
  }
}

KindInFile kind_in_file(const StateCell& cell) {
  if (cell.parameter) return KindInFile::parameter;
  return cell.transient ? KindInFile::transient : KindInFile::buffer;
}

bool SavedStates::should_have(const StateCell& cell) const {
  return !cell.transient && (cell.graph.empty() || !by_session || traced.contains(cell.graph));
}

KindInFile SavedStates::kind_of(const std::string& name) const {
  const auto found = by_graphs.find(name);
  return found == by_graphs.end() ? KindInFile::unknown : found->second;
}

KeptBy SavedStates::keeper_of(const std::string& name) const {
  const auto found = kept_by.find(name);
  return found == kept_by.end() ? KeptBy() : found->second;
}

void SavedStates::write(std::map<std::string, std::string>& metadata) const {
  std::string states, graphs, keepers;
  const auto line = [](const std::string& name) {
    if (name.find('\n') == name.npos) return name + "\n";
    throw input_error({}, "a name in a file has no newline: found '{}'", printable(name));
  };
  for (const auto& [name, kind] : by_graphs)
    states += fmt::format("{} {}", kKinds[size_t(kind)], line(name));
  for (const std::string& name : traced) graphs += line(name);
  for (const auto& [name, keeper] : kept_by)
    keepers += line(name) + line(keeper.graph) + line(keeper.owner);
  metadata.emplace(kSaved, everything ? kEverything : kOfModel);
  if (!graphs.empty()) metadata.emplace(kTraced, graphs);
  if (!states.empty()) metadata.emplace(kByGraphs, states);
  if (!keepers.empty()) metadata.emplace(kKeptBy, keepers);
}

SavedStates SavedStates::read(const std::map<std::string, std::string>& metadata,
                              const std::string& path) {
  SavedStates states;
  const auto lines = [&](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::vector<std::string>() : lines_of(found->second);
  };
  const auto saved = metadata.find(kSaved);
  states.by_session = saved != metadata.end();
  states.everything = states.by_session && saved->second == kEverything;
  for (std::string& graph : lines(kTraced)) states.traced.insert(std::move(graph));
  for (const std::string& line : lines(kByGraphs)) {
    const size_t space = std::min(line.find(' '), line.size());
    const auto kind = std::ranges::find(kKinds, std::string_view(line).substr(0, space));
    if (kind == kKinds.end() || space == line.size()) {
      throw input_error({},
                        "{}: its metadata say of states that graphs declare '{}': wanted a kind "
                        "({}) and a name",
                        path, printable(line), fmt::join(kKinds, ", "));
    }
    states.by_graphs.emplace(line.substr(space + 1), KindInFile(kind - kKinds.begin()));
  }
  const std::vector<std::string> keepers = lines(kKeptBy);
  if (keepers.size() % 3 != 0) {
    throw input_error({},
                      "{}: its metadata say in {} lines who keeps states: wanted three of each, a "
                      "state, a graph and an optimizer",
                      path, keepers.size());
  }
  for (size_t i = 0; i < keepers.size(); i += 3)
    states.kept_by.emplace(keepers[i], KeptBy{keepers[i + 1], keepers[i + 2]});
  return states;
}

void Session::save(const std::string& path, Saving saving) {
  const Call here(*this);
  const bool everything = saving == Saving::everything;
  Safetensors content;
  SavedStates says{.everything = everything, .by_graphs = {}, .traced = model_.traced_graphs()};
  // Loaded files include graphs that other sessions had traced.
  says.traced.insert(loaded_graphs_.begin(), loaded_graphs_.end());
  // Looking up a state must not declare another one, so iterate over the model's current list.
  for (const std::shared_ptr<StateCell>& cell : model_.states()) {
    if (cell->transient && !everything) continue;
    content.arrays.emplace(cell->name, state(cell->name));
    if (cell->graph.empty()) continue;
    says.by_graphs.emplace(cell->name, kind_in_file(*cell));
    if (cell->transient) says.kept_by.emplace(cell->name, KeptBy{cell->graph, cell->owner});
  }
  for (const auto& [name, awaited] : awaited_) {
    const bool of_model =
        awaited.kind == KindInFile::parameter || awaited.kind == KindInFile::buffer;
    if (!of_model && (!everything || is_forsaken(awaited))) continue;
    content.arrays.emplace(name, awaited.value);
    if (!awaited.kept_by.graph.empty()) says.kept_by.emplace(name, awaited.kept_by);
    if (awaited.kind != KindInFile::unknown) says.by_graphs.emplace(name, awaited.kind);
  }
  says.write(content.metadata);
  const auto write = [&] { write_safetensors(path, content); };
  if (options_.ranks == nullptr) return write();
  on_first(*options_.ranks, write);
}

void refuse_differences(const LoadReport& report, const std::string& path, std::string_view what) {
  if (report.missing.empty() && report.extra.empty()) return;
  Error error = input_error({}, "{}: not the parameters of {}", path, what);
  if (!report.missing.empty())
    error.note(fmt::format("missing in the file ({}): {}", report.missing.size(),
                           list_of(report.missing)));
  if (!report.extra.empty()) {
    std::vector<std::string> extra = report.extra;
    for (std::string& name : extra) name += did_you_mean(name, report.missing);
    error.note(fmt::format("unknown to the model ({}): {}", extra.size(), list_of(extra)));
  }
  throw error;
}

bool Session::is_forsaken(const AwaitedState& awaited) const {
  return model_.traced_graphs().contains(awaited.kept_by.graph);
}

void Session::take(AwaitedState found, const std::string& name) {
  const auto cells = model_.states();
  const auto cell = std::ranges::find(cells, name, &StateCell::name);
  if (cell == cells.end()) {
    awaited_.insert_or_assign(name, std::move(found));
  } else if (found.is_of_same_optimizer(**cell)) {
    put(**cell, found.value);
  }
}

LoadReport Session::load(const std::string& path, Loading loading) {
  const Call here(*this);
  Safetensors content = read_safetensors(path);
  SavedStates says = SavedStates::read(content.metadata, path);
  const LoadReport report = compared(model_, content, says);
  TrainingFile training{.path = path, .says = says, .exact = loading == Loading::exact};
  for (const auto& [name, value] : content.arrays) training.names.insert(name);
  if (training.exact) expect_everything(training);
  if (loading != Loading::partial) {
    try {
      refuse_differences(report, path, fmt::format("model '{}'", model_.name()));
    } catch (Error& error) {
      for (const std::string& name : report.missing) {
        if (model_.state_cell(name)->parameter) continue;
        throw error.note(fmt::format(
            "state '{}' is a buffer: what is not of the model is declared {{.transient = true}}",
            name));
      }
      if (report.extra.empty()) throw;
      throw error.note(
          "Loading::partial keeps arrays for states that graphs declare later, as an optimizer's");
    }
  }
  for (const std::string& name : report.loaded) {
    try {
      check_type(*model_.state_cell(name), content.arrays.at(name));
    } catch (const Error& error) {
      throw input_error({}, "{}: {}", path, error.message());
    }
  }
  if (loading != Loading::partial && says.everything) {
    for (const auto& [graph, used] : used_states()) compare(training, graph, used, {});
  }
  for (const auto* names : {&report.loaded, &report.extra, &report.awaited}) {
    for (const std::string& name : *names)
      take({std::move(content.arrays.at(name)), path, says.kind_of(name), says.keeper_of(name)},
           name);
  }
  loaded_graphs_.insert(says.traced.begin(), says.traced.end());
  if (loading == Loading::partial) trained_from_.reset();
  if (loading != Loading::partial && says.everything) trained_from_ = std::move(training);
  if (loading != Loading::partial) strictly_ = StrictFile{path, std::move(says)};
  return report;
}

bool Session::has_state(std::string_view name) const {
  return states_.contains(name) || awaited_.contains(name);
}

void Session::expect_not_missed(const StateCell& cell) const {
  if (!strictly_ || !strictly_->says.should_have(cell)) return;
  std::vector<std::string> awaited;
  for (const auto& [name, state] : awaited_) awaited.push_back(name);
  throw input_error(cell.where, "{}: it lacks the {} '{}'{}", strictly_->path,
                    cell.parameter ? "parameter" : "buffer", cell.name,
                    did_you_mean(cell.name, awaited))
      .note(
          "what is not of the model is declared {.transient = true}; Loading::partial takes "
          "files that lack states");
}

}  // namespace graphc::core
