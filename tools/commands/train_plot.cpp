// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/train_plot.h"

namespace graphc::core::commands {

void TrainPlot::take(const TrainEvent& event) {
  if (path_.empty() || event.event == "step" || event.event == "sample") return;
  const bool end = event.event == "end";
  for (const Metric& metric : event.metrics) {
    // "valid_rmse" is line `valid` of the figure `rmse`; a test is a number, not a curve.
    const size_t part = metric.name.find('_');
    if (end || part == metric.name.npos) continue;
    PlotLine& line = figures_[metric.name.substr(part + 1)][metric.name];
    line.name = metric.name;
    line.x.push_back(double(event.epoch + 1));
    line.y.push_back(metric.value);
  }
  draw(event.lines);
}

void TrainPlot::draw(const std::vector<TrainLine>& lines) const {
  std::vector<PlotPanel> panels;
  for (const auto& [figure, curves] : figures_) {
    // The naive forecast lies beside the one that is learned.
    const bool naive = figure.starts_with("naive_") && figures_.contains(figure.substr(6));
    if (naive) continue;
    PlotPanel panel{.title = figure, .x_name = "epoch", .lines = {}};
    for (const auto& [name, line] : curves) panel.lines.push_back(line);
    if (const auto beside = figures_.find("naive_" + figure); beside != figures_.end()) {
      for (const auto& [name, line] : beside->second) panel.lines.push_back(line);
    }
    panels.push_back(std::move(panel));
  }
  if (!lines.empty()) {
    PlotPanel panel{.title = "test", .x_name = "row of the test", .lines = {}};
    for (const TrainLine& line : lines)
      panel.lines.push_back({.name = line.name, .y = line.values});
    panels.push_back(std::move(panel));
  }
  plot(path_, panels);
}

}  // namespace graphc::core::commands
