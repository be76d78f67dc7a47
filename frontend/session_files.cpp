// SPDX-License-Identifier: Apache-2.0
// Saving and loading the states of a session as safetensors.
#include <algorithm>

#include "frontend/session.h"
#include "ir/spelling.h"
#include "runtime/files/safetensors.h"

namespace graphc {
namespace {

std::string list_of(const std::vector<std::string>& names) {
  constexpr size_t kShown = 8;
  const std::vector<std::string> shown(names.begin(),
                                       names.begin() + long(std::min(names.size(), kShown)));
  return fmt::format("{}{}", fmt::join(shown, ", "), names.size() > kShown ? ", ..." : "");
}

}  // namespace

void Session::save(const std::string& path, bool all_states) {
  Safetensors content;
  // Looking a state up may not declare another one: the list is the model's as it stands.
  for (const std::shared_ptr<StateCell>& cell : model_.states()) {
    if (cell->parameter || all_states) content.arrays.emplace(cell->name, state(cell->name));
  }
  write_safetensors(path, content);
}

void Session::load(const std::string& path) {
  const Safetensors content = read_safetensors(path);
  std::vector<std::string> names, missing, extra;
  for (const std::shared_ptr<StateCell>& cell : model_.states()) {
    names.push_back(cell->name);
    if (cell->parameter && !content.arrays.contains(cell->name)) missing.push_back(cell->name);
  }
  for (const auto& [name, value] : content.arrays) {
    if (std::ranges::find(names, name) == names.end())
      extra.push_back(name + did_you_mean(name, missing));
  }
  if (!missing.empty() || !extra.empty()) {
    Error error = input_error({}, "{}: not the parameters of model '{}'", path, model_.name());
    if (!missing.empty())
      error.note(fmt::format("missing in the file ({}): {}", missing.size(), list_of(missing)));
    if (!extra.empty())
      error.note(fmt::format("unknown to the model ({}): {}", extra.size(), list_of(extra)));
    throw error;
  }
  for (const auto& [name, value] : content.arrays) {
    try {
      check_type(*model_.state_cell(name), value);
    } catch (const Error& error) {
      throw input_error({}, "{}: {}", path, error.message());
    }
  }
  for (const auto& [name, value] : content.arrays) write(stored(name), value);
}

}  // namespace graphc
