// SPDX-License-Identifier: Apache-2.0
#include "frontend/plot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/error.h"
#include "runtime/files/files.h"

namespace graphc::core {
namespace {

constexpr double kWidth = 760, kHeight = 300;  // of a panel
constexpr double kLeft = 70, kRight = 170, kTop = 34, kBottom = 44;
constexpr size_t kMostPoints = 2000;
// A palette for colour-blind readers (Okabe and Ito 2008).
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                    "#e69f00", "#56b4e9", "#000000"};

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '&') {
      result += "&amp;";
    } else if (c == '"') {
      result += "&quot;";
    } else if (uint8_t(c) >= ' ') {
      result += c;
    }
  }
  return result;
}

/// An axis: its range of numbers and its position in the picture.
struct PlotAxis {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  double from = 0, to = 0;

  void take(double number) {
    if (!std::isfinite(number)) return;
    low = std::min(low, number);
    high = std::max(high, number);
  }
  /// Makes the range valid: it may be empty or a single number.
  void close() {
    if (low > high) low = 0, high = 1;
    if (low == high) low -= 0.5, high += 0.5;
  }
  double place(double number) const { return from + (to - from) * ((number - low) / (high - low)); }
  /// About five round numbers in the range.
  std::vector<double> ticks() const {
    const double rough = (high - low) / 5, power = std::pow(10, std::floor(std::log10(rough)));
    const double step = power * (rough / power < 1.5   ? 1
                                 : rough / power < 3.5 ? 2
                                 : rough / power < 7.5 ? 5
                                                       : 10);
    std::vector<double> result;
    for (double i = std::ceil(low / step); i * step <= high && result.size() < 20; ++i)
      result.push_back(i * step);
    return result;
  }
};

double x_of(const PlotLine& line, size_t i) { return line.x.empty() ? double(i) : line.x[i]; }

std::string path_of(const PlotLine& line, const PlotAxis& x, const PlotAxis& y) {
  std::string path;
  bool pen = false;
  const size_t stride = line.y.size() / kMostPoints + 1;
  for (size_t i = 0; i < line.y.size(); i += stride) {
    const bool drawn = std::isfinite(line.y[i]) && std::isfinite(x_of(line, i));
    if (drawn) {
      path += fmt::format("{}{:.1f} {:.1f}", pen ? "L" : "M", x.place(x_of(line, i)),
                          y.place(line.y[i]));
    }
    // An isolated point is drawn as a dot.
    if (drawn && !pen) path += "h0";
    pen = drawn;
  }
  return path;
}

std::string panel_svg(const PlotPanel& panel, double top) {
  PlotAxis x{.from = kLeft, .to = kWidth - kRight};
  PlotAxis y{.from = top + kHeight - kBottom, .to = top + kTop};
  for (const PlotLine& line : panel.lines) {
    if (!line.x.empty() && line.x.size() != line.y.size()) {
      throw input_error({}, "a line of a plot, '{}', has {} x and {} y: wanted as many", line.name,
                        line.x.size(), line.y.size());
    }
    for (size_t i = 0; i < line.y.size(); ++i) {
      y.take(line.y[i]);
      if (std::isfinite(line.y[i])) x.take(x_of(line, i));
    }
  }
  x.close();
  y.close();
  std::string svg = fmt::format(
      "<text x=\"{:.0f}\" y=\"{:.0f}\" font-weight=\"bold\">{}</text>\n"
      "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" fill=\"none\" "
      "stroke=\"#888\"/>\n",
      kLeft, top + 20, escaped(panel.title), kLeft, y.to, x.to - x.from, y.from - y.to);
  for (const double tick : x.ticks()) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:.6g}</text>\n",
                       x.place(tick), y.from + 16, tick);
  }
  for (const double tick : y.ticks()) {
    svg += fmt::format(
        "<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"#ddd\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:.6g}</text>\n",
        x.from, y.place(tick), x.to, x.from - 6, y.place(tick) + 4, tick);
  }
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                     (x.from + x.to) / 2, y.from + 34, escaped(panel.x_name));
  for (size_t i = 0; i < panel.lines.size(); ++i) {
    const char* colour = kColours[i % std::size(kColours)];
    svg += fmt::format(
        "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" "
        "stroke-linecap=\"round\"/>\n<text x=\"{:.0f}\" y=\"{:.0f}\" fill=\"{}\">{}</text>\n",
        path_of(panel.lines[i], x, y), colour, x.to + 10, y.to + 14 + 16 * double(i), colour,
        escaped(panel.lines[i].name));
  }
  return svg;
}

}  // namespace

std::string plot_svg(const std::vector<PlotPanel>& panels) {
  const double height = kHeight * double(std::max<size_t>(panels.size(), 1));
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" width=\"{:.0f}\" "
      "height=\"{:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kWidth, height, kWidth, height);
  for (size_t i = 0; i < panels.size(); ++i) svg += panel_svg(panels[i], kHeight * double(i));
  return svg + "</svg>\n";
}

void plot(const std::filesystem::path& path, const std::vector<PlotPanel>& panels) {
  write_file_atomically(path, plot_svg(panels));
}

}  // namespace graphc::core
