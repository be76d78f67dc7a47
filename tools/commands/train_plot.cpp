// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/train_plot.h"

#include <cstdlib>
#include <sstream>
#include <utility>

#include "ir/utf8.h"
#include "runtime/files/files.h"

namespace graphc::core::commands {

TrainPlot::TrainPlot(std::string path) : path_(std::move(path)) {
  if (!path_.empty()) AtomicFile{path_};  // writes nothing; throws if it could not
}

void TrainPlot::add(int64_t epoch, const std::string& name, double value) {
  // "valid_rmse" is the line `valid` of the figure `rmse`.
  const size_t part = name.find('_');
  if (part == name.npos) return;
  PlotLine& line = figures_[name.substr(part + 1)][name];
  line.name = name;
  line.x.push_back(double(epoch));
  line.y.push_back(value);
}

void TrainPlot::resume(const Notes& notes) {
  const auto note = notes.find(kCurveNote);
  if (note == notes.end()) return;
  std::istringstream lines(note->second);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    int64_t epoch = 0;
    std::string name, number;
    words >> epoch >> name >> number;
    char* end = nullptr;
    const double value = std::strtod(number.c_str(), &end);
    if (!words || *end != '\0') {
      throw input_error({},
                        "the checkpoint's note '{}' has '{}': wanted an epoch, a name, a number",
                        kCurveNote, printable(line));
    }
    add(epoch, name, value);
  }
}

std::string TrainPlot::note() const {
  std::string text;
  for (const auto& [figure, curves] : figures_) {
    for (const auto& [name, line] : curves) {
      for (size_t i = 0; i < line.x.size(); ++i)
        text += fmt::format("{} {} {:a}\n", int64_t(line.x[i]), name, line.y[i]);
    }
  }
  return text;
}

void TrainPlot::take(const TrainEvent& event) {
  if (event.event == "step" || event.event == "sample") return;
  is_new_ = true;
  if (event.event != "end") {
    for (const Metric& metric : event.metrics) add(event.epoch + 1, metric.name, metric.value);
    return;
  }
  // A test is a number, not a curve.
  lines_ = event.lines;
}

void TrainPlot::draw() {
  if (path_.empty() || !std::exchange(is_new_, false)) return;
  std::vector<PlotPanel> panels;
  for (const auto& [figure, curves] : figures_) {
    // The naive forecast is shown with the learned one.
    const bool naive = figure.starts_with("naive_") && figures_.contains(figure.substr(6));
    if (naive) continue;
    PlotPanel panel{.title = figure, .x_name = "epoch", .lines = {}};
    for (const auto& [name, line] : curves) panel.lines.push_back(line);
    if (const auto beside = figures_.find("naive_" + figure); beside != figures_.end()) {
      for (const auto& [name, line] : beside->second) panel.lines.push_back(line);
    }
    panels.push_back(std::move(panel));
  }
  if (!lines_.empty()) {
    PlotPanel panel{.title = "test", .x_name = "row of the test", .lines = {}};
    for (const TrainLine& line : lines_)
      panel.lines.push_back({.name = line.name, .y = line.values});
    panels.push_back(std::move(panel));
  }
  plot(path_, panels);
}

}  // namespace graphc::core::commands
