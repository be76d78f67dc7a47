// SPDX-License-Identifier: Apache-2.0
// States in a session file that graphs declare only when they are traced.
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

/// The kind of a state according to a file; `unknown` if the file does not record it.
enum class KindInFile : uint8_t { unknown, parameter, buffer, transient };

KindInFile kind_in_file(const StateCell& cell);

/// The owner of a transient state, as recorded in a checkpoint with every state.
struct KeptBy {
  std::string graph;  ///< the graph that declared it first
  std::string owner;  ///< StateCell::owner, "adam of dense.w"; empty: no optimizer
  bool operator==(const KeptBy&) const = default;
};

/// The optimizer part of an owner: "adam" for "adam of dense.w".
std::string_view optimizer_of(std::string_view owner);

/// A value loaded for a state that is not declared yet.
struct AwaitedState {
  Literal value;
  std::string path;  ///< of the file
  KindInFile kind = KindInFile::unknown;
  KeptBy kept_by = {};

  /// Whether the file and this model name the same optimizer, as far as both name one.
  bool is_of_same_optimizer(const StateCell& cell) const;
};

/// What a file written by Session::save() records about itself in its metadata.
struct SavedStates {
  bool by_session = false;  ///< the file has this metadata
  bool everything = false;  ///< it has every state; otherwise parameters and buffers
  /// The states in the file that graphs declared, by name.
  std::map<std::string, KindInFile, std::less<>> by_graphs;
  /// The transient states among them, with their owners.
  std::map<std::string, KeptBy, std::less<>> kept_by = {};
  /// The graphs that had been traced: the file has every state that they declare.
  std::set<std::string> traced;

  /// Whether a file without this state is incomplete: the state belongs to the model, and the
  /// writer of the file knew it.
  bool should_have(const StateCell& cell) const;
  KindInFile kind_of(const std::string& name) const;
  KeptBy keeper_of(const std::string& name) const;
  void write(std::map<std::string, std::string>& metadata) const;
  /// Inverse of write(); `path` is for errors. Throws ErrorKind::input for malformed text.
  static SavedStates read(const std::map<std::string, std::string>& metadata,
                          const std::string& path);
};

/// A file that was loaded strictly.
struct StrictFile {
  std::string path;
  SavedStates says;
};

/// A loaded checkpoint with every state: what its training kept.
struct TrainingFile {
  std::string path;
  SavedStates says;
  std::set<std::string, std::less<>> names = {};  ///< of its arrays
  bool exact = false;                             ///< Loading::exact
};

/// Differences between the states of a graph and of the training that wrote a file.
struct TrainingDifferences {
  std::vector<std::string> missing;  ///< states of the graph that the file lacks
  std::vector<std::string> unused;   ///< the graph had them in the file, no graph has them here
  std::vector<std::string> others;   ///< states in both, kept by different optimizers

  bool empty() const { return missing.empty() && unused.empty() && others.empty(); }
  /// As one line.
  std::string line() const;
};

/// For a graph that uses the states `used`; `cells` are all states that the model has so far.
TrainingDifferences differences(const TrainingFile& file, const std::string& graph,
                                const std::vector<std::string>& used,
                                const std::vector<std::shared_ptr<StateCell>>& cells);

/// The error of an exact load. `where` is the line of the graph or the optimizer.
Error refused_differences(const TrainingFile& file, const std::string& graph,
                          const TrainingDifferences& found, Where where);

}  // namespace graphc::core
