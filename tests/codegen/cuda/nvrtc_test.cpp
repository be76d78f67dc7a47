// SPDX-License-Identifier: Apache-2.0
// NVRTC compiles every kernel of every op, of a layer of W1 in each placement, of a language
// model's training step, and of products on tensor cores, or of the last two every second
// (tests/testing/samples.h): each for one of three architectures, the slow suite for all; and loops
// of cells, sizes and precisions that are in use, the slow suite of all of them. None spills
// registers. Skipped where there is no NVRTC. It needs no GPU.
#include "runtime/cuda/nvrtc.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <regex>
#include <thread>
#include <utility>
#include <vector>

#include "codegen/targets/cuda/launches/code.h"
#include "codegen/targets/cuda/machine.h"
#include "models/registry.h"
#include "tests/codegen/cuda/cuda_draw.h"
#include "tests/codegen/cuda/kernel_texts.h"
#include "tests/testing/counts.h"
#include "tests/testing/graph_file.h"
#include "tests/testing/samples.h"
#include "tests/testing/wide_golden.h"

namespace graphc::core::testing {
namespace {

/// What is wrong with a kernel compiled for an architecture: spilled registers, and more registers
/// or static shared memory than a block may have. The compiler's log says them.
std::string fault_of(const cuda::Compiled& compiled) {
  static const std::regex spills("([1-9][0-9]*) bytes spill"), registers("Used ([0-9]+) registers"),
      shared("([0-9]+) bytes smem");
  constexpr int kThreads = 256, kRegisters = 65536, kStaticShared = 48 << 10;
  const std::string& log = compiled.log;
  std::smatch found;
  if (!compiled.is_cubin || compiled.image.size() <= 500) return "no image";
  if (std::regex_search(log, spills)) return log;
  if (!std::regex_search(log, found, registers)) return "no registers in the log: " + log;
  if (std::stoi(found[1]) * kThreads > kRegisters) return log;
  if (std::regex_search(log, found, shared) && std::stoi(found[1]) > kStaticShared) return log;
  return {};
}

/// The architectures that graphc has been compiled for: those it names, and the newest that NVRTC
/// of CUDA 13 knows.
const std::vector<std::string> kArchitectures{"sm_80", "sm_90a", "sm_120a"};

/// One in `share` of the texts (tests/testing/samples.h), each for one of the architectures;
/// `architecture` gets its part of them.
KernelTexts share_of(KernelTexts texts, const std::string& architecture, size_t share) {
  const size_t turn =
      size_t(std::ranges::find(kArchitectures, architecture) - kArchitectures.begin());
  size_t number = 0;
  std::erase_if(texts, [&](const auto&) {
    const size_t at = number++;
    return at % kArchitectures.size() != turn || !is_sampled(at / kArchitectures.size(), share);
  });
  return texts;
}

/// Compiles them for an architecture, on two threads.
void expect_compiled(const KernelTexts& texts, const std::string& architecture) {
  std::vector<std::string> options = cuda::compiler_options();
  options.push_back("--ptxas-options=-v");
  const std::vector<std::pair<std::string, std::string>> all(texts.begin(), texts.end());
  std::vector<std::string> faults(all.size());
  std::atomic<size_t> next = 0;
  const auto compile = [&] {
    for (size_t i = next++; i < all.size(); i = next++) {
      try {
        faults[i] = fault_of(
            cuda::compile_text(all[i].first, all[i].second + ".cu", architecture, options));
      } catch (const Error& error) {
        faults[i] = error.what();
      }
    }
  };
  std::thread other(compile);
  compile();
  other.join();
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(faults[i], "") << all[i].second << " for " << architecture << "\n" << all[i].first;
  }
  count("CUDA kernels compiled by NVRTC for " + architecture, int64_t(texts.size()));
}

/// Each kernel for one architecture, in turn.
class Nvrtc : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!cuda::nvrtc_present()) GTEST_SKIP() << "needs libnvrtc: " << cuda::nvrtc_library().why_not;
  }
};

TEST_P(Nvrtc, CompilesTheKernelsOfEveryOp) {
  const KernelTexts texts = texts_of_ops(GetParam());
  EXPECT_GT(texts.size(), 60u);
  expect_compiled(share_of(texts, GetParam(), 2), GetParam());
}

TEST_P(Nvrtc, CompilesTheKernelsOfAnLstmInEveryPlacement) {
  expect_compiled(share_of(texts_of_lstm(GetParam()), GetParam(), 2), GetParam());
}

TEST_P(Nvrtc, CompilesTheKernelOfALoopOfManyShapes) {
  const KernelTexts texts = texts_of_a_loop_of_many_shapes(GetParam());
  EXPECT_TRUE(std::ranges::any_of(texts, [](const auto& text) {
    return text.first.find("owned[8][3]") != std::string::npos;
  })) << "what its blocks own is not in shared memory";
  expect_compiled(share_of(texts, GetParam(), 1), GetParam());
}

/// The loops of cells whose steps are several kernels on a CPU.
TEST_P(Nvrtc, CompilesTheLoopsOfMixedCells) {
  KernelTexts texts;
  for (const GraphPtr& cell : graphs_of_tests("tests/codegen/mixed_cells.graph"))
    add_kernels(cell, GetParam(), "fused", texts);
  std::erase_if(texts,
                [](const auto& text) { return text.second.find("_loop") == std::string::npos; });
  EXPECT_GE(texts.size(), 10u);
  expect_compiled(share_of(texts, GetParam(), 2), GetParam());
}

TEST_P(Nvrtc, CompilesTheKernelsOfALanguageModel) {
  const KernelTexts texts = texts_of_model(GetParam(), "ptb-lm", {"size=test"});
  EXPECT_GT(texts.size(), 20u);
  expect_compiled(share_of(texts, GetParam(), 3), GetParam());
}

TEST_P(Nvrtc, CompilesTheKernelsOfRowsOfMatrices) {
  KernelTexts texts;
  for (const char* cell : {"cell=gated-delta", "cell=mlstm", "cell=rwkv7"})
    texts.merge(texts_of_model(GetParam(), "cell-layer", {cell, "size=small"}));
  std::erase_if(texts,
                [](const auto& text) { return text.first.find("first_row") == std::string::npos; });
  EXPECT_GE(texts.size(), 6u);
  expect_compiled(share_of(texts, GetParam(), 1), GetParam());
}

TEST_P(Nvrtc, CompilesProductsOnTensorCores) {
  const KernelTexts texts = texts_on_tensor_cores(
      GetParam(), {Precision::tf32x3, Precision::tf32, Precision::bf16, Precision::fp16});
  EXPECT_GE(texts.size(), 40u);
  expect_compiled(share_of(texts, GetParam(), 3), GetParam());
}

/// Each kernel for every architecture.
class NvrtcSlow : public Nvrtc {};

TEST_P(NvrtcSlow, CompilesEveryKernel) {
  KernelTexts texts = texts_of_ops(GetParam());
  texts.merge(texts_of_lstm(GetParam()));
  texts.merge(texts_of_model(GetParam(), "ptb-lm", {"size=test"}));
  texts.merge(texts_on_tensor_cores(
      GetParam(), {Precision::tf32x3, Precision::tf32, Precision::bf16, Precision::fp16}));
  expect_compiled(texts, GetParam());
}

TEST_P(NvrtcSlow, CompilesTheKernelsOfRandomGraphs) {
  KernelTexts texts;
  const bool has_clusters = cuda::gpu_of(GetParam()).has_clusters();
  for (unsigned seed = 1; seed <= 2000; ++seed) {
    const CudaDraw draw = draw_for_cuda(seed);
    const bool other = draw.level.placement == cuda::Placement::cluster && !has_clusters;
    add_kernels(draw.graph, GetParam(), draw.way.variant, texts, Precision::f32,
                other ? std::nullopt : draw.level.placement);
  }
  EXPECT_GT(texts.size(), 5000u);
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
  KernelTexts texts;
  for (const char* cell : {"lstm", "gru_reset_before", "projected", "lengths"})
    add_kernels(wide_layer({cell, 5, 24, 64}, Derivatives::with), "sm_90a", "fused", texts,
                Precision::f32, cuda::Placement::cluster);
  const GraphPtr lstm = wide_layer({"lstm", 5, 64, 128}, Derivatives::with);
  add_kernels(lstm, "sm_90a", "fused", texts, Precision::tf32x3, cuda::Placement::cluster);
  std::erase_if(texts, [](const auto& text) {
    return text.first.find("cluster_barrier();") == std::string::npos;
  });
  EXPECT_GE(texts.size(), 10u);
  expect_compiled(texts, "sm_90a");
}

/// Loops that count what they exchange and fill the registers of their lanes: at the sizes of W1.
TEST(NvrtcClusters, CompilesLoopsThatFillTheRegisters) {
  if (!cuda::nvrtc_present()) GTEST_SKIP() << "needs libnvrtc: " << cuda::nvrtc_library().why_not;
  KernelTexts texts;
  for (const char* cell : {"lstm", "gru"})
    add_kernels(wide_layer({cell, 5, 128, 512}, Derivatives::with), "sm_90a", "fused", texts,
                Precision::bf16, cuda::Placement::cluster);
  std::erase_if(texts, [](const auto& text) {
    return text.first.find("await_bytes(counter") == std::string::npos;
  });
  ASSERT_EQ(texts.size(), 4u);
  expect_compiled(texts, "sm_90a");
}

/// The kernels of loops of a training step of lstm-layer.
void add_loops(const char* cell, int hidden, int batch, Precision precision,
               std::string_view architecture, KernelTexts& texts) {
  const auto layer =
      make_program("lstm-layer", {fmt::format("cell={}", cell), fmt::format("hidden={}", hidden),
                                  "steps=20", fmt::format("batch={}", batch)});
  KernelTexts all;
  add_kernels(layer->model().trace("train", layer->extents("train")).graph, architecture, "fused",
              all, precision);
  std::erase_if(all,
                [](const auto& text) { return text.second.find("_loop") == std::string::npos; });
  EXPECT_GE(all.size(), 2u) << cell << " " << hidden;
  for (auto& [text, name] : all)
    name = fmt::format("{}_{}_{}_{}_{}", cell, hidden, batch, name_of(precision), name);
  texts.merge(all);
}

/// What fills registers depends on all three. Each of these kernels spilled once: weights in many
/// turns, many weights of a step beside others, two operands ahead, and many nests.
TEST(NvrtcLoops, SpillAtNoSizeInUse) {
  if (!cuda::nvrtc_present()) GTEST_SKIP() << "needs libnvrtc: " << cuda::nvrtc_library().why_not;
  KernelTexts texts;
  add_loops("lstm", 200, 20, Precision::bf16, "sm_90a", texts);
  add_loops("gru", 650, 20, Precision::fp16, "sm_90a", texts);
  add_loops("projected-lstm", 650, 20, Precision::tf32, "sm_90a", texts);
  add_loops("layer-norm-lstm", 650, 20, Precision::bf16, "sm_90a", texts);
  // No cluster holds this matrix: fragments go through memory.
  add_loops("lstm", 1024, 128, Precision::bf16, "sm_90a", texts);
  EXPECT_TRUE(std::ranges::any_of(texts, [](const auto& text) {
    return text.first.find("get_words(ahead[") != std::string::npos;
  }));
  expect_compiled(texts, "sm_90a");
}

TEST_P(NvrtcSlow, CompilesLoopsOfEveryCellSizeAndPrecision) {
  KernelTexts texts;
  for (const char* cell : {"lstm", "peephole-lstm", "layer-norm-lstm", "projected-lstm", "gru",
                           "gru-reset-before", "rnn"}) {
    for (const auto& [hidden, batch] :
         {std::pair{200, 20}, {256, 20}, {650, 20}, {1500, 20}, {512, 128}, {1024, 128}}) {
      for (const Precision precision : cuda::kPrecisions)
        add_loops(cell, hidden, batch, precision, GetParam(), texts);
    }
  }
  expect_compiled(texts, GetParam());
}

std::string name_of(const ::testing::TestParamInfo<std::string>& architecture) {
  return architecture.param;
}
INSTANTIATE_TEST_SUITE_P(For, Nvrtc, ::testing::ValuesIn(kArchitectures), name_of);
INSTANTIATE_TEST_SUITE_P(For, NvrtcSlow, ::testing::ValuesIn(kArchitectures), name_of);

}  // namespace
}  // namespace graphc::core::testing
