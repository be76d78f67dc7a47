// SPDX-License-Identifier: Apache-2.0
// The compiler's side that any NVRTC shows, with the mock.
#include "runtime/cuda/nvrtc.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/cuda/mock/error_codes.h"
#include "tests/runtime/cuda/mock_driver.h"
#include "tests/runtime/cuda/scale.h"
#include "tests/testing/expect_error.h"

namespace graphc::core::cuda::testing {
namespace {

using graphc::core::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CudaCompiler, IsDescribed) {
  use_mocks();
  EXPECT_TRUE(nvrtc_present());
  EXPECT_EQ(nvrtc_library().name, "nvrtc");
  EXPECT_EQ(nvrtc_library().version, "13.0");
  EXPECT_EQ(nvrtc_library().path, GRAPHC_MOCK_FOLDER "/libnvrtc.so.13");
  EXPECT_THAT(nvrtc_architectures(), ElementsAre(75, 80, 86, 89, 90));
}

TEST(CudaCompiler, MakesOfTheMockTheText) {
  use_mocks();
  const Compiled cubin = compile_text(kScale, "scale.cu", "sm_90a");
  EXPECT_TRUE(cubin.is_cubin);
  EXPECT_EQ(cubin.image, kScale);
  EXPECT_EQ(cubin.log, "");
  const Compiled ptx = compile_text(kScale, "scale.cu", "compute_80");
  EXPECT_FALSE(ptx.is_cubin);
  EXPECT_EQ(ptx.image, kScale);
  EXPECT_EQ(ptx_of(kScale, "scale.cu", "sm_90a"), kScale);
}

TEST(CudaCompiler, ThePreludeIsTheEmulators) {
  use_mocks();
  const std::string text = fmt::format("{}\nasm();\n{}", kPreludeBegin, kPreludeEnd);
  EXPECT_EQ(compile_text(text + kScale, "scale.cu", "sm_90a").image, "\n\n" + kScale);
}

TEST(CudaCompiler, ATextThatDoesNotCompileIsADefect) {
  use_mocks();
  const auto compile = [] { compile_text("\nint 5;\n", "nest.cu", "sm_90a"); };
  EXPECT_THAT(error_of(ErrorKind::internal, compile),
              HasSubstr("cannot compile nest.cu for sm_90a: nest.cu:2:"));
}

TEST(CudaCompiler, ArchitecturesAreChecked) {
  use_mocks();
  const auto compile = [](const std::string& architecture) {
    return error_of(ErrorKind::input, [&] { compile_text(kScale, "scale.cu", architecture); });
  };
  for (const std::string wrong :
       {"", "sm90", "sm_90b", "sm_090", "compute_", "sm_90a ", "sm_99999"}) {
    EXPECT_EQ(compile(wrong),
              fmt::format("'{}' is no architecture; wanted one like sm_90a or compute_90", wrong));
  }
  EXPECT_EQ(compile("sm_42"),
            "NVRTC 13.0 does not know sm_42; it compiles for sm_75, sm_80, sm_86, sm_89, sm_90");
  EXPECT_EQ(compile("sm_80a"), "'sm_80a' is no architecture; 'a' stands behind sm_90 and newer");
  EXPECT_EQ(compile("sm_90f"), "'sm_90f' is no architecture; 'f' stands behind sm_100 and newer");
}

TEST(CudaCompiler, ArchitecturesOfGpusAreNumbers) {
  use_mocks();
  EXPECT_EQ(architecture_number("sm_90a"), 90);
  EXPECT_EQ(architecture_number("sm_80"), 80);
  const auto refused = [](const std::string& architecture) {
    return error_of(ErrorKind::usage, [&] { architecture_number(architecture); });
  };
  EXPECT_EQ(refused("compute_90"), "'compute_90' is no architecture of a GPU; wanted sm_90");
  EXPECT_THAT(refused("sm_999"), HasSubstr("does not know sm_999"));
  EXPECT_THAT(refused("sm_80a"), HasSubstr("'a' stands behind"));
  EXPECT_THAT(refused(""), HasSubstr("'' is no architecture"));
}

TEST(CudaCompiler, OptionsAreTheCompilers) {
  use_mocks();
  const std::array<std::string, 2> good{"--fmad=false", "--ptxas-options=-v"};
  EXPECT_EQ(compile_text(kScale, "scale.cu", "sm_90a", good).image, kScale);
  const std::array<std::string, 1> bad{"--no-such-option"};
  EXPECT_EQ(error_of(ErrorKind::internal, [&] { compile_text(kScale, "scale.cu", "sm_90a", bad); }),
            "cannot compile scale.cu for sm_90a: nvrtc: error: invalid option --no-such-option");
}

TEST(CudaCompiler, AGpuGetsTheNewestItCanRun) {
  use_mocks();
  EXPECT_EQ(architecture_for(9, 0), "sm_90a");
  EXPECT_EQ(architecture_for(8, 6), "sm_86");
  EXPECT_EQ(architecture_for(8, 7), "compute_86");
  EXPECT_EQ(architecture_for(12, 0), "compute_90");
  EXPECT_EQ(error_of(ErrorKind::resource, [] { architecture_for(7, 0); }),
            "a GPU of compute capability 7.0 is too old for NVRTC 13.0");
}

TEST(CudaCompiler, OneThatDoesNotSayWhatItIsCannotBeUsed) {
  const MockDriver mock;
  for (const char* symbol :
       {"nvrtcVersion", "nvrtcGetNumSupportedArchs", "nvrtcGetSupportedArchs"}) {
    for (const cuda_mock::ErrorCode& code : cuda_mock::kNvrtcCodes) {
      mock.heal();
      mock.fail(symbol, code.value, 1);
      EXPECT_EQ(look_for_nvrtc(places_of_environment()).why_not,
                code.value == 0 ? "" : fmt::format("{}: {}", symbol, code.name));
    }
  }
  mock.heal();
  EXPECT_EQ(look_for_nvrtc(places_of_environment()).why_not, "");
}

TEST(CudaCompiler, WhyATextDoesNotCompileNeedsNoLog) {
  const MockDriver mock;
  for (const char* symbol : {"nvrtcGetProgramLogSize", "nvrtcGetProgramLog"}) {
    mock.heal();
    mock.fail("nvrtcCompileProgram", 1, 1);
    mock.fail(symbol, 11, 1);
    EXPECT_EQ(error_of(ErrorKind::resource, [] { compile_text(kScale, "scale.cu", "sm_90a"); }),
              "cannot compile scale.cu for sm_90a: NVRTC_ERROR_OUT_OF_MEMORY");
    EXPECT_EQ(mock.live(), 0u) << mock.live_text();
  }
}

}  // namespace
}  // namespace graphc::core::cuda::testing
