// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "runtime/clock.h"
#include "runtime/streams.h"

namespace graphc::core::commands {
namespace {

constexpr double kSecondsBetweenLines = 2, kSecondsBetweenBars = 0.1;
constexpr int kBarWidth = 24;

std::string measured(const TrainEvent& event) {
  std::string line;
  const auto add = [&](std::string_view name, const std::optional<double>& value) {
    if (value) line += fmt::format("   {} {:.6g}", name, *value);
  };
  add("loss", event.loss);
  const bool of_text = event.unit == "words" || event.unit == "characters";
  if (event.loss && event.words_per_s && of_text) add("perplexity", std::exp(*event.loss));
  for (const Metric& metric : event.metrics) {
    std::string words = metric.name;
    std::ranges::replace(words, '_', ' ');
    add(words, metric.value);
  }
  if (event.words_per_s) line += fmt::format("   {:.0f} {}/s", *event.words_per_s, event.unit);
  return line;
}

std::string duration(double seconds) {
  const auto whole = int64_t(std::ceil(seconds));
  return whole < 3600 ? fmt::format("{}:{:02}", whole / 60, whole % 60)
                      : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

/// Columns of the terminal; 80 where it does not say.
size_t columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/// Whether stderr is a terminal that can move its cursor.
bool is_terminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace

Progress::Progress() : terminal_(is_terminal()), last_(-kSecondsBetweenLines) {}

void Progress::clear() {
  if (drawn_) write_stderr("\r\033[K");
  drawn_ = false;
}

void Progress::show(const TrainEvent& event) {
  if (event.event == "step") return show_step(event);
  clear();
  if (event.event == "sample") {
    write_message(event.text);
  } else if (event.event == "end") {
    if (!event.text.empty()) write_message(event.text);
    write_message(fmt::format("end       {} steps{}", event.step, measured(event)));
  } else {
    write_message(
        fmt::format("epoch {}   step {}{}", event.epoch + 1, event.step, measured(event)));
  }
}

void Progress::show_step(const TrainEvent& event) {
  const double now = steady_seconds();
  if (began_epoch_ != event.epoch) {
    began_epoch_ = event.epoch;
    began_ = now;
    began_at_ = event.epoch_step;
  }
  const bool bar = terminal_ && event.epoch_steps > 0;
  // The first step is always shown.
  if (now - last_ < (bar ? kSecondsBetweenBars : kSecondsBetweenLines)) return;
  last_ = now;
  if (bar) {
    show_bar(event);
  } else {
    write_message(
        fmt::format("epoch {}   step {}{}", event.epoch + 1, event.step, measured(event)));
  }
}

void Progress::show_bar(const TrainEvent& event) {
  const double done = double(event.epoch_step) / double(event.epoch_steps);
  const int full = int(done * kBarWidth);
  std::string line =
      fmt::format("epoch {}/{} [{}{}] {:3.0f} %{}", event.epoch + 1, event.epochs,
                  std::string(size_t(full), '='), std::string(size_t(kBarWidth - full), ' '),
                  100 * done, measured(event));
  if (event.epoch_step > began_at_) {
    const double each = (steady_seconds() - began_) / double(event.epoch_step - began_at_);
    line +=
        fmt::format("   {} left", duration(each * double(event.epoch_steps - event.epoch_step)));
  }
  // A line that wraps could not be drawn over.
  write_stderr(fmt::format("\r{}\033[K", line.substr(0, columns() - 1)));
  drawn_ = true;
}

}  // namespace graphc::core::commands
