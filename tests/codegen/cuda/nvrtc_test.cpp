// SPDX-License-Identifier: Apache-2.0
// NVRTC compiles every kernel of an op of each record, of the layers of W1 and of a language
// model's training step, for the oldest and the newest architecture that there is text for. Skipped
// where there is no NVRTC. It needs no GPU.
#include "runtime/cuda/nvrtc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "codegen/compile.h"
#include "codegen/cuda/code.h"
#include "codegen/cuda/launches.h"
#include "codegen/cuda/machine.h"
#include "ir/text.h"
#include "models/registry.h"
#include "tests/testing/counts.h"
#include "tests/testing/op_cases.h"
#include "tests/testing/wide_golden.h"

namespace graphc::testing {
namespace {

/// Texts by what they are, each once.
using Texts = std::map<std::string, std::string>;

/// For a GPU of that architecture.
void add_kernels(const GraphPtr& graph, const std::string& architecture, const char* variant,
                 Texts& texts, std::string_view precision = "f32",
                 std::string_view placement = "auto") {
  CompileReport report;
  const GraphPtr kernels = form_kernels_for(graph, {.variant = variant}, report);
  const Plan plan = make_plan(*kernels, cuda::gpu_machine(precision));
  for (const cuda::KernelText& kernel :
       cuda::make_launches(plan, cuda::gpu_of(architecture), placement).kernels)
    texts.emplace(kernel.text, kernel.name);
}

/// Of every second op.
Texts texts_of_ops(const std::string& architecture, unsigned first) {
  Texts texts;
  unsigned number = first;
  for (const Op* op : sampled_ops()) {
    if (number++ % 2 == 0) add_kernels(op_cases(*op)[0].graph, architecture, "fused", texts);
  }
  return texts;
}

Texts texts_of_model(const std::string& architecture, const std::string& model,
                     const std::vector<std::string>& parameters) {
  Texts texts;
  const auto program = make_program(model, parameters);
  for (const char* variant : {"fused", "basic"}) {
    add_kernels(program->model().trace("train", program->extents("train")).graph, architecture,
                variant, texts);
  }
  return texts;
}

/// Products in tiles of several sizes, of several parts, and in loops, on tensor cores in each of
/// these precisions.
Texts texts_on_tensor_cores(const std::string& architecture,
                            const std::vector<std::string_view>& precisions) {
  Texts texts;
  const auto lstm = make_program("lstm-layer", {"hidden=64", "steps=5", "batch=32"});
  for (std::string_view precision : precisions) {
    for (const char* shapes : {"%a: f32[9,64], %b: f32[64,16]", "%a: f32[40,64], %b: f32[64,24]",
                               "%a: f32[99,64], %b: f32[64,960]"}) {
      for (const int parts : {1, 4, 8}) {
        std::string names = "%p0", sum = "%p0";
        for (int part = 1; part < parts; ++part) {
          names += fmt::format(", %p{}", part);
          sum = fmt::format("tanh(add(%p{}, {}))", part, sum);
        }
        add_kernels(
            parse_graph(fmt::format("graph @p({}) {{\n  {} = split(matmul(%a, %b)) {{axis = "
                                    "1, parts = {}}}\n  return {}\n}}",
                                    shapes, names, parts, sum)),
            architecture, "fused", texts, precision);
      }
    }
    add_kernels(lstm->model().trace("train", lstm->extents("train")).graph, architecture, "fused",
                texts, precision);
  }
  std::erase_if(texts,
                [](const auto& text) { return text.first.find("mma.sync") == std::string::npos; });
  return texts;
}

/// Compiles them for an architecture; what spills registers is a failure.
void expect_compiled(const Texts& texts, const std::string& architecture) {
  std::vector<std::string> options = cuda::compiler_options();
  options.push_back("--ptxas-options=-v");
  const std::regex spills("([1-9][0-9]*) bytes spill");
  for (const auto& [text, name] : texts) {
    SCOPED_TRACE(name + " for " + architecture);
    try {
      const cuda::Compiled compiled = cuda::compile_text(text, name + ".cu", architecture, options);
      EXPECT_TRUE(compiled.is_cubin);
      EXPECT_GT(compiled.image.size(), 500u);
      EXPECT_FALSE(std::regex_search(compiled.log, spills)) << compiled.log << "\n" << text;
    } catch (const Error& error) {
      ADD_FAILURE() << error.what() << "\n" << text;
    }
  }
  count("CUDA kernels compiled by NVRTC", int64_t(texts.size()));
}

class Nvrtc : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!cuda::nvrtc_present()) GTEST_SKIP() << "needs libnvrtc: " << cuda::nvrtc_library().why_not;
  }
};

TEST_P(Nvrtc, CompilesTheKernelsOfEveryOp) {
  // Each for one of the two.
  const bool newest = GetParam() == "sm_90a";
  const Texts texts = texts_of_ops(GetParam(), newest ? 0 : 1);
  EXPECT_GT(texts.size(), 30u);
  expect_compiled(texts, GetParam());
}

TEST_P(Nvrtc, CompilesTheKernelsOfAnLstm) {
  expect_compiled(texts_of_model(GetParam(), "lstm-layer", {"hidden=64", "steps=5", "batch=8"}),
                  GetParam());
}

TEST_P(Nvrtc, CompilesTheKernelsOfALanguageModel) {
  // Each for one of the two.
  Texts texts = texts_of_model(GetParam(), "ptb-lm", {"size=test"});
  unsigned number = GetParam() == "sm_90a" ? 0 : 1;
  std::erase_if(texts, [&](const auto&) { return number++ % 2 == 1; });
  EXPECT_GT(texts.size(), 10u);
  expect_compiled(texts, GetParam());
}

TEST_P(Nvrtc, CompilesProductsOnTensorCores) {
  // What takes the most registers for both.
  const bool newest = GetParam() == "sm_90a";
  const Texts texts = newest ? texts_on_tensor_cores(GetParam(), {"3xtf32", "bf16"})
                             : texts_on_tensor_cores(GetParam(), {"3xtf32", "tf32", "fp16"});
  EXPECT_GE(texts.size(), 20u);
  expect_compiled(texts, GetParam());
}

TEST_P(Nvrtc, SaysWhichLineOfATextIsWrong) {
  try {
    cuda::compile_text("extern \"C\" __global__ void f(float* x) {\n  x[0] = y;\n}\n", "f.cu",
                       GetParam());
    ADD_FAILURE() << "a text with an unknown name was compiled";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("f.cu(2)"));
  }
}

/// Of the newest architecture alone: there are none on the oldest. Forward and backward, with masks
/// and with projections, and an LSTM on tensor cores.
TEST(NvrtcClusters, CompilesTheirLoops) {
  if (!cuda::nvrtc_present()) GTEST_SKIP() << "needs libnvrtc: " << cuda::nvrtc_library().why_not;
  Texts texts;
  for (const char* cell : {"lstm", "gru_reset_before", "projected", "lengths"})
    add_kernels(wide_layer({cell, 5, 24, 64}, Derivatives::with), "sm_90a", "fused", texts, "f32",
                "cluster");
  const GraphPtr lstm = wide_layer({"lstm", 5, 64, 128}, Derivatives::with);
  add_kernels(lstm, "sm_90a", "fused", texts, "3xtf32", "cluster");
  std::erase_if(texts, [](const auto& text) {
    return text.first.find("meet_in_cluster();") == std::string::npos;
  });
  EXPECT_GE(texts.size(), 10u);
  expect_compiled(texts, "sm_90a");
}

INSTANTIATE_TEST_SUITE_P(For, Nvrtc, ::testing::Values("sm_80", "sm_90a"),
                         [](const auto& architecture) { return architecture.param; });

}  // namespace
}  // namespace graphc::testing
