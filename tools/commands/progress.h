// SPDX-License-Identifier: Apache-2.0
// What people see on stderr while a model trains: on a terminal a bar that moves, elsewhere a line
// now and then; a line for every epoch, and samples as they are.
#pragma once

#include "models/program.h"

namespace graphc::core::commands {

class Progress {
 public:
  Progress();
  /// Leaves the cursor at the beginning of a line.
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;

  void show(const TrainEvent& event);

 private:
  void show_step(const TrainEvent& event);
  void show_bar(const TrainEvent& event);
  void clear();

  bool terminal_;
  bool drawn_ = false;     ///< a bar stands on the line of the cursor
  double last_;            ///< when a step was shown
  double began_ = 0;       ///< when the epoch's first step was shown
  int64_t began_at_ = -1;  ///< and which step of it that was
  int64_t began_epoch_ = -1;
};

}  // namespace graphc::core::commands
