// SPDX-License-Identifier: Apache-2.0
// SessionOptions::check_finite for one run.
#pragma once

#include "ir/not_finite.h"
#include "runtime/executable.h"

namespace graphc::core {

/// Created before a run; saves the states that the run writes, unless the executable does.
class FiniteCheck {
 public:
  FiniteCheck(Executable& executable, const std::vector<StoredState*>& states);

  /// Called after the run: describes the first result or written state that is not finite, or
  /// returns an empty string. `shown` are the valid parts of the results (empty: everything).
  std::string fault(const std::vector<Tensor>& outputs, const std::vector<Type>& shown) const;
  /// Restores the states to their values before the run. Calling it again does nothing.
  void restore();
  /// Called after restore(): locates the origin of the fault by evaluating the traced graph.
  Error error(const GraphPtr& traced, const std::vector<Tensor>& inputs,
              const std::vector<Type>& shown, const std::string& fault, Precision precision) const;

 private:
  Executable& executable_;
  const Signature& signature_;
  const std::vector<StoredState*>& states_;
  std::vector<std::optional<Literal>> before_;  ///< one for each state that is written
  bool restored_ = false;
};

}  // namespace graphc::core
