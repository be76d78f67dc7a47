// SPDX-License-Identifier: Apache-2.0
// What came of reading parameters from a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace graphc::core {

/// Whether a file must have every parameter and buffer and nothing that no graph declares, or may
/// have some of them.
enum class Loading { strict, partial };

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
