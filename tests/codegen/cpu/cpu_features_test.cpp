// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/cpu_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/error.h"
#include "tests/codegen/cpu/any_cpu.h"

namespace graphc::core::cpu {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string usage_error(std::string_view name, const CpuFeatures& host) {
  try {
    cpu_named(name, host);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  ADD_FAILURE() << "no error for " << name;
  return {};
}

TEST(CpuFeatures, LevelsDifferInWidthAndInstructions) {
  const CpuFeatures v4 = any_cpu("x86-64-v4"), v3 = any_cpu("x86-64-v3"), v1 = any_cpu("x86-64");
  EXPECT_EQ(v4.vector_lanes_f32, 16);
  EXPECT_EQ(v4.vector_registers, 32);
  EXPECT_TRUE(v4.has_avx512 && v4.has_fma && v4.has_sse41);
  EXPECT_FALSE(v4.has_avx512_bf16);
  EXPECT_EQ(v3.vector_lanes_f32, 8);
  EXPECT_EQ(v3.vector_registers, 16);
  EXPECT_TRUE(v3.has_fma && v3.has_sse41);
  EXPECT_FALSE(v3.has_avx512);
  EXPECT_EQ(v1.vector_lanes_f32, 4);
  EXPECT_FALSE(v1.has_fma || v1.has_sse41 || v1.has_avx512);
}

TEST(CpuFeatures, UnknownNameListsTheKnownOnes) {
  const std::string text = usage_error("pentium", host_cpu());
  EXPECT_THAT(text, HasSubstr("unknown cpu 'pentium'"));
  for (std::string_view name : cpu_names()) EXPECT_THAT(text, HasSubstr(std::string(name)));
}

TEST(CpuFeatures, DotProductsStandForTilesWhereAskedFor) {
  CpuFeatures host = any_cpu_with_matrix_tiles();
  EXPECT_THAT(usage_error("native+bf16", host), HasSubstr("lacks avx512bf16"));
  host.has_avx512_bf16 = true;
  EXPECT_EQ(cpu_named("native", host).matrix_tiles, MatrixTiles::hardware);
  EXPECT_EQ(cpu_named("native+bf16", host).matrix_tiles, MatrixTiles::dot_products);
  const CpuFeatures level = cpu_named("x86-64-v4+bf16", host);
  EXPECT_EQ(level.matrix_tiles, MatrixTiles::dot_products);
  EXPECT_EQ(level.features, "+avx512bf16");
  EXPECT_THAT(
      usage_error("x86-64-v3+bf16", host),
      HasSubstr(
          "cpu 'x86-64-v3+bf16': wanted native or x86-64-v4 before '+bf16': found 'x86-64-v3'"));
}

TEST(CpuFeatures, ALevelTheHostLacksNamesWhatIsMissing) {
  CpuFeatures host = any_cpu("x86-64-v3");
  host.llvm_name = "haswell";
  host.features = kEverything;
  const std::string removed = ",+avx512bw";
  host.features.erase(host.features.find(removed), removed.size());
  host.features += ",-avx512bw";
  const std::string text = usage_error("x86-64-v4", host);
  EXPECT_THAT(text, HasSubstr("'x86-64-v4'"));
  EXPECT_THAT(text, HasSubstr("haswell"));
  EXPECT_THAT(text, HasSubstr("lacks avx512bw"));
  EXPECT_THAT(text, Not(HasSubstr("avx512f")));
  EXPECT_EQ(cpu_named("x86-64-v3", host).vector_lanes_f32, 8);
}

TEST(CpuFeatures, WhatAHostCanRunStartsWithItself) {
  CpuFeatures host;
  host.name = "native";
  host.llvm_name = "haswell";
  host.features = "+sse,+sse2";
  const auto cpus = cpus_of(host);
  ASSERT_EQ(cpus.size(), 2u);
  EXPECT_EQ(cpus[0], host);
  EXPECT_EQ(cpus[1].name, "x86-64");
  EXPECT_EQ(cpu_named("native", host), host);
  EXPECT_EQ(cpu_named("haswell", host), host) << "as messages name it";
}

TEST(CpuFeatures, TheHostIsDetected) {
  EXPECT_EQ(host_cpu().name, "native");
  EXPECT_THAT(host_cpu().features, HasSubstr("+sse2"));
  EXPECT_EQ(host_cpu().vector_lanes_f32, cpus_of()[1].vector_lanes_f32);
}

}  // namespace
}  // namespace graphc::core::cpu
