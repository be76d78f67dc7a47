// SPDX-License-Identifier: Apache-2.0
// Fuzz target: formulas of einsum. The first line is one, each further line an operand: a digit is
// the extent of an axis.
#include <map>

#include "frontend/functions.h"
#include "tests/fuzz/fuzz.h"

namespace graphc::core::fuzz {
namespace {

/// The operands of the lines behind the first.
Values operands_of(std::string_view text, Graph& graph) {
  Values operands;
  while (!text.empty() && operands.size() < 4) {
    const size_t line = std::min(text.find('\n'), text.size());
    std::vector<int64_t> extents;
    for (const char c : text.substr(0, line)) {
      if (c >= '0' && c <= '9' && extents.size() < Shape::kMaxRank) extents.push_back(c - '0');
    }
    operands.push_back(graph.input({DType::f32, Shape(extents)}, "x"));
    text.remove_prefix(std::min(line + 1, text.size()));
  }
  return operands;
}

/// Each axis of the result has the extent that its letter has in the operands, where all have
/// letters.
void check_extents(std::string_view formula, const Values& operands, Value result) {
  if (formula.find("->") == formula.npos || formula.find('.') != formula.npos) return;
  std::string letters;
  for (const char c : formula) letters += c == ' ' ? "" : std::string(1, c);
  const size_t arrow = letters.find("->");
  std::map<char, int64_t> extents;
  for (size_t i = 0, operand = 0, axis = 0; i < arrow; ++i) {
    if (letters[i] == ',') {
      ++operand;
      axis = 0;
    } else {
      extents[letters[i]] = operands.at(operand).shape()[int(axis++)];
    }
  }
  std::vector<int64_t> wanted;
  for (const char c : letters.substr(arrow + 2)) wanted.push_back(extents.at(c));
  GRAPHC_CHECK(result.shape() == Shape(wanted), "'{}' is {}", formula, to_string(result.type()));
}

}  // namespace
}  // namespace graphc::core::fuzz

GRAPHC_FUZZ_TARGET(einsum)(const uint8_t* data, size_t size) {
  using namespace graphc::core;
  const std::string_view text = fuzz::text_of(data, size);
  const size_t line = std::min(text.find('\n'), text.size());
  const std::string formula(text.substr(0, line));
  auto graph = std::make_unique<Graph>("f");
  const Values operands = fuzz::operands_of(text.substr(std::min(line + 1, text.size())), *graph);
  fuzz::read_or_refused(ErrorKind::input, "", [&] {
    const Value result = einsum(formula, operands);
    graph->set_results({result});
    const GraphPtr frozen = freeze(std::move(graph));
    verify(*frozen);
    fuzz::check_extents(formula, operands, result);
  });
  return 0;
}
