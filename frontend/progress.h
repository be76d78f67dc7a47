// SPDX-License-Identifier: Apache-2.0
// Training progress on stderr: on a terminal a progress bar, elsewhere an occasional line; one line
// per epoch.
#pragma once

#include <cstdint>
#include <string>

#include "frontend/tensorboard.h"

namespace graphc::core {

/// The position in a training. Numbers that are 0 are not shown.
struct ProgressAt {
  int64_t epoch = 0;   ///< from 0
  int64_t epochs = 0;  ///< of the training
  int64_t done = 0;    ///< completed steps of this epoch
  int64_t steps = 0;   ///< steps per epoch
  int64_t step = 0;    ///< completed steps since the start of the training
};

/// `Progress progress;`, then after each step `progress.step({.epoch = epoch, .epochs = 30, .done =
/// i + 1, .steps = 20}, {{"loss", loss}})`, and after each epoch `progress.epoch(...)`.
class Progress {
 public:
  Progress();
  /// Leaves the cursor at the start of a line.
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows a step unless one was shown recently: a bar at most ten times a second, a line at most
  /// every two seconds.
  void step(const ProgressAt& at, const Figures& figures) { step(at, text_of(figures)); }
  void step(const ProgressAt& at, const std::string& figures);
  /// Prints the line of an epoch.
  void epoch(const ProgressAt& at, const Figures& figures) { epoch(at, text_of(figures)); }
  void epoch(const ProgressAt& at, const std::string& figures);
  /// Prints another line.
  void message(const std::string& line);

  /// "   loss 0.5   validation 0.6".
  static std::string text_of(const Figures& figures);

 private:
  void show_bar(const ProgressAt& at, const std::string& figures);
  void clear();

  bool terminal_;
  bool drawn_ = false;     ///< the cursor's line has a bar
  double last_;            ///< time of the last step shown
  double began_ = 0;       ///< time of the epoch's first step shown
  int64_t began_at_ = -1;  ///< and the number of that step
  int64_t began_epoch_ = -1;
};

}  // namespace graphc::core
