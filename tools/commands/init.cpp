// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/init.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "frontend/load_report.h"
#include "frontend/model_file.h"
#include "models/checkpoint_folder.h"
#include "runtime/files/files.h"
#include "runtime/files/safetensors.h"

namespace graphc::core::commands {
namespace {

using Arrays = std::map<std::string, Literal>;

/// The contents of a file used for initialisation.
struct Beginning {
  std::string file;
  Arrays arrays;
  Notes notes;
};

Beginning beginning_of(Checkpoint checkpoint) {
  return {checkpoint.file.string(), std::move(checkpoint.states), std::move(checkpoint.notes)};
}

Beginning beginning_of(const std::string& file, ModelFile model) {
  for (const std::string& name : model.transient) model.states.erase(name);
  return {file, Arrays(model.states.begin(), model.states.end()), std::move(model.notes)};
}

Beginning read_beginning(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return beginning_of(read_best_checkpoint(path));
  const std::string bytes = read_file(path);
  Safetensors content = parse_safetensors(bytes, path);
  const auto format = content.metadata.find("format");
  const std::string form = format == content.metadata.end() ? "" : format->second;
  if (form.starts_with("graphc model ")) return beginning_of(path, parse_model_file(bytes, path));
  if (form.starts_with("graphc checkpoint "))
    return beginning_of(from_safetensors(std::move(content), path));
  return {path, std::move(content.arrays), {}};
}

/// The states that persist between calls, which form the model, and the names of the others.
std::pair<std::vector<std::string>, std::set<std::string>> states_of(Program& program) {
  Model& model = program.model();
  for (const std::string& graph : model.graphs()) model.trace(graph, program.extents(graph));
  std::vector<std::string> wanted;
  std::set<std::string> transient;
  for (const auto& cell : model.states()) {
    if (cell->transient) {
      transient.insert(cell->name);
    } else {
      wanted.push_back(cell->name);
    }
  }
  return {wanted, transient};
}

}  // namespace

Notes begin_with(Session& session, Program& program, const std::string& path) {
  Beginning begins = read_beginning(path);
  const auto [wanted, transient] = states_of(program);
  LoadReport report;
  for (const std::string& name : wanted)
    (begins.arrays.contains(name) ? report.loaded : report.missing).push_back(name);
  for (const auto& [name, value] : begins.arrays) {
    if (std::ranges::find(wanted, name) == wanted.end() && !transient.contains(name))
      report.extra.push_back(name);
  }
  refuse_differences(report, begins.file, fmt::format("model '{}'", program.model().name()));
  for (const std::string& name : wanted) {
    const Type &found = begins.arrays.at(name).type(),
               &type = program.model().state_cell(name)->type;
    if (found.shape != type.shape)
      throw input_error({}, "{}: '{}' is {}: wanted {}", begins.file, name, to_string(found),
                        to_string(type));
  }
  for (const std::string& name : wanted) {
    try {
      session.set_state(name, begins.arrays.at(name));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      throw input_error({}, "{}: {}", begins.file, error.message());
    }
  }
  return std::move(begins.notes);
}

}  // namespace graphc::core::commands
