// SPDX-License-Identifier: Apache-2.0
// What the files of a session say about states that graphs declare only when they are traced.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "frontend/state.h"
#include "ir/literal.h"

namespace graphc::core {

/// How a file has a state; `unknown` where the file does not say.
enum class KindInFile : uint8_t { unknown, parameter, buffer, transient };

KindInFile kind_in_file(const StateCell& cell);

/// A value that was loaded for a state that is not declared yet.
struct AwaitedState {
  Literal value;
  std::string path;  ///< of the file
  KindInFile kind = KindInFile::unknown;
};

/// What a file that Session::save() wrote says about itself, in its metadata.
struct SavedStates {
  bool by_session = false;  ///< it says anything
  bool everything = false;  ///< it has every state, else parameters and buffers
  /// The states in it that graphs declared, by name.
  std::map<std::string, KindInFile, std::less<>> by_graphs;
  /// The graphs that had been traced: it has what they declare.
  std::set<std::string> traced;

  /// Whether the file lacks something where it lacks this state: it is of the model, and who wrote
  /// the file knew of it.
  bool should_have(const StateCell& cell) const;
  void write(std::map<std::string, std::string>& metadata) const;
  /// The same back; `path` is for errors. Throws ErrorKind::input for text of another form.
  static SavedStates read(const std::map<std::string, std::string>& metadata,
                          const std::string& path);
};

/// What a strictly loaded file should have.
struct StrictFile {
  std::string path;
  SavedStates says;
};

}  // namespace graphc::core
