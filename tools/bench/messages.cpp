// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/messages.h"

#include <optional>
#include <set>
#include <string>

#include "frontend/remarks.h"
#include "ir/utf8.h"
#include "runtime/streams.h"
#include "tools/bench/report.h"

namespace graphc::core::bench {

void say_once(const std::string& line) {
  static std::set<std::string> said;
  if (said.insert(line).second) write_message(printable_message(line));
}

void show_progress(const Row& row, size_t done, size_t all) {
  std::string line = fmt::format("{}/{} {} {}: compiled in {:.4g} s, {} kernels", done, all,
                                 way_of(row.configuration), row.configuration.given,
                                 row.compile_s.median, row.compile.kernels);
  const auto step_text = [](const Timed& timed) {
    std::string text = fmt::format("{:.4g} ms a step", timed.step_s.median * 1e3);
    if (timed.enqueue_s)
      text += fmt::format(" ({:.4g} ms enqueue only)", timed.enqueue_s->median * 1e3);
    return text;
  };
  if (row.train) line += ", train " + step_text(*row.train);
  if (row.train && row.work && row.work->words > 0)
    line += fmt::format(", {:.0f} {}/s", double(row.work->words) / row.train->step_s.median,
                        row.work->unit);
  if (row.forward) line += ", forward " + step_text(*row.forward);
  write_message(line);
}

void show_notices(const Row& row) {
  if (row.configuration.compile.variant != CompileOptions{}.variant) return;
  for (const Remark& notice : notices(row.compile)) say_once(to_string(notice));
}

void show_speeds(const std::vector<Row>& rows, double peak) {
  std::string line =
      peak > 0 ? fmt::format("peak {:.1f} GFLOP/s, {} threads; fractions of it, train and forward:",
                             peak, rows[0].configuration.compile.threads)
               : "GFLOP/s, train and forward:";
  for (const Row& row : rows) {
    for (const Call call : {Call::train, Call::forward}) {
      const std::optional<Speed> speed = speed_of(row, call, peak);
      line += call == Call::train ? "  " : "/";
      if (!speed) {
        line += "-";
      } else {
        line += peak > 0 ? fmt::format("{:.3f}", speed->fraction.median)
                         : fmt::format("{:.1f}", speed->gflops.median);
      }
    }
  }
  write_message(line);
}

}  // namespace graphc::core::bench
