// SPDX-License-Identifier: Apache-2.0
// Plots as SVG files for browsers: lines over a common axis, in panels one below the other.
#pragma once

#include <concepts>
#include <filesystem>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace graphc::core {

/// The numbers of a line: a vector of doubles, converted from any range of numbers, such as the
/// floats of Tensor::to_vector().
class PlotNumbers : public std::vector<double> {
 public:
  using std::vector<double>::vector;
  PlotNumbers(std::vector<double> numbers) : std::vector<double>(std::move(numbers)) {}
  template <std::ranges::input_range Numbers>
    requires(std::is_arithmetic_v<std::remove_cvref_t<std::ranges::range_reference_t<Numbers>>> &&
             !std::derived_from<std::remove_cvref_t<Numbers>, std::vector<double>>)
  PlotNumbers(const Numbers& numbers) {
    for (const auto number : numbers) push_back(double(number));
  }
};

/// A line through points (x, y), interrupted where y is NaN. Default x: 0, 1, 2, ...
struct PlotLine {
  std::string name;
  PlotNumbers y;
  PlotNumbers x = {};
};

/// Lines over a common axis.
struct PlotPanel {
  std::string title;
  std::string x_name;
  std::vector<PlotLine> lines;
};

/// The panels as SVG, each with axes and a legend. Throws ErrorKind::input for a line with
/// different numbers of x and y.
std::string plot_svg(const std::vector<PlotPanel>& panels);

/// Writes plot_svg() to a file, atomically: `plot("fit.svg", {{"test", "row", {{"load", truth},
/// {"forecast", forecast}}}})`. Throws ErrorKind::resource if it cannot be written.
void plot(const std::filesystem::path& path, const std::vector<PlotPanel>& panels);

}  // namespace graphc::core
