// SPDX-License-Identifier: Apache-2.0
// What is stored in bf16 under the precision of that name (passes/precision.cpp): what only
// products read has the bits that it has in f32, plans are smaller for it, and matrices of bf16 are
// multiplied as they lie.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "codegen/lower/lower.h"
#include "codegen/step/plan.h"
#include "codegen/targets/cpu/machine.h"
#include "codegen/targets/cpu/target.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "models/registry.h"
#include "tests/codegen/precision_trial.h"

namespace graphc::core::testing {
namespace {

using Literals = std::vector<Literal>;

CompileOptions options_of(const std::string& cpu, const std::string& variant = "fused") {
  CompileOptions options;
  options.precision = Precision::bf16;
  options.architecture = cpu;
  options.variant = variant;
  options.threads = 2;
  return options;
}

Literals results_of(const GraphPtr& graph, const Literals& given, const CompileOptions& options) {
  CompileReport report;
  const auto executable = compile(graph, targets::cpu, options, report);
  std::vector<Tensor> inputs(given.begin(), given.end()), outputs;
  for (const Argument& output : executable->signature().outputs) outputs.emplace_back(output.type);
  executable->run(inputs, outputs);
  Literals results;
  for (const Tensor& output : outputs) results.push_back(output.copy());
  return results;
}

std::vector<std::string> cpus() {
  std::vector<std::string> names{"native+tiles", "x86-64+tiles"};
  if (cpu::host_cpu().has_avx512_bf16) names.push_back("native+bf16");
  return names;
}

TEST(StoredBf16Cpu, WhatOnlyProductsReadHasTheBitsOfF32) {
  // Computed in rows, by products and in a loop; read on the left, on the right, transposed, from
  // one step on, and as the state before each step.
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[6,5,33], %w: f32[33,33], %u: f32[33,33], %h0: f32[5,33]) {
      %a = tanh(%x)
      %b = mul(matmul(%a, %w), 0.3)
      %h, %h.e = scan %x.t in %x carry %s = %h0 with %u {
        %n = tanh(add(matmul(%s, %u), %x.t))
        next %s = %n
        emit %n
      }
      %rows = reshape(%b) {shape = [30,33]}
      %all.but.last = slice %h {axis = 0, start = 0, limit = 5}
      %before = concat(reshape(%h0) {shape = [1,5,33]}, %all.but.last) {axis = 0}
      %late = reshape(slice(%b) {axis = 0, start = 1, limit = 4}) {shape = [15,33]}
      return matmul(%b, %u), matmul(%rows, reshape(%a) {shape = [30,33]}) {transpose_a = true},
             matmul(%late, %w) {transpose_b = true}, matmul(%h, %w),
             matmul(reshape(%before) {shape = [30,33]}, %rows) {transpose_a = true}, %h.e
    })");
  const Literals inputs = drawn_inputs(*graph, 11, 1, false);
  for (const std::string& cpu : cpus()) {
    CompileReport report;
    EXPECT_GE(
        std::ranges::count_if(cpu::form_cpu_kernels(graph, options_of(cpu), report)->nodes(),
                              [](const Node& node) { return node.types[0].dtype == DType::bf16; }),
        4);
    EXPECT_EQ(results_of(graph, inputs, options_of(cpu)),
              results_of(graph, inputs, options_of(cpu, "basic")))
        << cpu;
  }
}

/// The gradient of an LSTM's bias, to which this much is added for forget gates and candidates.
GraphPtr bias_gradient(double forget, double candidate) {
  return parse_graph(fmt::format(R"(
    graph @f(%x: f32[9,4,64], %u: f32[16,64], %b: f32[64], %h0: f32[4,16]) {{
      %forget = constant {{dtype = f32, shape = [16], value = {:.1f}}}
      %candidate = constant {{dtype = f32, shape = [16], value = {:.1f}}}
      %none = constant {{dtype = f32, shape = [32], value = 0.}}
      %z = add(%x, add(%b, concat(%forget, %candidate, %none) {{axis = 0}}))
      %y, %h.e, %c.e = scan %z.t in %z carry %h = %h0, %c = %h0 with %u {{
        %f, %g, %i, %o = split(add(%z.t, matmul(%h, %u))) {{axis = 1, parts = 4}}
        %c.1 = add(mul(sigmoid(%f), %c), mul(sigmoid(%i), tanh(%g)))
        %h.1 = mul(sigmoid(%o), tanh(%c.1))
        next %h = %h.1, %c = %c.1
        emit %h.1
      }}
      %loss = sum(square(sub(%y, 0.7))) {{axes = [0,1,2]}}
      %db = grad %loss, %b
      return %db
    }})",
                                 forget, candidate));
}

TEST(StoredBf16Cpu, GatesNearOneKeepTheirDerivatives) {
  // Forget gates of 0.9991 and candidates of 0.998, which are 1 in eight digits; and both 1.
  for (const auto& [forget, candidate] : {std::pair{7.0, 3.5}, {30.0, 20.0}}) {
    const GraphPtr graph = bias_gradient(forget, candidate);
    const Literals inputs = drawn_inputs(*graph, 5, 0.2, false);
    const Literal exact = results_of(graph, inputs, CompileOptions{})[0];
    for (const std::string& cpu : cpus()) {
      CompileOptions options = options_of(cpu);
      options.unroll = "loop";
      const Literal found = results_of(graph, inputs, options)[0];
      for (int64_t i = 0; i < found.elements(); ++i) {
        const double wanted = exact.element(i);
        EXPECT_NEAR(found.element(i), wanted, 0.06 * std::abs(wanted) + 1e-8)
            << forget << ", " << cpu << ", " << i;
      }
    }
  }
}

TEST(StoredBf16Cpu, MatricesOfBf16AreMultipliedAsTheyLie) {
  for (const auto& [m, k, n] : {std::array{1, 1, 1}, {17, 33, 9}, {40, 70, 65}, {5, 600, 20}}) {
    const GraphPtr graph = parse_graph(
        fmt::format("graph @p(%a: bf16[{0},{1}], %b: bf16[{1},{2}], %c: f32[{1},{2}]) {{\n"
                    "  return matmul(%a, %b), matmul(cast(%a) {{dtype = f32}}, %c)\n}}",
                    m, k, n));
    const Literals whole = drawn_inputs(*graph, unsigned(m), 1, true);
    const Literals any = drawn_inputs(*graph, unsigned(m), 1, false);
    const Literals exact = evaluate(*graph, any, {}, Precision::f64).results;
    for (const std::string& cpu : cpus()) {
      SCOPED_TRACE(fmt::format("{} x {} x {}, {}", m, k, n, cpu));
      EXPECT_EQ(results_of(graph, whole, options_of(cpu)), evaluate(*graph, whole).results);
      const Literals found = results_of(graph, any, options_of(cpu));
      for (int64_t i = 0; i < found[0].elements(); ++i) {
        const double wanted = exact[0].element(i);
        EXPECT_NEAR(found[0].element(i), wanted, std::abs(wanted) * 0x1.01p-8 + k * 0x1p-22) << i;
      }
    }
  }
}

/// The plan of a training step, with values stored in bf16 or not.
Plan plan_of(const char* model, const std::vector<std::string>& parameters, bool stores_bf16) {
  const auto program = make_program(model, parameters);
  const GraphPtr graph = program->model().trace("train", program->extents("train")).graph;
  const CompileOptions options = options_of("native+tiles");
  CompileReport report;
  const GraphPtr kernels = form_kernels_for(graph, options, report, {.stores_bf16 = stores_bf16});
  return make_plan(*kernels, cpu::machine_of(cpu::cpu_of(options), 2, Factors::bf16));
}

/// Nests that load bf16 and store it as f32.
int64_t nests_that_only_widen(const Plan& plan) {
  return std::ranges::count_if(plan.programs, [&](const NestProgram& program) {
    const NestInstruction& first = program.body.front();
    const NestInstruction& last = program.body.back();
    return first.kind == NestOp::load && last.kind == NestOp::store && program.body.size() <= 3 &&
           program.operands[size_t(first.operand)].dtype == DType::bf16 &&
           program.operands[size_t(last.operand)].dtype == DType::f32;
  });
}

TEST(StoredBf16Cpu, WhatIsWidenedForOthersThanProductsIsANest) {
  // That such nests are found at all.
  const GraphPtr graph = parse_graph("graph @f(%x: bf16[3,40]) { return cast(%x) {dtype = f32} }");
  const CompileOptions options = options_of("native+tiles");
  CompileReport report;
  const Plan plan = make_plan(*cpu::form_cpu_kernels(graph, options, report),
                              cpu::machine_of(cpu::cpu_of(options), 2, Factors::bf16));
  EXPECT_EQ(nests_that_only_widen(plan), 1);
}

TEST(StoredBf16Cpu, PlansAreSmallerAndNoNestOnlyWidens) {
  struct Step {
    const char* model;
    std::vector<std::string> parameters;
    double part;  ///< of the bytes of f32, at most
  };
  for (const Step& step : {Step{"lstm-layer", {"hidden=64", "steps=20", "batch=32"}, 0.62},
                           {"lstm-layer", {"cell=gru", "hidden=64", "steps=20", "batch=32"}, 0.8},
                           {"ptb-lm", {"size=small"}, 0.95}}) {
    SCOPED_TRACE(step.model);
    const Plan narrow = plan_of(step.model, step.parameters, true);
    const Plan wide = plan_of(step.model, step.parameters, false);
    EXPECT_LT(double(narrow.arena_bytes), step.part * double(wide.arena_bytes));
    EXPECT_EQ(nests_that_only_widen(narrow), 0);
    EXPECT_LE(narrow.phases, wide.phases + 2);  // initial states are rounded by themselves
  }
}

}  // namespace
}  // namespace graphc::core::testing
