// SPDX-License-Identifier: Apache-2.0
// With the NVRTC of this machine, where there is one; it needs no GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "runtime/cuda/nvrtc.h"
#include "tests/runtime/cuda/scale.h"
#include "tests/testing/expect_error.h"

namespace graphc::core::cuda::testing {
namespace {

using graphc::core::testing::error_of;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class RealCompiler : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!nvrtc_present()) GTEST_SKIP() << "needs libnvrtc: " << nvrtc_library().why_not;
  }
  /// The newest architecture this NVRTC knows.
  const std::string newest() const { return std::to_string(nvrtc_architectures().back()); }
};

TEST_F(RealCompiler, MakesACubin) {
  const Compiled compiled = compile_text(kScale, "scale.cu", "sm_" + newest());
  EXPECT_TRUE(compiled.is_cubin);
  EXPECT_THAT(compiled.image, StartsWith("\x7f"
                                         "ELF"));
  EXPECT_THAT(compiled.image, HasSubstr("scale"));
  EXPECT_EQ(compiled.log, "");
}

TEST_F(RealCompiler, MakesPtx) {
  const Compiled compiled = compile_text(kScale, "scale.cu", "compute_" + newest());
  EXPECT_FALSE(compiled.is_cubin);
  EXPECT_THAT(compiled.image, HasSubstr(".entry scale("));
  const std::string ptx = ptx_of(kScale, "scale.cu", "sm_" + newest());
  EXPECT_THAT(ptx, HasSubstr(".target sm_" + newest()));
  EXPECT_NE(ptx.back(), '\0');
}

TEST_F(RealCompiler, SaysTheSameOfTheSameText) {
  const auto once = [&] { return compile_text(kScale, "scale.cu", "sm_" + newest()).image; };
  EXPECT_EQ(once(), once());
}

TEST_F(RealCompiler, OptionsReachIt) {
  const std::array<std::string, 1> verbose{"--ptxas-options=-v"};
  EXPECT_THAT(compile_text(kScale, "scale.cu", "sm_" + newest(), verbose).log,
              HasSubstr("registers"));
  const std::string text =
      "extern \"C\" __global__ void f(float* x, float y) { *x = *x * y + 1.0f; }";
  const std::array<std::string, 1> apart{"--fmad=false"};
  EXPECT_THAT(ptx_of(text, "f.cu", "sm_" + newest()), HasSubstr("fma.rn.f32"));
  EXPECT_THAT(ptx_of(text, "f.cu", "sm_" + newest(), apart), Not(HasSubstr("fma.rn.f32")));
}

TEST_F(RealCompiler, ErrorsNameTheLine) {
  try {
    compile_text("\n\nthis is not C++\n", "nest.cu", "sm_" + newest());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
    EXPECT_THAT(error.message(),
                StartsWith("cannot compile nest.cu for sm_" + newest() + ": nest.cu(3): error: "));
    EXPECT_FALSE(error.notes().empty());
  }
}

TEST_F(RealCompiler, OptionsThatItDoesNotKnowAreRefused) {
  const std::array<std::string, 1> bad{"--no-such-option"};
  EXPECT_THAT(error_of(ErrorKind::internal,
                       [&] { compile_text(kScale, "scale.cu", "sm_" + newest(), bad); }),
              HasSubstr("--no-such-option"));
  EXPECT_THAT(error_of(ErrorKind::input, [] { compile_text(kScale, "scale.cu", "sm_42"); }),
              HasSubstr("does not know sm_42"));
  EXPECT_THAT(error_of(ErrorKind::input, [] { compile_text(kScale, "scale.cu", "sm_80a"); }),
              HasSubstr("'a' stands behind sm_90"));
}

TEST_F(RealCompiler, TwoThreadsCompile) {
  const std::string architecture = "sm_" + newest();
  std::array<std::string, 2> images;
  std::array threads{
      std::thread([&] { images[0] = compile_text(kScale, "scale.cu", architecture).image; }),
      std::thread([&] { images[1] = compile_text(kScale, "scale.cu", architecture).image; })};
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(images[0], images[1]);
  EXPECT_FALSE(images[0].empty());
}

}  // namespace
}  // namespace graphc::core::cuda::testing
