// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/cpu/check_program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "codegen/targets/cpu/compiled_plan.h"
#include "ir/composite.h"
#include "ir/evaluate.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "ir/text.h"
#include "passes/kernels/fuse.h"

namespace graphc::core::testing {
namespace {

using Literals = std::vector<Literal>;

Literal random_literal(const Type& type, std::mt19937& random, int64_t index_limit) {
  Literal wide(Type{DType::f64, type.shape});
  for (double& x : wide.mutable_data<double>()) {
    x = is_floating(type.dtype)
            ? std::uniform_real_distribution<double>(-1, 1)(random)
            : double(random() % uint64_t(type.dtype == DType::boolean
                                             ? 2
                                             : std::max<int64_t>(index_limit, 1)));
  }
  return wide.converted(type.dtype);
}

/// Composites by their bodies, until kernels can be formed.
GraphPtr expanded(const GraphPtr& graph) {
  GraphPtr result = graph;
  const auto once = [](const GraphPtr& g) {
    return rewrite(
        *g, [](const Node& node, const Values& operands, Graph& to) -> std::optional<Values> {
          if (!is_composite(node.op)) return std::nullopt;
          return inline_graph(*body_of(node), operands, to);
        });
  };
  for (int depth = 0; depth < 4; ++depth) result = once(rewrite_regions(result, once));
  return result;
}

struct ProgramSetting {
  cpu::CpuFeatures cpu;
  int threads;
  bool fuse;
};

std::vector<ProgramSetting> program_settings() {
  std::vector<ProgramSetting> all;
  for (const cpu::CpuFeatures& cpu : cpu::cpus_of()) {
    for (int threads : {1, 2}) {
      for (bool fuse : {true, false}) all.push_back({cpu, threads, fuse});
    }
  }
  return all;
}

Literals run_compiled(const GraphPtr& graph, const Literals& inputs,
                      const ProgramSetting& setting) {
  FuseOptions options;
  options.fuse = setting.fuse;
  const GraphPtr kernels = form_kernels(lower_reductions(graph), options);
  cpu::CompiledPlan program(*kernels, setting.cpu, std::make_shared<ThreadTeam>(setting.threads));
  std::vector<void*> in, out;
  Literals arguments = inputs, results;
  for (Literal& input : arguments) in.push_back(input.mutable_bytes().data());
  for (Value result : graph->results()) results.emplace_back(result.type());
  for (Literal& result : results) {
    std::memset(result.mutable_bytes().data(), 0x7f, result.mutable_bytes().size());
    out.push_back(result.mutable_bytes().data());
  }
  program.run(in, {}, out);
  program.run(in, {}, out);  // nothing of the first run may leak into the second
  return results;
}

void expect_close(const Literal& wanted, const Literal& found, const std::string& what) {
  ASSERT_EQ(wanted.elements(), found.elements());
  double scale = 1e-3;
  for (int64_t i = 0; i < wanted.elements(); ++i) {
    if (std::isfinite(wanted.element(i))) scale = std::max(scale, std::abs(wanted.element(i)));
  }
  for (int64_t i = 0; i < wanted.elements(); ++i) {
    const double a = wanted.element(i), b = found.element(i);
    if (std::isnan(a) && std::isnan(b)) continue;
    const double tolerance = is_floating(found.dtype()) ? 3e-6 * scale : 0;
    ASSERT_TRUE(a == b || std::abs(a - b) <= tolerance)
        << what << " element " << i << ": wanted " << a << ", found " << b;
  }
}

}  // namespace

void check_graph(const GraphPtr& original, int64_t index_limit) {
  const GraphPtr graph = expanded(original);
  std::mt19937 random(7);
  Literals inputs;
  for (Value input : graph->inputs())
    inputs.push_back(random_literal(input.type(), random, index_limit));
  const Literals wanted = evaluate(*graph, inputs, {}, Precision::f64).results;
  Literals first;
  for (const ProgramSetting& setting : program_settings()) {
    const Literals found = run_compiled(graph, inputs, setting);
    const std::string what =
        fmt::format("{} threads={} fuse={}", setting.cpu.name, setting.threads, setting.fuse);
    for (size_t i = 0; i < wanted.size(); ++i) {
      const bool integer = !is_floating(found[i].dtype());
      expect_close(integer ? wanted[i].converted(found[i].dtype()) : wanted[i], found[i],
                   what + " %" + graph->results()[i].name());
      if (setting.threads == 2) {
        EXPECT_TRUE(
            std::equal(first[i].bytes().begin(), first[i].bytes().end(), found[i].bytes().begin()))
            << what << ": bits differ";
      }
    }
    // Bits are compared between thread counts of one CPU and one way to fuse.
    if (setting.threads == 1) first = found;
    if (setting.threads == 1) continue;
  }
}

void check(std::string_view text, int64_t index_limit) {
  check_graph(parse_graph(text), index_limit);
}

}  // namespace graphc::core::testing
