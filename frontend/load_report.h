// SPDX-License-Identifier: Apache-2.0
// What came of reading parameters from a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace graphc::core {

/// What a file must have.
enum class Loading {
  /// Every parameter and buffer, and nothing that no graph declares. What a training keeps beside
  /// the model (transient states, an optimizer's slots among them) is taken where the file has it
  /// and the same optimizer wants it, and begins anew elsewhere; the session announces, when the
  /// graph is compiled, where a file of everything and the graph differ in that.
  strict,
  /// Some of them.
  partial,
  /// Everything that this training goes on from and nothing else: what strict asks for, every
  /// transient state, and of each graph that the writer of the file had traced just the states that
  /// the graph has here, kept by the same optimizers. A graph that is traced later is compared
  /// before it runs. LastCheckpoint::resume() and fit() load so.
  exact,
};

/// Names, as they stand in the file.
struct LoadReport {
  std::vector<std::string> loaded;
  std::vector<std::string> missing;  ///< parameters and buffers the file lacks
  std::vector<std::string> extra;    ///< arrays of no state so far; Session::load keeps them
  /// Arrays of no state so far, of which the file says that a graph declares the state when it is
  /// traced: Session::load keeps them until then.
  std::vector<std::string> awaited = {};
  /// States of the model that the file lacks and need not have, transient ones and those of graphs
  /// that its writer had not traced: they stay as they are.
  std::vector<std::string> unsaved = {};
};

/// Throws ErrorKind::input when something is missing or extra, naming both; `what` has the
/// parameters: "model 'm'".
void refuse_differences(const LoadReport& report, const std::string& path, std::string_view what);

}  // namespace graphc::core
