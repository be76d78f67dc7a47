// SPDX-License-Identifier: Apache-2.0
// The innermost loops of nests have what each vector needs and no more: addresses of rows are
// computed before, and whole vectors of short bodies have no mask.
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>

#include "codegen/targets/cpu/machine.h"
#include "ir/text.h"
#include "tests/codegen/cpu/any_cpu.h"
#include "tests/codegen/cpu/code_of.h"

namespace graphc::core::cpu {
namespace {

using MachineCode = std::vector<Instruction>;

/// The bodies of loops that have no loop inside, from their first instruction to the jump back.
std::vector<MachineCode> innermost_loops(const MachineCode& code) {
  std::vector<int64_t> begins{0};
  for (const Instruction& in : code) begins.push_back(begins.back() + int64_t(in.bytes.size()));
  std::vector<std::pair<size_t, size_t>> loops;
  for (size_t i = 0; i < code.size(); ++i) {
    static const std::regex jump(R"(^j[a-z]+ +(-\d+)$)");
    std::smatch found;
    if (!std::regex_search(code[i].text, found, jump)) continue;
    const int64_t target = begins[i + 1] + std::atoll(found[1].str().c_str());
    const auto at = std::ranges::find(begins, target);
    if (at != begins.end()) loops.emplace_back(size_t(at - begins.begin()), i);
  }
  std::vector<MachineCode> inner;
  for (const auto& [first, last] : loops) {
    const bool has_another = std::ranges::any_of(loops, [&](const auto& other) {
      return other.first >= first && other.second <= last && other != std::pair(first, last);
    });
    if (!has_another)
      inner.emplace_back(code.begin() + int64_t(first), code.begin() + int64_t(last) + 1);
  }
  return inner;
}

constexpr const char* kLevelsOfLoops[] = {"x86-64", "x86-64-v3", "x86-64-v4"};

/// A map over rows; sums along rows, and over rows, of a matrix that is stored as well.
constexpr const char* kGraphs[] = {
    R"(graph @f(%x: f32[50,80], %y: f32[50,80], %z: f32[50,1]) {
         %a = mul %x, %z
         return add(%a, %y)
       })",
    R"(graph @f(%x: f32[50,80], %y: f32[50,80]) {
         %a = mul %x, %y
         return %a, sum(%a) {axes = [1]}
       })",
    R"(graph @f(%x: f32[50,80], %y: f32[50,80], %z: f32[50,1]) {
         %a = mul %x, %y
         %b = mul %a, %z
         return %a, sum(%b) {axes = [0]}
       })"};

TEST(InnermostLoops, MultiplyNoAddresses) {
  // Without masks of vectors, a loop has a branch for each lane of its rest.
  for (const char* level : {"x86-64-v3", "x86-64-v4"}) {
    for (const char* text : kGraphs) {
      SCOPED_TRACE(fmt::format("{}: {}", level, text));
      int64_t over_elements = 0;
      for (const MachineCode& loop :
           innermost_loops(code_of(parse_graph(text), any_cpu(level), {}))) {
        if (!any_of(loop, "mulps")) continue;
        EXPECT_EQ(count_of(loop, "imul"), 0);
        ++over_elements;
      }
      EXPECT_GE(over_elements, 1);
    }
  }
}

TEST(InnermostLoops, OfShortBodiesHaveNoMasks) {
  for (const char* level : kLevelsOfLoops) {
    SCOPED_TRACE(level);
    const std::vector<MachineCode> loops =
        innermost_loops(code_of(parse_graph(kGraphs[0]), any_cpu(level), {}));
    // Two loads, of which one may be in the multiplication, two operations and a store; the index.
    EXPECT_TRUE(std::ranges::any_of(loops, [](const MachineCode& loop) {
      return any_of(loop, "mulps") && !any_of(loop, R"(mask|%k\d)") && loop.size() <= 9;
    }));
  }
}

}  // namespace
}  // namespace graphc::core::cpu
