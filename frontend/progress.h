// SPDX-License-Identifier: Apache-2.0
// What people see on stderr while a model trains: on a terminal a bar that moves, elsewhere a line
// now and then; a line for every epoch.
#pragma once

#include <cstdint>
#include <string>

#include "frontend/tensorboard.h"

namespace graphc::core {

/// Where a training is. Of numbers that are 0 nothing is shown.
struct ProgressAt {
  int64_t epoch = 0;   ///< from 0
  int64_t epochs = 0;  ///< of the training
  int64_t done = 0;    ///< steps of this epoch that are done
  int64_t steps = 0;   ///< steps of an epoch
  int64_t step = 0;    ///< steps done since the beginning
};

/// `Progress progress;`, then after each step `progress.step({.epoch = epoch, .epochs = 30, .done =
/// i + 1, .steps = 20}, {{"loss", loss}})`, and after each epoch `progress.epoch(...)`.
class Progress {
 public:
  Progress();
  /// Leaves the cursor at the beginning of a line.
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows a step, if none was shown lately: of a bar ten a second, of lines one in two seconds.
  void step(const ProgressAt& at, const Figures& figures) { step(at, text_of(figures)); }
  void step(const ProgressAt& at, const std::string& figures);
  /// A line for the epoch.
  void epoch(const ProgressAt& at, const Figures& figures) { epoch(at, text_of(figures)); }
  void epoch(const ProgressAt& at, const std::string& figures);
  /// Another line.
  void message(const std::string& line);

  /// "   loss 0.5   validation 0.6".
  static std::string text_of(const Figures& figures);

 private:
  void show_bar(const ProgressAt& at, const std::string& figures);
  void clear();

  bool terminal_;
  bool drawn_ = false;     ///< a bar stands on the line of the cursor
  double last_;            ///< when a step was shown
  double began_ = 0;       ///< when the epoch's first step was shown
  int64_t began_at_ = -1;  ///< and which step of it that was
  int64_t began_epoch_ = -1;
};

}  // namespace graphc::core
