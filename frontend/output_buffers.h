// SPDX-License-Identifier: Apache-2.0
// Buffers for the results of a compiled graph's runs. Callers own results and may keep them, so a
// run needs buffers that nobody holds: a new one costs page faults and zeroing in each run, a
// quarter of a small step's time, where a caller holds the last result while the next is computed.
#pragma once

#include <vector>

#include "runtime/executable.h"
#include "runtime/tensor.h"

namespace graphc::core {

class OutputBuffers {
 public:
  OutputBuffers() = default;
  explicit OutputBuffers(const std::vector<Argument>& outputs);

  /// A tensor for each result, whose buffers nobody else holds, until the next call. Buffers that
  /// callers gave back are used again; at most kMost of each result are kept.
  std::vector<Tensor>& next();
  /// Those of the last next().
  std::vector<Tensor>& last() { return last_; }

  /// Enough for several layers that are one graph, whose results a derivative keeps.
  static constexpr size_t kMost = 8;

 private:
  std::vector<Tensor> last_;
  std::vector<std::vector<Tensor>> others_;  ///< by result
};

}  // namespace graphc::core
