// SPDX-License-Identifier: Apache-2.0
// What holds for every target by its record: that tests go over it, what it shows, what it refuses.
#include "tests/testing/targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "ir/text.h"
#include "tests/testing/expect_error.h"

namespace graphc::core::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kProduct = R"(
  graph @product(%x: f32[7,9], %w: f32[9,24], %b: f32[24]) {
    return tanh(add(matmul(%x, %w), %b))
  })";
constexpr const char* kLoop = R"(
  graph @loop(%x: f32[5,4], %h: f32[4]) {
    %y, %end = scan %x.t in %x carry %h.t = %h {
      %n = sigmoid(add(%h.t, %x.t))
      next %h.t = %n
      emit %n
    }
    return sum(%y) {axes = [0]}, %end
  })";

TEST(Targets, OfTheBuildAndOfTestsAreAllGoneOver) {
  const std::vector<TestTarget>& rows = all_test_targets();
  for (const Target* target : all_targets())
    EXPECT_EQ(std::ranges::count(rows, target, &TestTarget::target), 1) << target->name;
  std::vector<std::string> found;
  for (const TargetLevel& level : all_target_levels()) found.push_back(level.text());
  std::ranges::sort(found);
  EXPECT_EQ(std::ranges::adjacent_find(found), found.end());
  EXPECT_GE(found.size(), rows.size());
}

TEST(Targets, OfManyGraphsEachHasItsShareAtEveryLevel) {
  std::map<std::string, unsigned> graphs;
  const unsigned all = 6 * 11 * 23;
  for (unsigned seed = 0; seed < all; ++seed) {
    for (const TargetLevel& level : target_levels_for(seed, seed / 6)) ++graphs[level.text()];
  }
  EXPECT_EQ(graphs.size(), all_target_levels().size());
  for (const TargetLevel& level : all_target_levels()) {
    const size_t levels = level.target().cpus == nullptr ? 1 : level.target().cpus().size();
    EXPECT_NEAR(double(graphs[level.text()]), all / double(level.of->cost * levels), 6)
        << level.text();
  }
}

TEST(Targets, GetTheOptionsTheyTakeAndNoOthers) {
  const CompileOptions wanted{.variant = "basic", .unroll = "3", .threads = 3};
  for (const TargetLevel& level : all_target_levels()) {
    const CompileOptions options = level.options(wanted);
    EXPECT_EQ(options.variant, level.takes("variant") ? "basic" : "fused") << level.text();
    EXPECT_EQ(options.unroll, level.takes("unroll") ? "3" : "auto") << level.text();
    EXPECT_EQ(options.threads, level.takes("threads") ? 3 : 0) << level.text();
    EXPECT_EQ(options.architecture.empty(), !level.takes("cpu")) << level.text();
  }
}

TEST(Targets, ShowTextAtEachStageThatSaysWhatTheGraphIs) {
  int shown = 0;
  for (const TargetLevel& level : all_target_levels()) {
    EXPECT_EQ(level.target().show == nullptr, level.target().stages.empty()) << level.text();
    for (std::string_view stage : level.target().stages) {
      SCOPED_TRACE(fmt::format("{} {}", level.text(), stage));
      const auto text = [&](const char* graph, const char* variant) {
        return level.target().show(parse_graph(graph),
                                   level.options({.variant = variant, .threads = 2}), stage);
      };
      const std::string product = text(kProduct, "fused"), loop = text(kLoop, "fused");
      EXPECT_GT(product.size(), 100u);
      EXPECT_EQ(product, text(kProduct, "fused")) << "not the same twice";
      EXPECT_NE(product, loop);
      if (level.takes("variant")) {
        EXPECT_NE(loop, text(kLoop, "unrolled"));
      }
      ++shown;
    }
  }
  EXPECT_GE(shown, 5);
}

TEST(Targets, HaveThePrecisionsOfTheirRecordAndNoOthers) {
  for (const TargetLevel& level : all_target_levels()) {
    ASSERT_FALSE(level.target().precisions.empty());
    CompileReport report;
    CompileOptions options = level.options({.threads = 1});
    for (const Precision precision : all_precisions()) {
      options.precision = precision;
      if (std::ranges::find(level.target().precisions, precision) ==
          level.target().precisions.end()) {
        EXPECT_THAT(error_of(ErrorKind::usage,
                             [&] { compile(parse_graph(kLoop), level.target(), options, report); }),
                    HasSubstr(fmt::format("has no precision '{}'", name_of(precision))));
        continue;
      }
      EXPECT_EQ(precision_of(level.target(), name_of(precision)), precision);
      try {
        if (level.target().check_options != nullptr) level.target().check_options(options);
      } catch (const Error& error) {  // a lesser processor
        EXPECT_EQ(error.kind(), ErrorKind::resource);
        EXPECT_THAT(error.what(),
                    HasSubstr(fmt::format("precision '{}' needs", name_of(precision))));
        continue;
      }
      const auto executable = compile(parse_graph(kLoop), level.target(), options, report);
      for (const Argument& output : executable->signature().outputs)
        EXPECT_EQ(output.type.dtype, precision == Precision::f64 ? DType::f64 : DType::f32);
    }
    EXPECT_THAT(
        error_of(ErrorKind::usage, [&] { precision_of(level.target(), "f24"); }),
        HasSubstr(fmt::format("target '{}' has no precision 'f24': it has {}", level.target().name,
                              fmt::join(names_of(level.target().precisions), ", "))));
  }
}

TEST(Targets, StoreEachTypeAsThePrecisionSays) {
  for (const TargetLevel& level : all_target_levels()) {
    for (const Precision precision : level.target().precisions) {
      CompileOptions options = level.options({.threads = 1});
      options.precision = precision;
      for (const DType dtype : {DType::f32, DType::bf16, DType::f64, DType::i32, DType::i64}) {
        SCOPED_TRACE(fmt::format("{} {} {}", level.text(), name_of(precision), name_of(dtype)));
        const Type type{dtype, {3}};
        const GraphPtr graph =
            parse_graph(fmt::format("graph @f(%x: {}) {{ return add(%x, %x) }}", to_string(type)));
        CompileReport report;
        std::unique_ptr<Executable> executable;
        try {
          executable = compile(graph, level.target(), options, report);
        } catch (const Error& error) {  // a lesser processor
          ASSERT_EQ(error.kind(), ErrorKind::resource) << error.what();
          continue;
        }
        const Type stored = stored_type(type, precision);
        ASSERT_EQ(executable->signature().inputs[0].type, stored);
        ASSERT_EQ(executable->signature().outputs[0].type, stored);
        const std::vector<Tensor> inputs{Literal::filled(stored, 1.5)};
        std::vector<Tensor> outputs{Tensor(stored)};
        executable->run(inputs, outputs);
        EXPECT_EQ(outputs[0].literal().element(2), is_floating(dtype) ? 3 : 2);
      }
    }
  }
}

TEST(Targets, RunHere) {
  std::string reasons;
  for (const TestTarget& row : all_test_targets()) {
    const std::string reason = row.target->unavailable();
    if (reason.empty()) continue;
    reasons += fmt::format("{}: {}\n", row.target->name, reason);
    CompileReport report;
    EXPECT_THAT(error_of(ErrorKind::resource,
                         [&] { compile(parse_graph(kLoop), *row.target, {}, report); }),
                HasSubstr("cannot run here"));
  }
  if (!reasons.empty()) GTEST_SKIP() << "needs a GPU: " << reasons;
}

}  // namespace
}  // namespace graphc::core::testing
