// SPDX-License-Identifier: Apache-2.0
// Steps that are written and read back, and damaged ones.
#include "codegen/step/serialize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "codegen/compile.h"
#include "codegen/lower/lower.h"
#include "codegen/targets/cuda/machine.h"
#include "tests/codegen/replay_plan.h"
#include "tests/passes/cells.h"
#include "tests/passes/values.h"
#include "tests/testing/confused_graph.h"
#include "tests/testing/counts.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/random_graph.h"

namespace graphc::core {
namespace {

using ::testing::HasSubstr;

Plan step_of(const GraphPtr& graph, const Machine& machine, const std::string& variant = "fused") {
  CompileReport report;
  return make_plan(*form_kernels_for(graph, {.variant = variant}, report), machine);
}

void expect_same(const Plan& plan, const std::string& name) {
  const std::string text = step_text(plan);
  const Plan read = parse_step(text);
  EXPECT_EQ(step_text(read), text) << name;
  // Another account of it, which knows nothing of the fields.
  EXPECT_EQ(print(read), print(plan)) << name;
  for (size_t i = 0; i < plan.programs.size(); ++i)
    EXPECT_EQ(read.programs[i].text(), plan.programs[i].text()) << name;
}

TEST(StepText, ReadsBack) {
  for (unsigned seed = 1; seed <= 30 && !HasFailure(); ++seed) {
    const GraphPtr graph = testing::confused_graph(seed, {.gradient = seed % 2 == 0});
    expect_same(step_of(graph, testing::machine_like(seed, 1 + int(seed % 3))),
                fmt::format("confused graph {}", seed));
  }
  for (const testing::Cell& cell : testing::all_cells()) {
    const GraphPtr graph = testing::with_gradients(testing::parse_cell(cell));
    expect_same(step_of(graph, testing::machine_like(0, 2)), std::string(cell.name));
    expect_same(step_of(graph, cuda::gpu_machine()), std::string(cell.name));
  }
}

std::string sample() {
  const GraphPtr graph = testing::with_gradients(testing::parse_cell(testing::all_cells()[0]));
  return step_text(step_of(graph, testing::machine_like(0, 2)));
}

/// The sample with the first `from` replaced.
std::string changed(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(StepText, SaysWhatIsWrongAndWhere) {
  const std::string text = sample();
  const auto error = [](const std::string& damaged) {
    return testing::error_of(ErrorKind::input, [&] { parse_step(damaged); });
  };
  EXPECT_THAT(error(text.substr(0, text.size() / 2)), HasSubstr("step: not JSON"));
  EXPECT_THAT(error("[]"), HasSubstr("step: the text: expected an object: found []"));
  EXPECT_THAT(error(std::string(1000, '[')), HasSubstr("at most 200 levels"));
  EXPECT_THAT(error(changed(text, "\"buffers\"", "\"bufers\"")),
              HasSubstr("step: bufers: expected no field of this name"));
  EXPECT_THAT(error(changed(text, "\"place\": \"input\"", "\"place\": \"inputs\"")),
              HasSubstr("expected one of arena, input, state, output, constant, form: found "
                        "\"inputs\""));
  EXPECT_THAT(error(changed(text, "\"bytes\": ", "\"bytes\": -")),
              HasSubstr("bytes: expected 0 to 281474976710656: found -"));
  EXPECT_THAT(error(changed(text, "\"rows\": ", "\"rows\": 1000")), HasSubstr("bytes"));
  EXPECT_THAT(error(changed(text, "\"nest\": {", "\"nests\": {")),
              HasSubstr("expected one call (nest, panels, table, extern, loop or block)"));
}

/// Numbers of a step at random: what is read walks inside its buffers, or is refused.
TEST(StepText, WithOtherNumbersIsRefusedOrStaysInItsBuffers) {
  const std::string text = sample();
  std::mt19937 random(7);
  int refused = 0, read = 0;
  for (int round = 0; round < 150; ++round) {
    std::string damaged = text;
    const size_t from = random() % text.size();
    const size_t at = damaged.find_first_of("0123456789", from);
    if (at == std::string::npos) continue;
    const char* const numbers[] = {"-1",
                                   "9",
                                   "4294967296",
                                   "9223372036854775807",
                                   "-9223372036854775808",
                                   "18446744073709551615",
                                   "0"};
    size_t end = at;
    while (std::isdigit(uint8_t(damaged[end]))) ++end;
    damaged.replace(at, end - at, numbers[random() % 7]);
    try {
      check_step(parse_step(damaged));
      ++read;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 20);
  EXPECT_GT(read, 3);
  testing::count("damaged steps", refused + read);
}

}  // namespace
}  // namespace graphc::core
