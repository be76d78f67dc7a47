// SPDX-License-Identifier: Apache-2.0
// Plots as SVG files, which browsers show: lines over a common axis, panels below each other.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace graphc::core {

/// A line through points (x, y); it has a gap where y is NaN. Without x the places 0, 1, 2, ...
struct PlotLine {
  std::string name;
  std::vector<double> y;
  std::vector<double> x = {};
};

/// Lines over a common axis.
struct PlotPanel {
  std::string title;
  std::string x_name;
  std::vector<PlotLine> lines;
};

/// The panels as SVG, each with its axes and the names of its lines. Throws ErrorKind::input for a
/// line that has another number of x than of y.
std::string plot_svg(const std::vector<PlotPanel>& panels);

/// Writes plot_svg() to a file, whole or not at all: `plot("fit.svg", {{"test", "row", {{"load",
/// truth}, {"forecast", forecast}}}})`. Throws ErrorKind::resource when it cannot be written.
void plot(const std::filesystem::path& path, const std::vector<PlotPanel>& panels);

}  // namespace graphc::core
