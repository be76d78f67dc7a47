// SPDX-License-Identifier: Apache-2.0
// What the tests of loops whose blocks exchange fragments (counted_loop.h) have in common.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/compile.h"
#include "codegen/lower/lower.h"
#include "codegen/target.h"
#include "codegen/targets/cuda/launches/launches.h"
#include "tests/testing/samples.h"
#include "tests/testing/targets.h"
#include "tests/testing/wide_golden.h"

namespace graphc::core::testing {

/// What rounding of factors at other values may explain, relative to the largest element: sums in
/// another order differ by a rounding of f32, which may round a factor the other way.
struct CountedPrecision {
  Precision precision;
  double tolerance;
};
inline constexpr CountedPrecision kCountedPrecisions[] = {{Precision::bf16, 2e-2},
                                                          {Precision::fp16, 3e-3},
                                                          {Precision::tf32, 3e-3},
                                                          {Precision::tf32x3, 2e-5},
                                                          {Precision::f32, 3e-6}};

inline cuda::Launches launches_of(
    const GraphPtr& graph, Precision precision, const cuda::Gpu& gpu,
    std::optional<cuda::Placement> placement = cuda::Placement::cluster) {
  CompileReport report;
  const Plan plan =
      make_plan(*form_kernels_for(graph, {.precision = precision}, report, targets::cuda.kernels),
                cuda::gpu_machine(precision));
  return cuda::make_launches(plan, gpu, placement);
}

class CountedExchange : public ::testing::Test {
 protected:
  CountedExchange() { all_test_targets(); }
  ~CountedExchange() override {
    for (const char* name :
         {"GRAPHC_MOCK_MULTIPROCESSORS", "GRAPHC_MOCK_SEED", "GRAPHC_MOCK_SHARED"})
      unsetenv(name);
  }

  /// What the graph gives; adds up how many of its loops count, and how many are in clusters.
  static std::vector<Literal> results(const GraphPtr& graph, const std::vector<Literal>& inputs,
                                      Precision precision, std::optional<cuda::Placement> placement,
                                      int* counted = nullptr, int* clusters = nullptr) {
    CompileReport report;
    const auto executable = compile(
        graph, targets::cuda, {.precision = precision, .cuda = {.placement = placement}}, report);
    for (const Remark& remark : report.remarks) {
      const bool in_clusters = remark.text.find(" clusters of ") != std::string::npos;
      if (clusters != nullptr && in_clusters) ++*clusters;
      const std::string_view handed = placement == cuda::Placement::grid
                                          ? "handed on through memory"
                                          : "counted in by mbarriers";
      if (counted != nullptr && remark.text.find(handed) != std::string::npos) ++*counted;
    }
    std::vector<Tensor> arguments, outputs;
    for (size_t i = 0; i < inputs.size(); ++i)
      arguments.emplace_back(inputs[i].converted(graph->inputs()[i].dtype()));
    for (const Argument& output : executable->signature().outputs)
      outputs.emplace_back(output.type);
    executable->run(arguments, outputs);
    executable->run(arguments, outputs);
    std::vector<Literal> found;
    for (const Tensor& output : outputs) found.push_back(output.copy());
    return found;
  }

  /// A layer's size, and the multiprocessors of the device that it runs on.
  struct Size {
    const char* multiprocessors;
    int batch, hidden;
  };
  /// Expects that every cell, in one precision of each size in turn, gives with this placement what
  /// it gives streamed; of sizes with more columns than `all_up_to` one in three is tried. Counts
  /// as results() does.
  static void expect_agreement_of_cells(cuda::Placement placement, const std::vector<Size>& sizes,
                                        int all_up_to, int* counted, int* clusters = nullptr) {
    size_t number = 0;
    for (const std::string& cell : wide_cells()) {
      for (const auto& [multiprocessors, batch, hidden] : sizes) {
        const CountedPrecision& of = kCountedPrecisions[number++ % std::size(kCountedPrecisions)];
        if (hidden > all_up_to && !is_sampled(number, 3)) continue;
        setenv("GRAPHC_MOCK_MULTIPROCESSORS", multiprocessors, 1);
        setenv("GRAPHC_MOCK_SEED", std::to_string(number).c_str(), 1);
        const WideCase c{cell, 3, batch, hidden};
        SCOPED_TRACE(fmt::format("{}, multiprocessors: {}, precision {}", c.name(), multiprocessors,
                                 name_of(of.precision)));
        const GraphPtr graph = wide_layer(c, Derivatives::with);
        const auto wanted = results(graph, wide_inputs(c), of.precision, cuda::Placement::streamed);
        const auto found =
            results(graph, wide_inputs(c), of.precision, placement, counted, clusters);
        EXPECT_LE(difference(found, wanted), of.tolerance);
      }
    }
  }

  /// The largest difference of an element, relative to the largest element of its result.
  static double difference(const std::vector<Literal>& found, const std::vector<Literal>& wanted) {
    double most = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      const Literal a = found[i].converted(DType::f64), b = wanted[i].converted(DType::f64);
      const size_t count = a.bytes().size() / sizeof(double);
      std::vector<double> x(count), y(count);
      std::memcpy(x.data(), a.bytes().data(), a.bytes().size());
      std::memcpy(y.data(), b.bytes().data(), b.bytes().size());
      double scale = 1e-3, apart = 0;
      for (size_t j = 0; j < count; ++j) {
        scale = std::max(scale, std::abs(y[j]));
        apart = std::isnan(x[j]) ? HUGE_VAL : std::max(apart, std::abs(x[j] - y[j]));
      }
      most = std::max(most, apart / scale);
    }
    return most;
  }
};

}  // namespace graphc::core::testing
