// SPDX-License-Identifier: Apache-2.0
// Model files: graphs and the values of their states in one file, so that they run without the
// program that wrote them.
//
// A model file is a safetensors file, so any reader of weights can read its arrays. The graphs are
// text in its metadata: "graphs", a module of ir/text.h; "parameters", their names; "transient",
// the names of transient states; "results", a line "graph: name, name" for each graph that names
// its results; "bounds", a line "graph: input most" for each input that holds lengths; "checksum",
// over everything else (absent in old files). Extents that a graph uses as lengths of its dims are
// constants in the file. "note.NAME" are texts of the writer.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/session.h"
#include "runtime/files/safetensors.h"

namespace graphc::core {

/// The contents of a model file.
struct ModelFile {
  Module module;
  std::map<std::string, Literal, std::less<>> states;  ///< the value of every state of the module
  std::vector<std::string> parameters;                 ///< names of the parameters among them
  std::vector<std::string> transient;                  ///< names of the transient ones
  /// The names of the results, by graph; a graph that names none uses the names of the values.
  std::map<std::string, std::vector<std::string>, std::less<>> results;
  /// The bounds of inputs that hold lengths, by graph.
  std::map<std::string, std::vector<InputBound>, std::less<>> bounds;
  /// Further notes of the writer, for example how a table becomes an input.
  std::map<std::string, std::string> notes = {};

  /// Throws ErrorKind::input if an input of a graph holds lengths out of bounds.
  void check(const Graph& graph, const std::vector<Tensor>& inputs) const;
  /// The same for inputs that may be on a GPU, read after the work that is in `stream` now.
  void check(const Graph& graph, const std::vector<AnyTensor>& inputs, DeviceStream stream) const;
};

/// Writes graphs of the session's model, with the values of the states they use, to one file,
/// atomically. `extents` are the extents of named dims: `save(session, {"predict"}, {{"batch", 1}},
/// "model.graphc")`. `notes` go into ModelFile::notes. Throws ErrorKind::input if an extent is
/// missing, ErrorKind::resource if the file cannot be written.
void save(Session& session, const std::vector<std::string>& graphs, const Extents& extents,
          const std::string& path, const std::map<std::string, std::string>& notes = {});

/// The graph with constant extents in place of the inputs that a session adds.
GraphPtr with_extents(const TracedGraph& traced);

/// Reads a model file. Throws ErrorKind::input, naming the file, for a file that is damaged or of
/// another kind.
ModelFile read_model_file(const std::string& path);
/// The same from the bytes of a file; `file` is its name for errors.
ModelFile parse_model_file(std::string_view bytes, const std::string& file);

/// Writes a model file, atomically. Throws ErrorKind::input for a name of a result with a comma or
/// a newline, ErrorKind::resource if the file cannot be written.
void write_model_file(const ModelFile& model, const std::string& path);

/// A model from a file, ready to run.
class LoadedModel {
 public:
  /// Throws as read_model_file() does, and ErrorKind::usage for an unknown target.
  explicit LoadedModel(const std::string& path, SessionOptions options = {});

  /// Runs a graph with anything that converts to Data; see Session.
  template <typename... Inputs>
  Outputs operator()(std::string_view graph, const Inputs&... inputs) {
    return session_->run(graph, std::vector<Data>{Data(inputs)...});
  }
  /// The same with inputs by name, in any order.
  Outputs operator()(std::string_view graph,
                     std::initializer_list<std::pair<std::string, Data>> inputs) {
    return session_->run_named(graph, NamedData(inputs));
  }
  /// For its states, files and profiles.
  Session& session() { return *session_; }
  const Model& model() const { return *model_; }

 private:
  std::unique_ptr<Model> model_;
  std::unique_ptr<Session> session_;
};

}  // namespace graphc::core
