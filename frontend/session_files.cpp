// SPDX-License-Identifier: Apache-2.0
// Saving and loading the states of a session as safetensors, and what is said of those that are not
// declared yet.
#include <algorithm>
#include <set>

#include "frontend/session.h"
#include "ir/spelling.h"
#include "runtime/files/safetensors.h"

namespace graphc::core {
namespace {

std::string list_of(const std::vector<std::string>& names) {
  constexpr size_t kShown = 8;
  const std::vector<std::string> shown(names.begin(),
                                       names.begin() + long(std::min(names.size(), kShown)));
  return fmt::format("{}{}", fmt::join(shown, ", "), names.size() > kShown ? ", ..." : "");
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

void Session::save(const std::string& path, bool all_states) {
  const OneThread::Inside here = inside();
  Safetensors content;
  // Looking a state up may not declare another one: the list is the model's as it stands.
  for (const std::shared_ptr<StateCell>& cell : model_.states()) {
    if (cell->parameter || all_states) content.arrays.emplace(cell->name, state(cell->name));
  }
  if (all_states) {
    for (const auto& [name, kept] : kept_) content.arrays.emplace(name, kept.first);
  }
  write_safetensors(path, content);
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

LoadReport Session::load(const std::string& path, Loading loading) {
  const OneThread::Inside here = inside();
  Safetensors content = read_safetensors(path);
  LoadReport report;
  std::set<std::string> names;
  for (const std::shared_ptr<StateCell>& cell : model_.states()) {
    names.insert(cell->name);
    if (cell->parameter && !content.arrays.contains(cell->name))
      report.missing.push_back(cell->name);
  }
  for (const auto& [name, value] : content.arrays)
    (names.contains(name) ? report.loaded : report.extra).push_back(name);
  if (loading == Loading::strict) {
    try {
      refuse_differences(report, path, fmt::format("model '{}'", model_.name()));
    } catch (Error& error) {
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
  for (const std::string& name : report.loaded) write(stored(name), content.arrays.at(name));
  for (const std::string& name : report.extra)
    kept_.insert_or_assign(name, std::pair(std::move(content.arrays.at(name)), path));
  return report;
}

}  // namespace graphc::core
