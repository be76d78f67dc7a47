// SPDX-License-Identifier: Apache-2.0
// train --plot: learning curves, and what was forecast, as an SVG file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "frontend/plot.h"
#include "models/program.h"

namespace graphc::core::commands {

/// Draws the figures of epochs over their numbers, one panel for each figure ("loss" of train and
/// valid together), and the lines of the end. The file is written anew after every epoch.
class TrainPlot {
 public:
  /// An empty path draws nothing.
  explicit TrainPlot(std::string path) : path_(std::move(path)) {}

  /// Throws ErrorKind::resource when the file cannot be written.
  void take(const TrainEvent& event);

 private:
  void draw(const std::vector<TrainLine>& lines) const;

  std::string path_;
  std::map<std::string, std::map<std::string, PlotLine>> figures_;  ///< by figure, by line
};

}  // namespace graphc::core::commands
