// SPDX-License-Identifier: Apache-2.0
// The collectives of a step on a CPU: begun by a worker, run by the communication thread.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "codegen/step/plan.h"
#include "codegen/walk/profile.h"
#include "runtime/ranks/communicator.h"

namespace graphc::core::cpu {

class Collectives {
 public:
  /// Those of a plan; null if it has none. Throws ErrorKind::input if it has, and `ranks` is null
  /// or they are not as many as the plan's.
  static std::unique_ptr<Collectives> of(const Plan& plan, const std::shared_ptr<Ranks>& ranks);

  explicit Collectives(std::shared_ptr<Communicator> communicator)
      : communicator_(std::move(communicator)) {}

  /// Begins a collective. `operands` are the addresses of those of the call. `profile`, unless
  /// null, is told when it has run.
  void begin(const ExternCall& call, const std::vector<char*>& operands, PlanProfile* profile);
  /// Waits until the collective of this wait has ended. Rethrows its error.
  void wait(const ExternCall& call);
  /// Waits for all, after a step; rethrows an error.
  void finish();
  /// After an error in a step: waits for the one that runs.
  void abandon() noexcept;

 private:
  std::shared_ptr<Communicator> communicator_;
  int64_t begun_ = 0;
  std::map<int64_t, int64_t> begun_as_;  ///< by the number of the call: how many had begun with it
  std::vector<std::byte> bucket_;        ///< of the communication thread
};

}  // namespace graphc::core::cpu
