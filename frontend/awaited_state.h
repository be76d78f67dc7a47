// SPDX-License-Identifier: Apache-2.0
// What the files of a session say about states that graphs declare only when they are traced.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/state.h"
#include "ir/literal.h"

namespace graphc::core {

/// How a file has a state; `unknown` where the file does not say.
enum class KindInFile : uint8_t { unknown, parameter, buffer, transient };

KindInFile kind_in_file(const StateCell& cell);

/// Who keeps a transient state, as a file of everything says.
struct KeptBy {
  std::string graph;  ///< the graph that declared it first
  std::string owner;  ///< StateCell::owner, "adam of dense.w"; empty: no optimizer
  bool operator==(const KeptBy&) const = default;
};

/// The optimizer of an owner: "adam" of "adam of dense.w".
std::string_view optimizer_of(std::string_view owner);

/// A value that was loaded for a state that is not declared yet.
struct AwaitedState {
  Literal value;
  std::string path;  ///< of the file
  KindInFile kind = KindInFile::unknown;
  KeptBy kept_by = {};

  /// Whether the file has it of the optimizer that keeps it here, as far as both say.
  bool is_of_same_optimizer(const StateCell& cell) const;
};

/// What a file that Session::save() wrote says about itself, in its metadata.
struct SavedStates {
  bool by_session = false;  ///< it says anything
  bool everything = false;  ///< it has every state, else parameters and buffers
  /// The states in it that graphs declared, by name.
  std::map<std::string, KindInFile, std::less<>> by_graphs;
  /// The transient states among them, and who keeps each.
  std::map<std::string, KeptBy, std::less<>> kept_by = {};
  /// The graphs that had been traced: it has what they declare.
  std::set<std::string> traced;

  /// Whether the file lacks something where it lacks this state: it is of the model, and who wrote
  /// the file knew of it.
  bool should_have(const StateCell& cell) const;
  KindInFile kind_of(const std::string& name) const;
  KeptBy keeper_of(const std::string& name) const;
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

/// A file of everything that was loaded: what the training of its writer kept.
struct TrainingFile {
  std::string path;
  SavedStates says;
  std::set<std::string, std::less<>> names = {};  ///< of its arrays
  bool exact = false;                             ///< Loading::exact
};

/// Where a graph and the training that wrote a file differ in the states they keep.
struct TrainingDifferences {
  std::vector<std::string> missing;  ///< the graph keeps them, the file has none
  std::vector<std::string> unused;   ///< the graph kept them in the file, and no graph does here
  std::vector<std::string> others;   ///< of another optimizer, with both

  bool empty() const { return missing.empty() && unused.empty() && others.empty(); }
  /// In one line.
  std::string line() const;
};

/// Of a graph that uses the states `used`; `cells` are all that the model has so far.
TrainingDifferences differences(const TrainingFile& file, const std::string& graph,
                                const std::vector<std::string>& used,
                                const std::vector<std::shared_ptr<StateCell>>& cells);

/// The error of an exact loading. `where` is the line of the graph or the optimizer.
Error refused_differences(const TrainingFile& file, const std::string& graph,
                          const TrainingDifferences& found, Where where);

}  // namespace graphc::core
