// SPDX-License-Identifier: Apache-2.0
// Model files: graphs with the values of their states in one file, to be run where the program that
// wrote them is not.
//
// A model file is a safetensors file, so that whatever reads weights reads its arrays; the
// metadata in front of them hold the graphs as text: "graphs", a module of ir/text.h; "parameters",
// their names; "transient", those of states that are so; "results", for each graph that names its
// results a line "graph: name, name"; "bounds", for each input that is lengths a line "graph: input
// most"; "checksum", of all else, which files of before have not. Extents that a graph was given as
// lengths of its dims are constants in it. Under "note.NAME" are texts of the writer's.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/session.h"
#include "runtime/files/safetensors.h"

namespace graphc::core {

/// What a model file holds.
struct ModelFile {
  Module module;
  std::map<std::string, Literal, std::less<>> states;  ///< of every state of the module
  std::vector<std::string> parameters;                 ///< which of them are parameters
  std::vector<std::string> transient;                  ///< and which are transient (StateOptions)
  /// The names of the results, by graph; those of a graph that gives none are the values' names.
  std::map<std::string, std::vector<std::string>, std::less<>> results;
  /// What the inputs that are lengths may be, by graph.
  std::map<std::string, std::vector<InputBound>, std::less<>> bounds;
  /// What its writer tells beside: how a table becomes an input, for one.
  std::map<std::string, std::string> notes = {};

  /// Throws ErrorKind::input for an input of a graph that has lengths out of bounds.
  void check(const Graph& graph, const std::vector<Tensor>& inputs) const;
};

/// Writes graphs of the session's model, and the values of the states they use, to one file, whole
/// or not at all. `extents` are what named dims stand for: `save(session, {"predict"},
/// {{"batch", 1}}, "model.graphc")`. Throws ErrorKind::input when an extent is missing,
/// ErrorKind::resource when the file cannot be written.
/// `notes` are kept beside them (ModelFile::notes).
void save(Session& session, const std::vector<std::string>& graphs, const Extents& extents,
          const std::string& path, const std::map<std::string, std::string>& notes = {});

/// Reads a model file. Throws ErrorKind::input, in a line that names the file, for one that is
/// damaged or something else.
ModelFile read_model_file(const std::string& path);
/// The same from its bytes; `file` is the name that errors give.
ModelFile parse_model_file(std::string_view bytes, const std::string& file);

/// A model from a file, ready to run.
class LoadedModel {
 public:
  /// Throws as read_model_file(), and ErrorKind::usage for an unknown target.
  explicit LoadedModel(const std::string& path, SessionOptions options = {});

  /// Runs a graph, with anything that Data is made of; see Session.
  template <typename... Inputs>
  Outputs operator()(std::string_view graph, const Inputs&... inputs) {
    return session_->run(graph, std::vector<Data>{Data(inputs)...});
  }
  /// The same with inputs by name, in any order.
  Outputs operator()(std::string_view graph,
                     std::initializer_list<std::pair<std::string, Data>> inputs) {
    return session_->run_named(graph, NamedData(inputs));
  }
  /// Its states, files and profiles.
  Session& session() { return *session_; }
  const Model& model() const { return *model_; }

 private:
  std::unique_ptr<Model> model_;
  std::unique_ptr<Session> session_;
};

}  // namespace graphc::core
