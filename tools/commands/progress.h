// SPDX-License-Identifier: Apache-2.0
// Shows the events of a training on stderr (frontend/progress.h), and samples as they are.
#pragma once

#include "frontend/progress.h"
#include "models/program.h"

namespace graphc::core::commands {

class TrainProgress {
 public:
  void show(const TrainEvent& event);

 private:
  Progress progress_;
};

}  // namespace graphc::core::commands
