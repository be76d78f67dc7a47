// SPDX-License-Identifier: Apache-2.0
// What is behind the handles of the C interface.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/c/handles.h"
#include "frontend/model_file.h"

namespace graphc::core {

/// The states of a session, and how it compiles. Its graphs keep it alive.
struct CSession {
  std::shared_ptr<const ModelFile> file;
  const Target* target = nullptr;
  CompileOptions options;
  StateStore states;
  void (*announce)(const char* line, void* data) = nullptr;
  void* announce_data = nullptr;
  OneThread thread;
  std::string shown;  ///< "the session of module 'm'"

  OneThread::Inside inside() { return {thread, shown}; }
  /// Throws ErrorKind::input for a name that is no state of the module.
  StoredState& state(std::string_view name);
};

/// Describes a type to the caller, who may know a shorter struct.
void describe(const CCall& call, graphc_info* info, const std::string& name, const Type& type,
              bool written, bool parameter);

/// Whether the file calls a state a parameter.
bool is_parameter(const ModelFile& file, const std::string& state);

}  // namespace graphc::core

struct graphc_module {
  static constexpr auto kKind = graphc::core::HandleKind::module;

  std::shared_ptr<const graphc::core::ModelFile> file;
  std::string text;
};

struct graphc_session {
  static constexpr auto kKind = graphc::core::HandleKind::session;

  std::shared_ptr<graphc::core::CSession> session;
};

struct graphc_graph {
  static constexpr auto kKind = graphc::core::HandleKind::graph;

  std::shared_ptr<graphc::core::CSession> session;
  graphc::core::GraphPtr graph;
  std::unique_ptr<graphc::core::Executable> executable;
  std::vector<graphc::core::StoredState*> states;
  std::vector<std::string> results;  ///< their names
};
