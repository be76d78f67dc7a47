// SPDX-License-Identifier: Apache-2.0
// What a session does with SessionOptions::check_finite, for one run.
#pragma once

#include "ir/not_finite.h"
#include "runtime/executable.h"

namespace graphc::core {

/// Made before a run: keeps the states that the run writes, unless the executable does.
class FiniteCheck {
 public:
  FiniteCheck(Executable& executable, const std::vector<StoredState*>& states);

  /// After the run: the first result, of which `shown` is what counts (all, if empty), or state
  /// written that is not finite, in words; else empty.
  std::string fault(const std::vector<Tensor>& outputs, const std::vector<Type>& shown) const;
  /// Gives the states what they had before the run. The second time does nothing.
  void restore();
  /// After restore(): where what fault() said began, evaluating the traced graph.
  Error error(const GraphPtr& traced, const std::vector<Tensor>& inputs,
              const std::vector<Type>& shown, const std::string& fault,
              const std::string& precision) const;

 private:
  Executable& executable_;
  const Signature& signature_;
  const std::vector<StoredState*>& states_;
  std::vector<std::optional<Literal>> before_;  ///< of each state that is written
  bool restored_ = false;
};

}  // namespace graphc::core
