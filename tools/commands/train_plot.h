// SPDX-License-Identifier: Apache-2.0
// train --plot: learning curves, and what was forecast, as an SVG file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "frontend/plot.h"
#include "models/program.h"

namespace graphc::core::commands {

/// The note of a checkpoint with the figures of the epochs before it.
inline constexpr const char* kCurveNote = "curve";

/// Keeps the figures of epochs, and draws them over their numbers, one panel for each figure
/// ("loss" of train and valid together), and the lines of the end.
class TrainPlot {
 public:
  /// An empty path draws nothing. Throws ErrorKind::resource when there can be no such file, now
  /// and not after the first epoch.
  explicit TrainPlot(std::string path);

  /// Goes on with the figures of a checkpoint's notes. Throws ErrorKind::input where they are none.
  void resume(const Notes& notes);
  /// Takes the figures of an epoch, and the lines of the end.
  void take(const TrainEvent& event);
  /// Draws, if there is anything new: call it once all else is saved. Throws ErrorKind::resource
  /// when the file cannot be written.
  void draw();
  /// The figures so far, as resume() reads them.
  std::string note() const;

 private:
  void add(int64_t epoch, const std::string& name, double value);

  std::string path_;
  std::map<std::string, std::map<std::string, PlotLine>> figures_;  ///< by figure, by line
  std::vector<TrainLine> lines_;                                    ///< of the end
  bool is_new_ = false;
};

}  // namespace graphc::core::commands
