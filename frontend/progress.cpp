// SPDX-License-Identifier: Apache-2.0
#include "frontend/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <string_view>

#include "runtime/clock.h"
#include "runtime/streams.h"

namespace graphc::core {
namespace {

constexpr double kSecondsBetweenLines = 2, kSecondsBetweenBars = 0.1;
constexpr int kBarWidth = 24;

std::string duration(double seconds) {
  const auto whole = int64_t(std::ceil(seconds));
  return whole < 3600 ? fmt::format("{}:{:02}", whole / 60, whole % 60)
                      : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

/// The width of the terminal; 80 if unknown.
size_t columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/// Whether stderr is a terminal with a movable cursor.
bool is_terminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

std::string line_of(const ProgressAt& at, const std::string& figures) {
  const std::string step = at.step > 0 ? fmt::format("   step {}", at.step) : "";
  return fmt::format("epoch {}{}{}", at.epoch + 1, step, figures);
}

}  // namespace

Progress::Progress() : terminal_(is_terminal()), last_(-kSecondsBetweenLines) {}

void Progress::clear() {
  if (drawn_) write_stderr("\r\033[K");
  drawn_ = false;
}

std::string Progress::text_of(const Figures& figures) {
  std::string text;
  for (const auto& [name, value] : figures) text += fmt::format("   {} {:.6g}", name, value);
  return text;
}

void Progress::message(const std::string& line) {
  clear();
  write_message(line);
}

void Progress::epoch(const ProgressAt& at, const std::string& figures) {
  message(line_of(at, figures));
}

void Progress::step(const ProgressAt& at, const std::string& figures) {
  const double now = steady_seconds();
  if (began_epoch_ != at.epoch) {
    began_epoch_ = at.epoch;
    began_ = now;
    began_at_ = at.done;
  }
  const bool bar = terminal_ && at.steps > 0;
  // The first step is always shown.
  if (now - last_ < (bar ? kSecondsBetweenBars : kSecondsBetweenLines)) return;
  last_ = now;
  if (bar) {
    show_bar(at, figures);
  } else {
    write_message(line_of(at, figures));
  }
}

void Progress::show_bar(const ProgressAt& at, const std::string& figures) {
  const double done = double(at.done) / double(at.steps);
  const int full = int(done * kBarWidth);
  const std::string epochs = at.epochs > 0 ? fmt::format("/{}", at.epochs) : "";
  std::string line = fmt::format("epoch {}{} [{}{}] {:3.0f} %{}", at.epoch + 1, epochs,
                                 std::string(size_t(full), '='),
                                 std::string(size_t(kBarWidth - full), ' '), 100 * done, figures);
  if (at.done > began_at_) {
    const double each = (steady_seconds() - began_) / double(at.done - began_at_);
    line += fmt::format("   {} left", duration(each * double(at.steps - at.done)));
  }
  // A wrapped line could not be overwritten.
  write_stderr(fmt::format("\r{}\033[K", line.substr(0, columns() - 1)));
  drawn_ = true;
}

}  // namespace graphc::core
