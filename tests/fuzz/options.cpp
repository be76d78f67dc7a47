// SPDX-License-Identifier: Apache-2.0
// Fuzz target: the small languages of the command line: lists of passes, parameters of models,
// sweeps. Each line of the input is an argument.
#include <array>
#include <vector>

#include "models/parameters.h"
#include "passes/pipeline.h"
#include "tests/fuzz/fuzz.h"
#include "tools/bench/sweep.h"

namespace graphc::core::fuzz {
namespace {

constexpr std::array<ParameterRecord, 5> kRecords{{{"hidden", "512", "a whole number"},
                                                   {"rate", "0.5", "a number"},
                                                   {"cell", "lstm", "a choice"},
                                                   {"merged", "false", "a flag"},
                                                   {"note", "", "a text"}}};
constexpr std::array<std::string_view, 2> kCells{"lstm", "gru"};

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

void read_pipeline(std::string_view text) {
  const std::string written = to_text(parse_pipeline(text));
  GRAPHC_CHECK(to_text(parse_pipeline(written)) == written, "'{}' is written '{}'", text, written);
}

void read_parameters(const std::vector<std::string>& lines) {
  const Parameters parameters("model", kRecords, lines);
  GRAPHC_CHECK(parameters.integer("hidden") >= 1, "a number below the least");
  parameters.number("rate");
  parameters.flag("merged");
  GRAPHC_CHECK(parameters.choice("cell", kCells) < kCells.size(), "a choice there is not");
  parameters.text("note");
}

}  // namespace
}  // namespace graphc::core::fuzz

GRAPHC_FUZZ_TARGET(options)(const uint8_t* data, size_t size) {
  using namespace graphc::core;
  const std::string_view text = fuzz::text_of(data, size);
  const std::vector<std::string> lines = fuzz::lines_of(text);
  for (const std::string& line : lines)
    fuzz::read_or_refused(ErrorKind::usage, "", [&] { fuzz::read_pipeline(line); });
  fuzz::read_or_refused(ErrorKind::usage, "", [&] { fuzz::read_parameters(lines); });
  fuzz::read_or_refused(ErrorKind::usage, "", [&] { bench::combinations(lines); });
  return 0;
}
