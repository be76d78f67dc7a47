// SPDX-License-Identifier: Apache-2.0
// The result of loading parameters from a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace graphc::core {

/// What a file must contain.
enum class Loading {
  /// Every parameter and buffer, and no array that no graph declares. Transient states (optimizer
  /// slots among them) are loaded if the file has them and the same optimizer keeps them; otherwise
  /// they start anew. When a graph is compiled, the session announces differences between its
  /// transient states and those of a file with every state.
  strict,
  /// Any subset.
  partial,
  /// Exactly the states of this training: the contents that strict requires, every transient state,
  /// and for each graph that the writer of the file had traced exactly the states that the graph
  /// has here, kept by the same optimizers. A graph that is traced later is compared before it
  /// runs. LastCheckpoint::resume() and fit() load this way.
  exact,
};

/// Names, as in the file.
struct LoadReport {
  std::vector<std::string> loaded;
  std::vector<std::string> missing;  ///< parameters and buffers the file lacks
  std::vector<std::string> extra;    ///< arrays without a state so far; Session::load keeps them
  /// Arrays without a state so far, which a graph declares when it is traced, according to the
  /// file: Session::load keeps them until then.
  std::vector<std::string> awaited = {};
  /// States of the model that the file need not have and does not have: transient states, and
  /// states of graphs that its writer had not traced. They stay unchanged.
  std::vector<std::string> unsaved = {};
};

/// Throws ErrorKind::input if something is missing or extra, naming both; `what` is the owner of
/// the parameters: "model 'm'".
void refuse_differences(const LoadReport& report, const std::string& path, std::string_view what);

}  // namespace graphc::core
