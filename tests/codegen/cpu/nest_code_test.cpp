// SPDX-License-Identifier: Apache-2.0
// Kernels of the CPU that are kept on disk: found by equal ones alone, whatever became of the
// files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "codegen/compile.h"
#include "codegen/target.h"
#include "codegen/targets/cpu/cpu_features.h"
#include "ir/text.h"
#include "runtime/files/files.h"
#include "tests/testing/kernel_folder.h"

namespace graphc::core {
namespace {

using ::testing::HasSubstr;
namespace filesystem = std::filesystem;

/// Three kernels: a sum over rows, what is made of it, and the rows without it.
constexpr const char* kGraph = R"(
graph @centred(%x: f32[5, 7]) {
  %y = sub(%x, mul(sum(%x) {axes = [0]}, 0.2))
  return %y
}
)";

/// The environment names this folder as the cache.
class KernelsOnDiskCpu : public ::testing::Test {
 protected:
  /// Compiles what has the folder alone in common with the processes before it, and runs it.
  static CompileReport compiled_anew(const CompileOptions& options = {},
                                     const std::string& text = kGraph, double wanted = 0) {
    clear_code_caches();
    CompileReport report;
    const auto executable = compile(parse_graph(text), targets::cpu, options, report);
    std::vector<Tensor> inputs{Tensor(Literal::filled({DType::f32, {5, 7}}, 3))};
    std::vector<Tensor> outputs{Tensor(Type{DType::f32, {5, 7}})};
    executable->run(inputs, outputs);
    EXPECT_NEAR(outputs[0].copy().element(34), wanted, 1e-6);
    return report;
  }

  testing::KernelFolder kept_;
};

TEST_F(KernelsOnDiskCpu, AreCompiledOnce) {
  const CompileReport first = compiled_anew(), second = compiled_anew();
  EXPECT_GT(first.kernels, 0);
  EXPECT_EQ(first.cache_hits, 0);
  EXPECT_EQ(second.kernels, 0);
  EXPECT_EQ(second.cache_hits, first.kernels);
  EXPECT_EQ(kept_.files().size(), size_t(first.kernels));
}

TEST_F(KernelsOnDiskCpu, AreOfOneBody) {
  const int64_t all = compiled_anew().kernels;
  std::string other = kGraph;
  other.replace(other.find("sub"), 3, "add");
  // One kernel of the three is another.
  const int64_t anew = compiled_anew({}, other, 6).kernels;
  EXPECT_EQ(anew, 1);
  EXPECT_EQ(compiled_anew({}, other, 6).kernels, 0);
  EXPECT_EQ(kept_.files().size(), size_t(all + anew));
}

TEST_F(KernelsOnDiskCpu, AreOfOneProcessor) {
  const int64_t all = compiled_anew({.architecture = "x86-64"}).kernels;
  if (cpu::host_cpu().name != "x86-64") {
    EXPECT_EQ(compiled_anew().kernels, all);
  }
  EXPECT_EQ(compiled_anew({.architecture = "x86-64"}).kernels, 0);
}

TEST_F(KernelsOnDiskCpu, AreNotLookedAtByWhoWantsNone) {
  const int64_t all = compiled_anew().kernels;
  EXPECT_EQ(compiled_anew({.disk_cache = false}).kernels, all);
  kept_.choose("none");
  EXPECT_EQ(compiled_anew().kernels, all);
  kept_.choose(kept_.path() / "another");
  EXPECT_EQ(compiled_anew({.disk_cache = false}).kernels, all);
  EXPECT_FALSE(filesystem::exists(kept_.path() / "another"));
}

TEST_F(KernelsOnDiskCpu, AreCompiledAgainWhereFilesAreDamaged) {
  const int64_t all = compiled_anew().kernels;
  const std::function<void(std::string&)> damages[] = {
      [](std::string& bytes) { bytes[0] ^= 1; },
      [](std::string& bytes) { bytes[bytes.size() / 2] ^= 1; },
      [](std::string& bytes) { bytes.back() ^= 1; },
      [](std::string& bytes) { bytes.resize(bytes.size() / 2); },
      [](std::string& bytes) { bytes.clear(); },
  };
  for (const auto& damage : damages) {
    for (const filesystem::path& file : kept_.files()) {
      std::string bytes = read_file(file);
      damage(bytes);
      std::ofstream(file, std::ios::binary) << bytes;
    }
    EXPECT_EQ(compiled_anew().kernels, all);
    EXPECT_EQ(compiled_anew().kernels, 0);
  }
}

/// A file that was put in another one's place says whose it is.
TEST_F(KernelsOnDiskCpu, AreCompiledAgainWhereFilesAreExchanged) {
  const int64_t all = compiled_anew().kernels;
  const std::vector<filesystem::path> each = kept_.files();
  ASSERT_GE(each.size(), 2u);
  filesystem::rename(each[0], kept_.path() / "aside");
  filesystem::rename(each[1], each[0]);
  filesystem::rename(kept_.path() / "aside", each[1]);
  EXPECT_EQ(compiled_anew().kernels, 2);
  EXPECT_EQ(compiled_anew().cache_hits, all);
}

TEST_F(KernelsOnDiskCpu, AreARemarkWhereTheyCannotBeKept) {
  kept_.choose("/proc/graphc");
  const CompileReport report = compiled_anew();
  EXPECT_GT(report.kernels, 0);
  ASSERT_FALSE(report.remarks.empty());
  EXPECT_THAT(report.remarks.back().text,
              HasSubstr("kernels are not kept: cannot make the folder '/proc/graphc'"));
}

/// Matrix tiles in software are functions of the process that compiled: others have them elsewhere.
TEST_F(KernelsOnDiskCpu, AreNotThoseOfTilesInSoftware) {
  const std::string text = R"(
graph @product(%x: f32[5, 7], %w: f32[7, 7]) {
  return matmul(%x, %w)
}
)";
  CompileOptions options;
  options.architecture = "x86-64+tiles";
  options.precision = Precision::bf16;
  for (int time = 0; time < 2; ++time) {
    clear_code_caches();
    CompileReport report;
    compile(parse_graph(text), targets::cpu, options, report);
    EXPECT_EQ(report.cache_hits, 0);
    EXPECT_GT(report.kernels, 0);
  }
  EXPECT_EQ(kept_.files().size(), 0u);
}

}  // namespace
}  // namespace graphc::core
