// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/jit/jit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <thread>
#include <vector>

#include "codegen/targets/cpu/math/vector_math.h"
#include "ir/error.h"
#include "tests/codegen/cpu/any_cpu.h"

namespace graphc::core::cpu {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

MathLoop add_loop(Jit& jit, MathFunction function) {
  return reinterpret_cast<MathLoop>(
      jit.add(emit_math_loop(jit.cpu(), function, jit.cpu().vector_lanes_f32), name_of(function)));
}

void expect_roots(MathLoop roots) {
  std::vector<float> x(48), y(48, -1);
  for (size_t i = 0; i < x.size(); ++i) x[i] = float(i) * 0.37f;
  roots(x.data(), y.data(), 32);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(y[i], i < 32 ? std::sqrt(x[i]) : -1) << "at " << i;
  }
}

ErrorKind error_kind(const std::function<void()>& act, std::string* text = nullptr) {
  try {
    act();
  } catch (const Error& error) {
    if (text != nullptr) *text = error.what();
    return error.kind();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(JitCpu, CompilesAndRunsOnEveryLevel) {
  for (const CpuFeatures& cpu : cpus_of()) {
    SCOPED_TRACE(cpu.name);
    Jit jit(cpu);
    expect_roots(add_loop(jit, MathFunction::sqrt));
  }
}

TEST(JitCpu, CountsAndTimesItsKernels) {
  Jit jit;
  EXPECT_GT(jit.times().create_s, 0);
  EXPECT_EQ(jit.times().objects_compiled, 0);
  add_loop(jit, MathFunction::exp);
  const ObjectCode object =
      jit.compile(emit_math_loop(jit.cpu(), MathFunction::log, jit.cpu().vector_lanes_f32));
  const JitTimes times = jit.times();
  EXPECT_EQ(times.objects_compiled, 2);
  EXPECT_EQ(times.objects_linked, 1);
  EXPECT_GT(times.emit_s, 0);
  EXPECT_GT(times.codegen_s, 0);
  EXPECT_GT(times.link_s, 0);
}

TEST(JitCpu, SymbolsOfDifferentKernelsDoNotCollide) {
  Jit jit;
  const auto first = add_loop(jit, MathFunction::sqrt);
  const auto second = add_loop(jit, MathFunction::sqrt);
  EXPECT_NE(first, second);
  expect_roots(first);
  expect_roots(second);
}

TEST(JitCpu, AnObjectLoadsIntoAnotherJit) {
  ObjectCode object;
  std::string identity;
  {
    Jit jit;
    identity = jit.identity();
    object = jit.compile(emit_math_loop(jit.cpu(), MathFunction::sqrt, jit.cpu().vector_lanes_f32));
  }
  Jit jit;
  EXPECT_EQ(jit.identity(), identity);
  EXPECT_NE(jit.identity(), Jit(cpu_named("x86-64")).identity());
  expect_roots(reinterpret_cast<MathLoop>(jit.link(object, "sqrt")));
}

TEST(JitCpu, TheSameKernelGivesTheSameBytes) {
  const auto bytes = [] {
    Jit jit;
    return jit.compile(emit_math_loop(jit.cpu(), MathFunction::tanh, 8)).bytes;
  };
  EXPECT_EQ(bytes(), bytes());
}

// A code generator serves one kernel after another, and remembers none.
TEST(JitCpu, AKernelIsTheSameBytesAfterOthers) {
  Jit jit;
  const auto bytes = [&](MathFunction function) {
    return jit.compile(emit_math_loop(jit.cpu(), function, 8)).bytes;
  };
  const std::string first = bytes(MathFunction::tanh);
  EXPECT_NE(bytes(MathFunction::exp), first);
  EXPECT_EQ(bytes(MathFunction::tanh), first);
}

TEST(JitCpu, ThreadsCompileAtTheSameTime) {
  Jit jit;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { expect_roots(add_loop(jit, MathFunction::sqrt)); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(jit.times().objects_linked, 4);
}

TEST(JitCpu, NoPageIsWritableAndExecutable) {
  Jit jit;
  const auto address = reinterpret_cast<uintptr_t>(add_loop(jit, MathFunction::exp));
  std::ifstream maps("/proc/self/maps");
  std::string line, rights_of_code;
  int mappings = 0;
  while (std::getline(maps, line)) {
    ++mappings;
    unsigned long begin = 0, end = 0;
    char rights[5] = {};
    ASSERT_EQ(std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, rights), 3) << line;
    EXPECT_FALSE(rights[1] == 'w' && rights[2] == 'x') << line;
    if (begin <= address && address < end) rights_of_code = rights;
  }
  EXPECT_GT(mappings, 5);
  EXPECT_EQ(rights_of_code, "r-xp");
}

TEST(Jit, AssemblyKeepsToTheInstructionsOfTheLevel) {
  const CpuFeatures v4 = any_cpu("x86-64-v4"), v3 = any_cpu("x86-64-v3"), v1 = any_cpu("x86-64");
  for (MathFunction function : all_math_functions()) {
    SCOPED_TRACE(name_of(function));
    const auto assembly = [&](const CpuFeatures& cpu) {
      return Jit(cpu).assembly(emit_math_loop(cpu, function, cpu.vector_lanes_f32));
    };
    const std::string a4 = assembly(v4), a3 = assembly(v3), a1 = assembly(v1);
    EXPECT_THAT(a4, HasSubstr("zmm"));
    EXPECT_THAT(a3, HasSubstr("ymm"));
    EXPECT_THAT(a3, Not(HasSubstr("zmm")));
    EXPECT_THAT(a1, HasSubstr("xmm"));
    EXPECT_THAT(a1, Not(ContainsRegex("ymm|zmm|vf?n?m(add|sub)|[\t ]v[a-z]+ps")));
    for (const std::string& text : {a4, a3, a1}) EXPECT_THAT(text, Not(HasSubstr("call")));
  }
}

TEST(Jit, AssemblyLeavesTheKernelAsItWas) {
  Jit jit;
  const CodeModule kernel = emit_math_loop(jit.cpu(), MathFunction::sqrt, 4);
  const std::string before = kernel.ir_text();
  EXPECT_THAT(before, HasSubstr("define void @sqrt(ptr %0, ptr %1, i64 %2)"));
  EXPECT_THAT(jit.assembly(kernel), HasSubstr("sqrtps"));
  EXPECT_EQ(kernel.ir_text(), before);
}

TEST(Jit, AKernelForAnotherCpuIsADefect) {
  Jit jit(cpu_named("x86-64"));
  CpuFeatures other = jit.cpu();
  other.vector_lanes_f32 = 8;
  std::string text;
  EXPECT_EQ(error_kind([&] { jit.compile(emit_math_loop(other, MathFunction::exp, 4)); }, &text),
            ErrorKind::internal);
  EXPECT_THAT(text, HasSubstr("x86-64"));
}

TEST(Jit, ASymbolTheObjectLacksIsNamed) {
  Jit jit;
  std::string text;
  EXPECT_EQ(error_kind([&] { jit.add(emit_math_loop(jit.cpu(), MathFunction::exp, 4), "nothing"); },
                       &text),
            ErrorKind::internal);
  EXPECT_THAT(text, HasSubstr("nothing"));
}

TEST(Jit, BytesThatAreNoObjectAreRefused) {
  Jit jit;
  EXPECT_EQ(error_kind([&] { jit.link({"this is no object file"}, "exp"); }), ErrorKind::internal);
  std::string bytes = jit.compile(emit_math_loop(jit.cpu(), MathFunction::exp, 4)).bytes;
  bytes.resize(bytes.size() / 2);
  EXPECT_EQ(error_kind([&] { jit.link({bytes}, "exp"); }), ErrorKind::internal);
}

}  // namespace
}  // namespace graphc::core::cpu
