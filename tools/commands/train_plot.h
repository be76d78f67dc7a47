// SPDX-License-Identifier: Apache-2.0
// train --plot: learning curves and forecasts as an SVG file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "frontend/plot.h"
#include "models/program.h"

namespace graphc::core::commands {

/// The checkpoint note with the figures of the epochs so far.
inline constexpr const char* kCurveNote = "curve";

/// Collects the figures of epochs and plots them, one panel per figure ("loss" of train and valid
/// together), with the final lines.
class TrainPlot {
 public:
  /// An empty path disables the plot. Throws ErrorKind::resource if the file cannot be created, now
  /// instead of after the first epoch.
  explicit TrainPlot(std::string path);

  /// Continues with the figures in a checkpoint's notes. Throws ErrorKind::input for malformed
  /// notes.
  void resume(const Notes& notes);
  /// Records the figures of an epoch, and the final lines.
  void take(const TrainEvent& event);
  /// Plots if there is anything new; call it after everything else is saved. Throws
  /// ErrorKind::resource if the file cannot be written.
  void draw();
  /// The figures so far, for resume().
  std::string note() const;

 private:
  void add(int64_t epoch, const std::string& name, double value);

  std::string path_;
  std::map<std::string, std::map<std::string, PlotLine>> figures_;  ///< by figure and line
  std::vector<TrainLine> lines_;                                    ///< the final lines
  bool is_new_ = false;
};

}  // namespace graphc::core::commands
