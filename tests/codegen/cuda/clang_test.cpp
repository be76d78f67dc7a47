// SPDX-License-Identifier: Apache-2.0
// A second compiler: clang++ makes PTX of the very texts that NVRTC compiles, with a prelude for
// what NVRTC has built in, and has nothing to warn of but variables that a text does not need. It
// gets the kernels of every op, and of the others a sample (tests/testing/samples.h).
// Skipped where there is no clang++-19 (package clang-19).
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "models/registry.h"
#include "tests/codegen/cuda/clang_prelude.h"
#include "tests/codegen/cuda/kernel_texts.h"
#include "tests/testing/counts.h"
#include "tests/testing/samples.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core::testing {
namespace {

/// -Wsign-compare: threadIdx.x is unsigned, and compared with what is not negative. -Wpass-failed:
/// clang does not write out a few turns of a loop with instructions of a whole warp; NVRTC does.
constexpr const char* kCommand =
    "clang++-19 -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 --cuda-path=/nonexistent "
    "-nocudainc -nocudalib -S -std=c++17 -O1 -ffp-contract=off -Xclang -target-feature -Xclang "
    "+ptx70 -Wall -Wextra -Wno-unused-variable -Wno-sign-compare -Wno-pass-failed "
    "-Werror ";

bool has_clang() { return std::system("clang++-19 --version > /dev/null 2>&1") == 0; }

std::string content_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// What clang++ says of a text, or that its PTX has not the kernel; nothing where all is well.
std::string fault_of(const TemporaryFolder& folder, size_t number, const std::string& text,
                     const std::string& name) {
  const std::string file = fmt::format("{}.cu", number);
  const std::string at = folder.add(file, text).string();
  const std::string command =
      fmt::format("{0} -include {1}/prelude.h {2} -o {2}.ptx > {2}.log 2>&1", kCommand,
                  folder.path().string(), at);
  if (std::system(command.c_str()) != 0) return content_of(at + ".log");
  const std::string ptx = content_of(at + ".ptx");
  return ptx.find(".entry " + name + "(") == std::string::npos ? "no entry: " + ptx : "";
}

/// The same of all, on two threads.
std::vector<std::string> faults_of(const std::vector<std::pair<std::string, std::string>>& texts) {
  const TemporaryFolder folder;
  folder.add("prelude.h", clang_prelude());
  std::vector<std::string> faults(texts.size());
  std::atomic<size_t> next = 0;
  const auto compile = [&] {
    for (size_t i = next++; i < texts.size(); i = next++)
      faults[i] = fault_of(folder, i, texts[i].first, texts[i].second);
  };
  std::thread other(compile);
  compile();
  other.join();
  return faults;
}

class Clang : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_clang()) GTEST_SKIP() << "needs clang++-19";
  }
};

TEST_F(Clang, CompilesTheKernelsThatNvrtcCompiles) {
  KernelTexts texts = texts_of_lstm("sm_80");
  texts.merge(texts_of_model("sm_80", "ptb-lm", {"size=test"}));
  texts.merge(texts_on_tensor_cores(
      "sm_80", {Precision::tf32x3, Precision::tf32, Precision::bf16, Precision::fp16}));
  size_t number = 0;
  std::erase_if(texts, [&](const auto&) { return !is_sampled(number++, 4); });
  texts.merge(texts_of_ops("sm_80"));
  const std::vector<std::pair<std::string, std::string>> all(texts.begin(), texts.end());
  EXPECT_GT(all.size(), 120u);
  const std::vector<std::string> faults = faults_of(all);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(faults[i], "") << all[i].first;
  count("CUDA kernels compiled by clang++", int64_t(all.size()));
}

TEST_F(Clang, RefusesATextThatIsNone) {
  const std::string head = "extern \"C\" __global__ void f(float* x) { ";
  const std::vector<std::string> faults = faults_of({{head + "x[0] = 1.0f; }", "f"},
                                                     {head + "x[0] = y; }", "f"},
                                                     {head + "float y; x[0] = y; }", "f"}});
  EXPECT_EQ(faults[0], "");
  EXPECT_NE(faults[1].find("undeclared identifier 'y'"), std::string::npos) << faults[1];
  EXPECT_NE(faults[2].find("uninitialized"), std::string::npos) << faults[2];
}

}  // namespace
}  // namespace graphc::core::testing
