// SPDX-License-Identifier: Apache-2.0
// Inlined assembly: products of a warp's fragments against loops over the matrices, conversions
// against their definitions, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "tests/cuda/run_text.h"

namespace graphc::core::cuda_emulator {
namespace {

using testing::HasSubstr;

/// A kind of matrix product: how many terms, how many of them are packed into a register, and how.
struct Kind {
  const char* types;
  int terms, pack;
  const char* packed;  ///< of values x and y, the register
  uint32_t kept;       ///< bits of an f32 that an operand has
};

const Kind kinds[] = {
    {"m16n8k8.row.col.f32.tf32.tf32", 8, 1, "__float_as_uint(x)", 0xffffe000u},
    {"m16n8k16.row.col.f32.bf16.bf16", 16, 2,
     "(__float_as_uint(x) >> 16) | (__float_as_uint(y) & 0xffff0000u)", 0xffff0000u},
    {"m16n8k16.row.col.f32.f16.f16", 16, 2, "pair(y, x)", 0xffffe000u},
};

/// d = a b + c of matrices in memory, one warp; the places of elements are those that the PTX ISA
/// lists, by the number i of an element in its fragment.
std::string product_text(const Kind& kind) {
  std::string places;
  if (kind.pack == 1) {
    places =
        "__device__ int a_row(int g, int t, int i) { return i == 0 || i == 2 ? g : g + 8; }\n"
        "__device__ int a_term(int g, int t, int i) { return i < 2 ? t : t + 4; }\n"
        "__device__ int b_term(int g, int t, int i) { return i == 0 ? t : t + 4; }\n";
  } else {
    places =
        "__device__ int a_row(int g, int t, int i) {\n"
        "  return i < 2 || (i >= 4 && i < 6) ? g : g + 8; }\n"
        "__device__ int a_term(int g, int t, int i) {\n"
        "  return i < 4 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8; }\n"
        "__device__ int b_term(int g, int t, int i) {\n"
        "  return i < 2 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8; }\n";
  }
  places +=
      "__device__ int b_column(int g, int t, int i) { return g; }\n"
      "__device__ int c_row(int g, int t, int i) { return i < 2 ? g : g + 8; }\n"
      "__device__ int c_column(int g, int t, int i) { return t * 2 + (i & 1); }\n"
      "__device__ unsigned pair(float upper, float lower) {\n"
      "  unsigned both = 0u;\n"
      "  asm volatile(\"cvt.rn.f16x2.f32 %0, %1, %2;\" : \"=r\"(both) : \"f\"(upper), "
      "\"f\"(lower));\n"
      "  return both;\n}\n";
  const std::string fragment = fmt::format(
      "for (int i = 0; i < {{1}}; i += {0}) {{{{\n"
      "  const float x = {{0}}(i), y = {{0}}(i + {0} - 1);\n"
      "  {{2}}[i / {0}] = {1};\n}}}}\n",
      kind.pack, kind.packed);
  const auto gathered = [&](const char* from, const char* row, const char* column, int count,
                            const char* to) {
    std::string text = fmt::format(fmt::runtime(fragment), "AT", count, to);
    for (size_t at; (at = text.find("AT(")) != std::string::npos;) {
      const size_t end = text.find(')', at);
      const std::string i = text.substr(at + 3, end - at - 3);
      text.replace(
          at, end - at + 1,
          fmt::format("{}[{}(g, t, {}) * {} + {}(g, t, {})]", from, row, i, kind.terms, column, i));
    }
    return text;
  };
  const std::string body =
      "const int g = threadIdx.x / 4, t = threadIdx.x % 4;\n"
      "unsigned l[4] = {}, r[2] = {};\n"
      "float s[4] = {};\n" +
      gathered("a", "a_row", "a_term", 4 * kind.pack, "l") +
      gathered("b", "b_column", "b_term", 2 * kind.pack, "r") +
      "for (int i = 0; i < 4; ++i) s[i] = c[c_row(g, t, i) * 8 + c_column(g, t, i)];\n"
      "asm volatile(\"mma.sync.aligned." +
      kind.types +
      ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\"\n"
      "             : \"+f\"(s[0]), \"+f\"(s[1]), \"+f\"(s[2]), \"+f\"(s[3])\n"
      "             : \"r\"(l[0]), \"r\"(l[1]), \"r\"(l[2]), \"r\"(l[3]), \"r\"(r[0]), "
      "\"r\"(r[1]));\n"
      "for (int i = 0; i < 4; ++i) d[c_row(g, t, i) * 8 + c_column(g, t, i)] = s[i];";
  return places + kernel_text("const float* a, const float* b, const float* c, float* d", body);
}

/// Matrices a [16, terms], b [8, terms] (by column) and c [16, 8], in rows.
struct Matrices {
  std::vector<float> a, b, c;
};

Matrices whole_numbers(int terms, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> numbers(-100, 100);
  Matrices made{std::vector<float>(size_t(16 * terms)), std::vector<float>(size_t(8 * terms)),
                std::vector<float>(128)};
  for (auto* matrix : {&made.a, &made.b, &made.c})
    for (float& x : *matrix) x = float(numbers(random));
  return made;
}

std::vector<float> product_of(const std::string& text, const Matrices& of, uint64_t seed = 0) {
  const Module module(text);
  DeviceMemory memory;
  Array<float> a(memory, "a", of.a), b(memory, "b", of.b), c(memory, "c", of.c),
      d(memory, "d", 128);
  run_kernel(module, launch_of(1, 32, seed), memory, a.data(), b.data(), c.data(), d.data());
  return d.read();
}

/// By loops over the matrices; exact for what is small and whole.
std::vector<float> plain_product(const Matrices& of, int terms) {
  std::vector<float> d;
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      double sum = double(of.c[size_t(row * 8 + column)]);
      for (int k = 0; k < terms; ++k)
        sum += double(of.a[size_t(row * terms + k)]) * double(of.b[size_t(column * terms + k)]);
      d.push_back(float(sum));
    }
  }
  return d;
}

TEST(EmulatorAssembly, AWarpMultipliesMatrices) {
  for (const Kind& kind : kinds) {
    for (unsigned seed = 0; seed < seeds; ++seed) {
      const Matrices of = whole_numbers(kind.terms, seed);
      EXPECT_EQ(product_of(product_text(kind), of, seed), plain_product(of, kind.terms))
          << kind.types;
    }
  }
}

TEST(EmulatorAssembly, AFragmentOfWhichAnyIndexIsExchangedIsAnother) {
  const std::pair<const char*, const char*> exchanged[] = {
      {"i == 0 || i == 2 ? g : g + 8", "i == 0 || i == 1 ? g : g + 8"},
      {"i < 2 ? t : t + 4", "i % 2 == 0 ? t : t + 4"},
      {"i == 0 ? t : t + 4", "i == 1 ? t : t + 4"},
      {"i < 2 || (i >= 4 && i < 6) ? g : g + 8", "i < 4 ? g : g + 8"},
      {"i < 4 ? t * 2 + (i & 1) :", "i % 4 < 2 ? t * 2 + (i & 1) :"},
      {"i < 2 ? t * 2 + (i & 1) :", "i >= 2 ? t * 2 + (i & 1) :"},
      {"b_column(int g, int t, int i) { return g;",
       "b_column(int g, int t, int i) { return 7 - g;"},
      {"c_row(int g, int t, int i) { return i < 2 ?",
       "c_row(int g, int t, int i) { return i >= 2 ?"},
      {"return t * 2 + (i & 1); }", "return t * 2 + 1 - (i & 1); }"},
      {"g = threadIdx.x / 4, t = threadIdx.x % 4", "g = threadIdx.x % 8, t = threadIdx.x / 8"},
      {"\"r\"(l[0]), \"r\"(l[1])", "\"r\"(l[1]), \"r\"(l[0])"},
      {"\"r\"(l[1]), \"r\"(l[2])", "\"r\"(l[2]), \"r\"(l[1])"},
      {"\"r\"(l[2]), \"r\"(l[3])", "\"r\"(l[3]), \"r\"(l[2])"},
      {"\"r\"(r[0]), \"r\"(r[1])", "\"r\"(r[1]), \"r\"(r[0])"},
      {"\"+f\"(s[1]), \"+f\"(s[2])", "\"+f\"(s[2]), \"+f\"(s[1])"},
  };
  int seen = 0;
  for (const Kind& kind : kinds) {
    const Matrices of = whole_numbers(kind.terms, 3);
    for (const auto& [from, to] : exchanged) {
      std::string text = product_text(kind);
      const size_t at = text.find(from);
      if (at == std::string::npos) continue;
      text.replace(at, std::string_view(from).size(), to);
      EXPECT_NE(product_of(text, of), plain_product(of, kind.terms)) << kind.types << ": " << to;
      ++seen;
    }
  }
  EXPECT_EQ(seen, 3 * 12);
}

/// Of numbers with all digits, the bits of the operand that do not count.
TEST(EmulatorAssembly, OfATf32TheLowBitsDoNotCount) {
  const Kind& kind = kinds[0];
  Matrices of = whole_numbers(kind.terms, 1), cut = of;
  std::mt19937 random(5);
  for (auto* matrix : {&of.a, &of.b}) {
    auto& same = matrix == &of.a ? cut.a : cut.b;
    for (size_t i = 0; i < matrix->size(); ++i) {
      const uint32_t bits = std::bit_cast<uint32_t>((*matrix)[i]) | (random() & 0x1fffu);
      (*matrix)[i] = std::bit_cast<float>(bits);
      same[i] = std::bit_cast<float>(bits & 0xffffe000u);
    }
  }
  EXPECT_NE(of.a, cut.a);
  EXPECT_EQ(product_of(product_text(kind), of), product_of(product_text(kind), cut));
}

TEST(EmulatorAssembly, SumsAreCutOffAndNeverNearer) {
  const Kind& kind = kinds[0];
  Matrices of;
  of.a.assign(16 * 8, 0x1p-12f);
  of.b.assign(8 * 8, 0x1p-12f);
  of.c.assign(128, 1);
  // Eight terms of 2^-24 beside a 1: each is lost.
  EXPECT_EQ(product_of(product_text(kind), of), std::vector<float>(128, 1));
  // Toward zero: 1 less next to nothing is the number below 1.
  of.a.assign(16 * 8, 0);
  of.a[0] = -0x1p-12f;
  of.b[0] = 0x1p-13f;
  of.c.assign(128, 0x1.000002p0f);
  EXPECT_EQ(product_of(product_text(kind), of)[0], 0x1.000002p0f) << "the term is below the cut";
  of.a[0] = -0x1.8p-12f;
  of.b[0] = 0x1p-11f;
  EXPECT_EQ(product_of(product_text(kind), of)[0], 1.0f);
  // 2^24 + 1 + 1: the sum is exact, what no f32 holds is cut off.
  of.a[0] = of.a[1] = 1;
  of.b[0] = of.b[1] = 1;
  of.c[0] = 0x1p24f;
  of.a[2] = 1;
  of.b[2] = -1;
  EXPECT_EQ(product_of(product_text(kind), of)[0], 0x1p24f);
}

TEST(EmulatorAssembly, SumsAreAsExactAsTheyClaim) {
  std::mt19937 random(11);
  std::normal_distribution<float> numbers;
  for (const Kind& kind : kinds) {
    Matrices of = whole_numbers(kind.terms, 0);
    for (auto* matrix : {&of.a, &of.b})
      for (float& x : *matrix)
        x = std::bit_cast<float>(std::bit_cast<uint32_t>(numbers(random)) & kind.kept);
    for (float& x : of.c) x = numbers(random);
    const std::vector<float> found = product_of(product_text(kind), of);
    for (int i = 0; i < 128; ++i) {
      double sum = double(of.c[size_t(i)]), magnitudes = std::abs(sum);
      for (int k = 0; k < kind.terms; ++k) {
        const double term = double(of.a[size_t(i / 8 * kind.terms + k)]) *
                            double(of.b[size_t(i % 8 * kind.terms + k)]);
        sum += term;
        magnitudes += std::abs(term);
      }
      EXPECT_NEAR(double(found[size_t(i)]), sum, 20 * 0x1p-23 * magnitudes) << kind.types;
    }
  }
}

std::vector<unsigned> converted(const std::string& instruction, const std::vector<float>& values) {
  const bool pair = instruction.find("x2") != std::string::npos;
  const Module module(kernel_text(
      "const float* in, unsigned* out",
      "const int t = threadIdx.x;\nunsigned y;\nasm volatile(\"" + instruction +
          (pair ? " %0, %1, %2;\" : \"=r\"(y) : \"f\"(in[2 * t]), \"f\"(in[2 * t + 1]));"
                : " %0, %1;\" : \"=r\"(y) : \"f\"(in[t]));") +
          "\nout[t] = y;"));
  DeviceMemory memory;
  const size_t count = pair ? values.size() / 2 : values.size();
  Array<float> in(memory, "in", values);
  Array<unsigned> out(memory, "out", count);
  run_kernel(module, launch_of(1, unsigned(count)), memory, in.data(), out.data());
  return out.read();
}

TEST(EmulatorAssembly, AReciprocalIsOffByLessThanAUnit) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> of{1, 2, 3, 1.5f, 0x1.fffffep0f, -7, infinity, 0, 0x1p127f, 0x1p-140f};
  const Module module(kernel_text(
      "const float* in, float* out",
      "float y = 0.0f;\nasm(\"rcp.approx.ftz.f32 %0, %1;\" : \"=f\"(y) : \"f\"(in[threadIdx.x]));\n"
      "out[threadIdx.x] = y;"));
  DeviceMemory memory;
  Array<float> in(memory, "in", of);
  Array<float> out(memory, "out", of.size());
  run_kernel(module, launch_of(1, unsigned(of.size())), memory, in.data(), out.data());
  const std::vector<float> found = out.read();
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_LE(std::abs(double(found[i])), std::abs(1 / double(of[i])));
    EXPECT_GT(std::abs(double(std::nextafter(found[i], 2 * found[i]))), std::abs(1 / double(of[i])))
        << "rounded to zero";
  }
  EXPECT_THAT(std::vector(found.begin() + 6, found.end()),
              ::testing::ElementsAre(0, infinity, 0, infinity));  // denormals are zeros
}

TEST(EmulatorAssembly, ConversionsRoundAsTheyAreSpecified) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<unsigned> tf32 =
      converted("cvt.rna.tf32.f32", {1, 0x1.002p0f, 0x1.001ffep0f, -0x1.002p0f, infinity, 0});
  for (unsigned& bits : tf32) bits &= 0xffffe000u;
  EXPECT_EQ(tf32,
            (std::vector<unsigned>{0x3f800000, 0x3f802000, 0x3f800000, 0xbf802000, 0x7f800000, 0}));
  // The first becomes the upper half; ties go to the even one.
  EXPECT_EQ(converted("cvt.rn.bf16x2.f32", {1, -2, 0x1.01p0f, 0x1.03p0f, 0x1.0101p0f, infinity}),
            (std::vector<unsigned>{0x3f80c000, 0x3f803f82, 0x3f817f80}));
  EXPECT_EQ(converted("cvt.rn.f16x2.f32", {1, -2, 65519, 65520, 0x1p-24f, 0x1p-25f, 0x1.8p-24f,
                                           -0x1p-14f, 0x1.002p0f, 0x1.006p0f}),
            (std::vector<unsigned>{0x3c00c000, 0x7bff7c00, 0x00010000, 0x00028400, 0x3c003c02}));
}

/// What a kernel says that moves two numbers, `first` numbers behind the array's begin, to where
/// as many are before its end.
std::string moved(bool by_words, int first, std::vector<float>& found) {
  const std::string pair =
      "float x, y;\n"
      "asm volatile(\"ld.global.v2.f32 {%0, %1}, [%2];\" : \"=f\"(x), \"=f\"(y) : \"l\"(in + "
      "first) "
      ": \"memory\");\n"
      "asm volatile(\"st.global.v2.f32 [%0], {%1, %2};\" : : \"l\"(out + 6 - first), \"f\"(x), "
      "\"f\"(y) : \"memory\");";
  const std::string words =
      "unsigned x;\n"
      "asm volatile(\"ld.global.u32 %0, [%1];\" : \"=r\"(x) : \"l\"(in + first) : \"memory\");\n"
      "asm volatile(\"st.global.u32 [%0], %1;\" : : \"l\"(out + 7 - first), \"r\"(x) : "
      "\"memory\");";
  const Module module(
      kernel_text("const float* in, float* out, int first", by_words ? words : pair));
  DeviceMemory memory;
  Array<float> in(memory, "in", {0, 1, 2, 3, 4, 5, 6, 7}), out(memory, "out", 8);
  std::string message = message_of(
      [&] { run_kernel(module, launch_of(1, 1), memory, in.data(), out.data(), first); });
  found = out.values();
  return message;
}

TEST(EmulatorAssembly, PairsOfNumbersAreAlignedAndInside) {
  std::vector<float> found;
  EXPECT_EQ(moved(false, 2, found), "");
  EXPECT_EQ(found[4], 2);
  EXPECT_EQ(found[5], 3);
  EXPECT_EQ(moved(true, 3, found), "");
  EXPECT_EQ(found[4], 3);
  EXPECT_THAT(moved(false, 3, found), HasSubstr("read of 8 bytes that is not aligned: at byte 12"));
  EXPECT_THAT(moved(false, 8, found), HasSubstr("read of 8 bytes past the end of 'in'"));
  EXPECT_THAT(moved(false, -2, found), HasSubstr("read of 8 bytes outside any allocation"));
}

/// What a kernel of this many threads says.
std::string fault_of(const std::string& body, unsigned threads) {
  const Module module(kernel_text("float* out", body));
  DeviceMemory memory;
  Array<float> out(memory, "out", threads);
  return message_of([&] { run_kernel(module, launch_of(1, threads), memory, out.data()); });
}

const std::string multiplied =
    "asm volatile(\"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, \"\n"
    "  \"{%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};\"\n"
    "  : \"+f\"(s), \"+f\"(p), \"+f\"(q), \"+f\"(r) : \"r\"(x));\n";
const std::string registers =
    "float s = 0.0f, p = 0.0f, q = 0.0f, r = 0.0f; unsigned x = __float_as_uint(1.0f);\n";

TEST(EmulatorAssembly, AWarpComesTogether) {
  const std::string after = "out[threadIdx.x] = s + p + q + r;";
  EXPECT_EQ(fault_of(registers + multiplied + after, 64), "");
  EXPECT_THAT(fault_of(registers + "if (threadIdx.x < 16) {\n" + multiplied + "}\n" + after, 32),
              HasSubstr("names lanes that never come"));
  EXPECT_THAT(fault_of(registers + multiplied + after, 24), HasSubstr("line 3, "));
  EXPECT_THAT(fault_of(registers + "if (threadIdx.x < 16) {\n" + multiplied + "} else {\n" +
                           multiplied + "}\n" + after,
                       32),
              HasSubstr("deadlock: it waits for the lanes 0xffffffff of its warp"));
  EXPECT_THAT(fault_of(registers + "__shared__ float m[32];\nm[threadIdx.x] = 1.0f;\n" +
                           multiplied + "out[threadIdx.x] = m[31 - threadIdx.x];",
                       32),
              HasSubstr("race: "))
      << "it orders nothing";
}

TEST(EmulatorAssembly, WhatIsNotOfItIsRefused) {
  const auto refused = [](const std::string& text) {
    return message_of(
        [&] { const Module module(kernel_text("float* out, float f, unsigned x", text)); });
  };
  const auto convert = [&](const std::string& text, const std::string& operands) {
    return refused("asm volatile(\"" + text + "\"" + operands + ");");
  };
  const std::string fits = " : \"=r\"(x) : \"f\"(f)", cvt = "cvt.rna.tf32.f32 ";
  EXPECT_EQ(convert(cvt + "%0, %1;", fits), "");
  EXPECT_EQ(refused("asm volatile(\"cvt.rna.tf32.f32 \" \"%0, %1;\"" + fits + ");"), "");
  EXPECT_THAT(refused("asm(\"" + cvt + "%0, %1;\"" + fits + ");"), HasSubstr("wanted 'volatile'"));
  EXPECT_THAT(convert("bar.sync 0;", fits), HasSubstr("found the instruction 'bar.sync', wanted"));
  EXPECT_THAT(convert("cvt.rz.tf32.f32 %0, %1;", fits), HasSubstr("found the instruction"));
  EXPECT_THAT(convert(cvt + "%0, %1", fits), HasSubstr("found '', wanted ';'"));
  EXPECT_THAT(convert(cvt + "%0, %1; ret;", fits), HasSubstr("found 'ret;', wanted one instruc"));
  EXPECT_THAT(convert(cvt + "%0, %2;", fits), HasSubstr("there is no %2"));
  EXPECT_THAT(convert(cvt + "%0, {%1};", fits), HasSubstr("found '{%1};', wanted '%'"));
  EXPECT_THAT(convert(cvt + "%1, %0;", fits), HasSubstr("%1 is \"f\", wanted \"r\""));
  EXPECT_THAT(convert(cvt + "%0, %1;", " : \"=r\"(x) : \"f\"(f), \"f\"(f)"),
              HasSubstr("%2 is \"f\": it is written 0 times and read 0 times"));
  EXPECT_THAT(convert(cvt + "%0, %1;", " : \"+r\"(x) : \"f\"(f)"),
              HasSubstr("%0 is \"+r\": it is written 1 times and read 0 times"));
  EXPECT_THAT(convert(cvt + "%0, %1;", " : \"=r\"(f) : \"f\"(f)"),
              HasSubstr("found \"=r\" of type float, wanted unsigned"));
  EXPECT_THAT(convert(cvt + "%0, %1;", " : \"=r\"(3u) : \"f\"(f)"), HasSubstr("found a value"));
  EXPECT_THAT(convert(cvt + "%0, %1;", " : \"=r\"(x) : \"f\"(f) : \"memory\""),
              HasSubstr("found ':', wanted ')'"));
  EXPECT_THAT(convert(cvt + "%0, %1;", " : \"=d\"(x) : \"f\"(f)"),
              HasSubstr("wanted the constraint"));
}

}  // namespace
}  // namespace graphc::core::cuda_emulator
