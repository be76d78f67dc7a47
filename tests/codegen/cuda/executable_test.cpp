// SPDX-License-Identifier: Apache-2.0
// Executables of the CUDA target on the mock driver: what a call asks of the driver, and what
// becomes of states.
#include "codegen/targets/cuda/launches/executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "codegen/compile.h"
#include "codegen/target.h"
#include "ir/text.h"
#include "runtime/files/files.h"
#include "tests/runtime/cuda/mock_driver.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/kernel_folder.h"

namespace graphc::core::testing {
namespace {

using ::testing::HasSubstr;

/// A state that moves by what it is given.
constexpr const char* kCounter = R"(
  graph @counter(%x: f32[4]) state (%s: f32[4]) {
    %t = add %s, %x
    next %s = %t
    return mul(%t, 2)
  })";
constexpr const char* kReader = R"(
  graph @reader(%x: f32[4]) state (%s: f32[4]) {
    return add(%s, %x)
  })";
/// A loop whose kernel has all its steps.
constexpr const char* kLoop = R"(
  graph @loop(%x: f32[50,3,8], %h: f32[3,8], %u: f32[8,8]) {
    %y, %end = scan %x.t in %x carry %h.t = %h with %u {
      %n = tanh(add(matmul(%h.t, %u), %x.t))
      next %h.t = %n
      emit %n
    }
    return %y, %end
  })";

class CudaExecutable : public ::testing::Test {
 protected:
  std::unique_ptr<Executable> compiled(const char* text) {
    CompileReport report;
    return compile(parse_graph(text), targets::cuda, {}, report);
  }

  Tensor ones() { return Tensor(Literal::filled({DType::f32, {4}}, 1)); }

  /// What one call gives.
  std::vector<float> call(Executable& executable, StoredState& state) {
    std::vector<Tensor> inputs{ones()}, outputs;
    outputs.emplace_back(Type{DType::f32, {4}});
    StoredState* states[] = {&state};
    executable.run(inputs, states, outputs);
    const Literal found = outputs[0].copy();
    return {found.data<float>().begin(), found.data<float>().end()};
  }

  cuda::testing::MockDriver driver_;
};

TEST_F(CudaExecutable, StatesStayOnTheDeviceUntilSomebodyAsks) {
  const auto counter = compiled(kCounter);
  StoredState state(Tensor(Literal::filled({DType::f32, {4}}, 10)));
  EXPECT_EQ(call(*counter, state), (std::vector<float>(4, 22)));
  driver_.heal();
  EXPECT_EQ(call(*counter, state), (std::vector<float>(4, 24)));
  EXPECT_EQ(driver_.calls("cuMemcpyHtoDAsync_v2"), 0u) << "the input is the graph's to copy";
  EXPECT_EQ(driver_.calls("cuMemcpyDtoHAsync_v2"), 0u) << "and so is the output";
  EXPECT_NE(state.away(), nullptr);
  EXPECT_EQ(state.home().copy().element(0), 12);
  EXPECT_EQ(state.away(), nullptr);
}

TEST_F(CudaExecutable, WhatTheHostWritesIsRead) {
  const auto counter = compiled(kCounter);
  StoredState state(Tensor(Literal::filled({DType::f32, {4}}, 10)));
  call(*counter, state);
  *reinterpret_cast<float*>(state.change().address()) = 100;
  EXPECT_EQ(call(*counter, state), (std::vector<float>{202, 24, 24, 24}));
  state.adopt(Tensor(Literal::filled({DType::f32, {4}}, 3)));
  EXPECT_EQ(call(*counter, state), (std::vector<float>(4, 8)));
}

TEST_F(CudaExecutable, AnotherExecutableFindsWhatTheFirstLeft) {
  const auto counter = compiled(kCounter), reader = compiled(kReader);
  StoredState state(Tensor(Literal::filled({DType::f32, {4}}, 10)));
  call(*counter, state);
  driver_.heal();
  EXPECT_EQ(call(*reader, state), (std::vector<float>(4, 12)));
  EXPECT_EQ(driver_.calls("cuMemcpyHtoDAsync_v2"), 0u) << "the input is the graph's to copy";
  call(*counter, state);
  EXPECT_EQ(call(*reader, state), (std::vector<float>(4, 13)));
}

TEST_F(CudaExecutable, StatesThatTakeTurnsKeepTheirContent) {
  const auto counter = compiled(kCounter);
  StoredState first(Tensor(Literal::filled({DType::f32, {4}}, 10))),
      second(Tensor(Literal::filled({DType::f32, {4}}, 100)));
  EXPECT_EQ(call(*counter, first), (std::vector<float>(4, 22)));
  EXPECT_EQ(call(*counter, second), (std::vector<float>(4, 202)));
  EXPECT_EQ(call(*counter, first), (std::vector<float>(4, 24)));
  EXPECT_EQ(second.home().copy().element(0), 101);
  EXPECT_EQ(first.home().copy().element(0), 12);
}

TEST_F(CudaExecutable, AStateOutlivesTheExecutableThatHasItsContent) {
  StoredState state(Tensor(Literal::filled({DType::f32, {4}}, 10)));
  call(*compiled(kCounter), state);
  EXPECT_EQ(state.home().copy().element(3), 11);
}

TEST_F(CudaExecutable, TensorsAreWrittenWhenTheCallEnds) {
  const auto counter = compiled(kCounter);
  std::vector<Tensor> inputs{ones()}, outputs,
      states{Tensor(Literal::filled({DType::f32, {4}}, 10))};
  outputs.emplace_back(Type{DType::f32, {4}});
  counter->run(inputs, states, outputs);
  EXPECT_EQ(states[0].copy().element(2), 11);
}

/// A table, which a step looks through for indices that it does not have.
constexpr const char* kTable = R"(
  graph @rows(%t: f32[5,3], %i: i32[4]) { return tanh(gather(%t, %i)) })";

/// Products that run beside each other.
constexpr const char* kBranches = R"(
  graph @branches(%x: f32[20,16], %a: f32[16,12], %y: f32[5,6], %b: f32[6,7]) {
    return matmul(%x, %a), matmul(%y, %b)
  })";

TEST_F(CudaExecutable, AStepAsksNothingOfTheDriverButOneLaunchAndItsEnd) {
  for (const char* text : {kLoop, kTable, kBranches}) {
    const auto executable = compiled(text);
    std::vector<Tensor> inputs, outputs;
    for (const Argument& input : executable->signature().inputs)
      inputs.emplace_back(Literal::filled(input.type, input.type.dtype == DType::i32 ? 1 : 0.125));
    for (const Argument& output : executable->signature().outputs)
      outputs.emplace_back(output.type);
    EXPECT_EQ(driver_.calls("cuStreamWaitEvent") > 0, text == kBranches);
    executable->run(inputs, outputs);
    driver_.heal();
    executable->run(inputs, outputs);
    EXPECT_EQ(driver_.calls("cuGraphLaunch"), 1u) << text;
    EXPECT_EQ(driver_.calls("cuStreamSynchronize"), 1u) << text;
    for (const char* none : {"cuMemAlloc_v2", "cuMemHostAlloc", "cuMemcpyHtoDAsync_v2",
                             "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemsetD8Async",
                             "cuLaunchKernel", "cuLaunchKernelEx", "cuModuleLoadDataEx",
                             "cuGraphInstantiateWithFlags", "cuStreamWaitEvent", "cuEventRecord"})
      EXPECT_EQ(driver_.calls(none), 0u) << none << text;
    ASSERT_TRUE(executable->enqueue_s());
    EXPECT_GT(*executable->enqueue_s(), 0);
  }
}

TEST_F(CudaExecutable, AFaultHandsOutNothing) {
  const auto rows = compiled(kTable);
  const Tensor table(Literal::filled({DType::f32, {5, 3}}, 1));
  std::vector<Tensor> outputs{Tensor(Literal::filled({DType::f32, {4, 3}}, 42))};
  const auto run = [&](int index) {
    std::vector<Tensor> inputs{table, Tensor(Literal::filled({DType::i32, {4}}, index))};
    rows->run(inputs, outputs);
  };
  EXPECT_THAT(error_of(ErrorKind::input, [&] { run(5); }), HasSubstr("index 5 at position 0"));
  EXPECT_EQ(outputs[0].copy().element(0), 42);
  run(4);
  EXPECT_NEAR(outputs[0].copy().element(11), std::tanh(1.0), 1e-6);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { run(-1); }), HasSubstr("index -1 at position 0"));
}

/// A loop of so many columns that several blocks share a step out.
constexpr const char* kWideLoop = R"(
  graph @loop(%x: f32[2,8,128], %h: f32[8,128], %u: f32[128,128]) {
    %y, %end = scan %x.t in %x carry %h.t = %h with %u {
      %n = tanh(add(matmul(%h.t, %u), %x.t))
      next %h.t = %n
      emit %n
    }
    return %end
  })";

TEST_F(CudaExecutable, BlocksThatWaitInVainAreTheLoopsErrorAndTheProcessGoesOn) {
  for (const auto placement : {cuda::Placement::streamed, cuda::Placement::grid}) {
    // A clock so slow that the wait is 2000 looks.
    setenv("GRAPHC_MOCK_CLOCK", "50", 1);
    CompileReport report;
    const auto loop =
        compile(parse_graph(kWideLoop), targets::cuda, {.cuda = {.placement = placement}}, report);
    unsetenv("GRAPHC_MOCK_CLOCK");
    std::vector<Tensor> inputs, outputs;
    for (const Argument& input : loop->signature().inputs)
      inputs.emplace_back(Literal::filled(input.type, 0.0078125));
    outputs.emplace_back(Type{DType::f32, {8, 128}});
    loop->run(inputs, outputs);
    const Literal wanted = outputs[0].copy();
    outputs[0] = Tensor(Literal::filled({DType::f32, {8, 128}}, 42));
    setenv("GRAPHC_MOCK_ABSENT_BLOCKS", "1", 1);
    try {
      loop->run(inputs, outputs);
      ADD_FAILURE() << name_of(placement) << ": a block never came";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::resource) << error.what();
      EXPECT_EQ(error.where().line, 3);
      EXPECT_THAT(error.what(), HasSubstr("blocks of the loop waited 20 seconds for others"));
    }
    unsetenv("GRAPHC_MOCK_ABSENT_BLOCKS");
    EXPECT_EQ(outputs[0].copy().element(0), 42);
    loop->run(inputs, outputs);
    EXPECT_EQ(outputs[0].copy(), wanted) << name_of(placement);
  }
}

TEST_F(CudaExecutable, ValuesOfAllSizesComeAndGo) {
  // What lies beside each other in one copy: none, one and many bytes.
  const auto executable = compiled(
      "graph @f(%a: bool[1], %b: f32[0,3], %c: f32[300], %d: f64[3]) {\n"
      "  return logical_not(%a), %b, mul(%c, 2), %d, add(%d, 1) }");
  std::vector<Tensor> inputs, outputs;
  for (const Argument& input : executable->signature().inputs)
    inputs.emplace_back(Literal::filled(input.type, input.type.dtype == DType::boolean ? 0 : 3));
  for (const Argument& output : executable->signature().outputs) outputs.emplace_back(output.type);
  executable->run(inputs, outputs);
  EXPECT_EQ(outputs[0].copy().element(0), 1);
  EXPECT_EQ(outputs[2].copy(), Literal::filled({DType::f32, {300}}, 6));
  EXPECT_EQ(outputs[3].copy(), Literal::filled({DType::f64, {3}}, 3));
  EXPECT_EQ(outputs[4].copy(), Literal::filled({DType::f64, {3}}, 4));
}

/// The environment names this folder as the cache.
class CudaKernelsOnDisk : public CudaExecutable {
 protected:
  /// Compiles in what has the folder alone in common with the processes before it.
  CompileReport compiled_anew(const CompileOptions& options = {}) {
    clear_code_caches();
    CompileReport report;
    const auto counter = compile(parse_graph(kCounter), targets::cuda, options, report);
    StoredState state(Tensor(Literal::filled({DType::f32, {4}}, 10)));
    EXPECT_EQ(call(*counter, state), (std::vector<float>(4, 22)));
    return report;
  }

  KernelFolder kept_;
};

TEST_F(CudaKernelsOnDisk, AreCompiledOnce) {
  const CompileReport first = compiled_anew(), second = compiled_anew();
  EXPECT_GT(first.kernels, 0);
  EXPECT_EQ(first.cache_hits, 0);
  EXPECT_EQ(second.kernels, 0);
  EXPECT_EQ(second.cache_hits, first.kernels);
  EXPECT_EQ(kept_.files().size(), size_t(first.kernels));
}

TEST_F(CudaKernelsOnDisk, AreNotLookedAtByWhoWantsNone) {
  const int64_t all = compiled_anew().kernels;
  EXPECT_EQ(compiled_anew({.disk_cache = false}).kernels, all);
  kept_.choose("none");
  EXPECT_EQ(compiled_anew().kernels, all);
  kept_.choose(kept_.path() / "another");
  EXPECT_EQ(compiled_anew({.disk_cache = false}).kernels, all);
  EXPECT_FALSE(std::filesystem::exists(kept_.path() / "another"));
}

TEST_F(CudaKernelsOnDisk, AreOfOneArchitecture) {
  const int64_t all = compiled_anew().kernels;
  EXPECT_EQ(compiled_anew({.architecture = "sm_90"}).kernels, all);
  EXPECT_EQ(compiled_anew({.architecture = "sm_90"}).kernels, 0);
  EXPECT_EQ(compiled_anew({.architecture = "sm_90a"}).kernels, 0) << "what it is without";
}

TEST_F(CudaKernelsOnDisk, AreCompiledAgainWhereFilesAreDamaged) {
  const int64_t all = compiled_anew().kernels;
  for (const std::filesystem::path& file : kept_.files()) {
    std::string damaged = read_file(file);
    damaged[damaged.size() / 2] ^= 1;
    std::ofstream(file, std::ios::binary) << damaged;
  }
  EXPECT_EQ(compiled_anew().kernels, all);
  EXPECT_EQ(compiled_anew().kernels, 0);
}

TEST_F(CudaKernelsOnDisk, AreARemarkWhereTheyCannotBeKept) {
  kept_.choose("/proc/graphc");
  const CompileReport report = compiled_anew();
  EXPECT_GT(report.kernels, 0);
  ASSERT_FALSE(report.remarks.empty());
  EXPECT_THAT(report.remarks.back().text,
              HasSubstr("kernels are not kept: cannot make the folder '/proc/graphc'"));
}

TEST_F(CudaExecutable, TheReportHasThePhasesOfAGpu) {
  clear_code_caches();
  const GraphPtr graph = parse_graph(kLoop);
  CompileReport report;
  const double begun = report.accounted;
  const auto executable = compile(graph, targets::cuda, {}, report);
  for (const double CompileReport::* phase :
       {&CompileReport::driver_s, &CompileReport::library_s, &CompileReport::plan_s,
        &CompileReport::emit_s, &CompileReport::codegen_s, &CompileReport::link_s})
    EXPECT_GT(report.*phase, 0);
  EXPECT_NEAR(report.total_s(), report.accounted - begun, 1e-6);
}

TEST_F(CudaExecutable, IsForTheArchitectureOfTheGpu) {
  const auto named = [](const char* name) {
    CompileOptions options;
    CompileReport report;
    return compile(parse_graph(kCounter), target(name, options), options, report) != nullptr;
  };
  EXPECT_TRUE(named("cuda:sm_90"));
  EXPECT_TRUE(named("cuda"));
  EXPECT_EQ(error_of(ErrorKind::resource, [&] { named("cuda:sm_80"); }),
            "target 'cuda:sm_80' cannot run here: the GPU is of architecture sm_90");
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { named("cuda:sm_999"); }), HasSubstr("sm_999"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { named("cuda:"); }), HasSubstr("behind the colon"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { named("reference:sm_80"); }),
              HasSubstr("target 'reference' has no architectures"));
}

TEST_F(CudaExecutable, AnIndexOutsideItsTableIsTheUsersErrorWhateverReadsTheRows) {
  for (const char* use :
       {"matmul(%rows, %w)", "tanh(%rows)", "gather(%w, cast(%rows) {dtype = i32})"}) {
    const auto executable = compiled(
        (std::string(
             "graph @g(%t: f32[5,3], %i: i32[4], %w: f32[3,2]) {\n  %rows = gather(%t, %i)\n"
             "  return ") +
         use + " }")
            .c_str());
    std::vector<Tensor> inputs{Tensor(Literal::filled({DType::f32, {5, 3}}, 1)),
                               Tensor(Literal::filled({DType::i32, {4}}, 7)),
                               Tensor(Literal::filled({DType::f32, {3, 2}}, 1))};
    std::vector<Tensor> outputs;
    for (const Argument& output : executable->signature().outputs)
      outputs.emplace_back(output.type);
    try {
      executable->run(inputs, outputs);
      ADD_FAILURE() << use;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input) << use;
      EXPECT_THAT(error.what(),
                  HasSubstr("gather: index 7 at position 0 is outside a table of 5 rows"));
    }
  }
}

TEST_F(CudaExecutable, SigmoidOfVeryNegativeNumbersIsNotZero) {
  const auto executable = compiled("graph @s(%x: f32[4]) { return log(sigmoid(%x)) }");
  std::vector<Tensor> inputs{Tensor(Literal::filled({DType::f32, {4}}, -89))}, outputs;
  outputs.emplace_back(Type{DType::f32, {4}});
  executable->run(inputs, outputs);
  EXPECT_NEAR(outputs[0].copy().element(0), -89, 1e-3);
}

TEST_F(CudaExecutable, WithoutMemoryTheLargestBuffersAreNamed) {
  driver_.fail("cuMemAlloc_v2", cuda::CUDA_ERROR_OUT_OF_MEMORY, 1);
  try {
    compiled(kLoop);
    ADD_FAILURE() << "compiled without memory";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::resource);
    EXPECT_THAT(error.what(), HasSubstr("the largest buffers of the plan: "));
  }
  driver_.heal();
  EXPECT_NE(compiled(kLoop), nullptr);
}

}  // namespace
}  // namespace graphc::core::testing
