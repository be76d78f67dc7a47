// SPDX-License-Identifier: Apache-2.0
// Machine code, disassembled: no instruction is there that a processor of the level lacks, and the
// widest vectors of the level are used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>

#include "codegen/target.h"
#include "codegen/targets/cpu/jit/code_module.h"
#include "codegen/targets/cpu/jit/disassemble.h"
#include "ir/text.h"
#include "tests/codegen/cpu/any_cpu.h"
#include "tests/codegen/cpu/code_of.h"
#include "tests/testing/counts.h"
#include "tests/testing/op_cases.h"

namespace graphc::core::cpu {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Example {
  std::string_view name, text;
};

void PrintTo(const Example& example, std::ostream* out) { *out << example.name; }

const Example kExamples[] = {
    {"product_epilogue", R"(
      graph @f(%x: f32[70,33], %w: f32[33,50], %b: f32[50], %y: f32[70,50]) {
        return mul(tanh(add(matmul(%x, %w), %b)), %y)
      })"},
    {"batched_product", R"(
      graph @f(%x: f32[3,17,9], %y: f32[3,21,9]) {
        return matmul(%x, %y) {transpose_b = true}
      })"},
    {"long_product", R"(
      graph @f(%a: f32[2100,71], %b: f32[2100,70]) {
        return matmul(%a, %b) {transpose_a = true}
      })"},
    {"lstm_forward_backward", R"(
      graph @f(%x: f32[6,9,7], %h0: f32[9,20], %c0: f32[9,20], %w: f32[7,80], %u: f32[20,80],
               %b: f32[80]) {
        %y, %h.e, %c.e = scan %x.t in %x carry %h = %h0, %c = %c0 with %w, %u, %b {
          %z = add(add(matmul(%x.t, %w), matmul(%h, %u)), %b)
          %i, %f, %g, %o = split %z {axis = 1, parts = 4}
          %c.1 = add(mul(sigmoid(%f), %c), mul(sigmoid(%i), tanh(%g)))
          %h.1 = mul(sigmoid(%o), tanh(%c.1))
          next %h = %h.1, %c = %c.1
          emit %h.1
        }
        %loss = sum(square(%y)) {axes = [0,1,2]}
        %dx, %dw, %du, %db = grad %loss, %x, %w, %u, %b
        return %loss, %dx, %dw, %du, %db, %c.e
      })"},
    {"layer_norm", R"(
      graph @f(%x: f32[19,70], %g: f32[70]) {
        %y = mul(layer_norm(%x), %g)
        %loss = sum(mul(%y, softmax(%x))) {axes = [0,1]}
        %dx = grad %loss, %x
        return %y, %dx, max(%x) {axes = [1]}, mean(%x) {axes = [0]}
      })"},
    {"functions", R"(
      graph @f(%x: f32[5,37], %y: f32[37]) {
        %p = pow(abs(%x), %y)
        %q = add(exp(%x), log(add(square(%x), 1)))
        return add(%p, %q), mul(tanh(%x), sigmoid(%y)), add(sin(%x), cos(%y)), floor(%x), sqrt(%p)
      })"},
    {"whole_numbers", R"(
      graph @f(%x: i32[5,37], %y: i32[37], %k: i64[]) {
        %m = mul(add(%x, %y), %x)
        %u = uniform(%k) {shape = [5,37]}
        return %m, select(less(%x, %y), %u, neg(%u)), cast(%u) {dtype = i32}
      })"},
    {"tables", R"(
      graph @f(%t: f32[40,37], %i: i32[9], %g: f32[9,37]) {
        return tanh(gather(%t, %i)), scatter_add(%t, %i, %g)
      })"},
    {"head", R"(
      graph @f(%x: f32[12,20], %w: f32[20,90], %t: i32[12]) {
        %loss = mean(cross_entropy(matmul(%x, %w), %t)) {axes = [0]}
        %dx, %dw = grad %loss, %x, %w
        return %loss, %dx, %dw
      })"},
};

/// How an instruction is encoded, which says what generation it is of.
enum class Encoding { legacy, vex, evex };

struct Decoded {
  Encoding encoding = Encoding::legacy;
  bool sse3_or_later = false;  ///< of a legacy instruction
};

/// In 64-bit mode C4 and C5 begin VEX (AVX, BMI, FMA) and 62 begins EVEX (AVX-512); nothing else.
/// SSSE3 and later sets lie in the opcode maps 0F 38 and 0F 3A, besides what is listed.
Decoded decode(std::string_view bytes) {
  unsigned char mandatory = 0;
  const auto at = [&](size_t i) { return i < bytes.size() ? (unsigned char)bytes[i] : 0; };
  size_t i = 0;
  for (;; ++i) {
    const bool group1 = at(i) == 0xf2 || at(i) == 0xf3 || at(i) == 0x66;
    if (group1) mandatory = mandatory == 0 || at(i) != 0x66 ? at(i) : mandatory;
    const bool segment = at(i) == 0x2e || at(i) == 0x36 || at(i) == 0x3e || at(i) == 0x26 ||
                         at(i) == 0x64 || at(i) == 0x65 || at(i) == 0x67 || at(i) == 0xf0;
    if (!group1 && !segment) break;
  }
  if (at(i) == 0xc4 || at(i) == 0xc5) return {Encoding::vex};
  if (at(i) == 0x62) return {Encoding::evex};
  if ((at(i) & 0xf0) == 0x40) ++i;  // REX
  if (at(i) != 0x0f) return {};
  const int opcode = at(i + 1);
  const auto is = [&](int prefix, int wanted) { return mandatory == prefix && opcode == wanted; };
  const bool later = opcode == 0x38 || opcode == 0x3a ||                    // SSSE3, SSE4, movbe
                     is(0xf3, 0xb8) || is(0xf3, 0xbc) || is(0xf3, 0xbd) ||  // popcnt tzcnt lzcnt
                     opcode == 0x7c || opcode == 0x7d || opcode == 0xd0 ||  // hadd hsub addsub
                     is(0xf2, 0xf0) || is(0xf2, 0x12) || is(0xf3, 0x12) || is(0xf3, 0x16);
  return {Encoding::legacy, later};
}

/// Sets with VEX encodings that are no part of x86-64-v3.
bool beyond_v3(const std::string& text) {
  static const std::regex names(
      "v?aes.*|v?pclmul.*|v?gf2p8.*|vpdp.*|vpmadd52.*|vsha.*|vsm[34].*|.*tile.*|tdp.*|cmp.*xadd.*|"
      "vbcst.*|vcvtne.*|vf[n]?m(add|sub).* .*,.*,.*,.*|vpcmov.*|vpcom.*");
  static const std::regex masks("%k[0-7]");
  return std::regex_match(text, names) || text.find("%zmm") != std::string::npos ||
         std::regex_search(text, masks);
}

/// Sets with EVEX encodings that are no part of x86-64-v4.
bool beyond_v4(const std::string& text) {
  static const std::regex names(
      "vdpbf16.*|vcvtne.*|vpdp.*|vpmadd52.*|vpermb.*|vperm[it]2b.*|vpmultishift.*|vpopcnt.*|"
      "vpsh[lr]dv?[wdq].*|vp(compress|expand)[bw].*|vpbitalg.*|vpshufbitqmb.*|vp2intersect.*|"
      "v[a-z0-9]*(ph|sh) .*|v?gf2p8.*|v?aes.*|v?pclmul.*");
  return std::regex_match(text, names);
}

/// beyond(text), which is asked once of each text: most instructions come again and again.
bool once(bool (*beyond)(const std::string&), const std::string& text) {
  static std::map<std::pair<bool (*)(const std::string&), std::string>, bool> known;
  const auto [place, is_new] = known.try_emplace({beyond, text});
  if (is_new) place->second = beyond(text);
  return place->second;
}

/// The instructions that a CPU of the level lacks.
std::vector<std::string> strangers(const std::vector<Instruction>& code, std::string_view level) {
  std::vector<std::string> found;
  for (const Instruction& each : code) {
    const Decoded decoded = decode(each.bytes);
    bool strange = false;
    if (level == "x86-64") strange = decoded.encoding != Encoding::legacy || decoded.sse3_or_later;
    if (level == "x86-64-v3")
      strange = decoded.encoding == Encoding::evex || once(beyond_v3, each.text);
    if (level == "x86-64-v4") strange = once(beyond_v4, each.text);
    if (strange) found.push_back(each.text);
  }
  return found;
}

class Instructions : public ::testing::TestWithParam<Example> {};

TEST_P(Instructions, AreThoseOfTheLevel) {
  const GraphPtr graph = parse_graph(GetParam().text);
  size_t looked_at = 0;
  for (const char* level : {"x86-64", "x86-64-v3", "x86-64-v4"}) {
    for (const char* variant : {"fused", "basic"}) {
      SCOPED_TRACE(fmt::format("{} {}", level, variant));
      const std::vector<Instruction> code = code_of(graph, any_cpu(level), {.variant = variant});
      EXPECT_GT(code.size(), 20u);
      EXPECT_THAT(strangers(code, level), IsEmpty());
      looked_at += code.size();
      // What the level is for: without these the code would be right, and slow.
      const bool multiplies = GetParam().text.find("matmul") != std::string_view::npos;
      const std::string vector = level == std::string("x86-64-v4")   ? "%zmm"
                                 : level == std::string("x86-64-v3") ? "%ymm"
                                                                     : "%xmm";
      EXPECT_TRUE(any_of(code, vector)) << "no " << vector;
      if (multiplies) {
        EXPECT_TRUE(any_of(code, "^prefetcht0 ")) << "panels are not fetched ahead";
      }
      if (multiplies && vector != "%xmm") {
        EXPECT_TRUE(any_of(code, "^vfmadd[0-9]*ps .*" + vector)) << "no FMA of " << vector;
      }
    }
  }
  testing::count("instructions disassembled", int64_t(looked_at));
}

INSTANTIATE_TEST_SUITE_P(All, Instructions, ::testing::ValuesIn(kExamples),
                         [](const ::testing::TestParamInfo<Example>& of) {
                           return std::string(of.param.name);
                         });

TEST(InstructionsOfLevels, OfEveryOpAreThoseOfTheLevel) {
  size_t looked_at = 0, with_code = 0, ops = 0;
  for (const Op* op : testing::sampled_ops()) {
    const testing::OpCase first = testing::op_cases(*op)[0];
    bool any = false;
    ++ops;
    for (const char* level : {"x86-64", "x86-64-v3", "x86-64-v4"}) {
      SCOPED_TRACE(fmt::format("{} {}", first.name, level));
      const std::vector<Instruction> code = code_of(first.graph, any_cpu(level), {});
      EXPECT_THAT(strangers(code, level), IsEmpty());
      looked_at += code.size();
      any |= !code.empty();
    }
    with_code += any;
  }
  // The others are rows that are moved, or nothing to do at all.
  EXPECT_GT(with_code * 4, ops * 3) << with_code << " of " << ops;
  testing::count("instructions disassembled", int64_t(looked_at));
}

TEST(InstructionsOfLevels, CodeForAWiderLevelIsFoundOut) {
  // The test of the test: what is right for one level is seen to be wrong for the one below.
  const GraphPtr graph = parse_graph(kExamples[0].text);
  const std::vector<Instruction> v4 = code_of(graph, any_cpu("x86-64-v4"), {}),
                                 v3 = code_of(graph, any_cpu("x86-64-v3"), {});
  EXPECT_GT(strangers(v4, "x86-64-v3").size(), 20u);
  EXPECT_GT(strangers(v4, "x86-64").size(), 20u);
  EXPECT_GT(strangers(v3, "x86-64").size(), 20u);
  EXPECT_THAT(strangers(v3, "x86-64-v4"), IsEmpty());
}

TEST(InstructionsOfLevels, ProductsOfBf16AreThoseOfMatrixTiles) {
  const CpuFeatures cpu = any_cpu_with_matrix_tiles();
  for (const Example& example : kExamples) {
    if (example.text.find("matmul") == std::string_view::npos) continue;
    SCOPED_TRACE(example.name);
    const GraphPtr graph = parse_graph(example.text);
    const std::vector<Instruction> code = code_of(graph, cpu, {.precision = Precision::bf16});
    for (const char* instruction : {"^tdpbf16ps", "^tileloadd", "^tilestored", "^tilezero"})
      EXPECT_TRUE(any_of(code, instruction)) << instruction;
    // Tiles are no part of any level, and of no product of f32.
    EXPECT_FALSE(any_of(code, "^ldtilecfg|^tilerelease")) << "a thread does that once a call";
    EXPECT_GT(strangers(code, "x86-64-v3").size(), 20u);
    EXPECT_FALSE(any_of(code_of(graph, cpu, {}), "tile|^tdp"));
  }
}

TEST(InstructionsOfLevels, ProductsOfBf16AreDotProductsWhereThoseAreFast) {
  const CpuFeatures cpu = any_cpu_with_dot_products();
  for (const Example& example : kExamples) {
    if (example.text.find("matmul") == std::string_view::npos) continue;
    SCOPED_TRACE(example.name);
    const GraphPtr graph = parse_graph(example.text);
    const std::vector<Instruction> code = code_of(graph, cpu, {.precision = Precision::bf16});
    EXPECT_TRUE(any_of(code, "^vdpbf16ps.*zmm"));
    EXPECT_FALSE(any_of(code, "tile|^tdp"));
    EXPECT_FALSE(any_of(code_of(graph, cpu, {}), "bf16"));
  }
}

TEST(InstructionsOfLevels, EncodingsAreToldApart) {
  struct Case {
    std::string bytes;
    Encoding encoding;
    bool later;
  };
  using namespace std::string_literals;
  const Case cases[] = {
      {"\x0f\x58\xc1"s, Encoding::legacy, false},                 // addps
      {"\x66\x45\x0f\xfe\xc1"s, Encoding::legacy, false},         // paddd
      {"\x66\x0f\x38\x40\xc1"s, Encoding::legacy, true},          // pmulld
      {"\x66\x41\x0f\x3a\x08\xc1\x01"s, Encoding::legacy, true},  // roundps
      {"\xf3\x48\x0f\xb8\xc1"s, Encoding::legacy, true},          // popcnt
      {"\xf2\x0f\x7c\xc1"s, Encoding::legacy, true},              // haddps
      {"\x48\x0f\xbc\xc1"s, Encoding::legacy, false},             // bsf
      {"\xc5\xf8\x58\xc1"s, Encoding::vex, false},                // vaddps
      {"\x62\xf1\x7c\x48\x58\xc1"s, Encoding::evex, false},       // vaddps zmm
  };
  for (const Case& each : cases) {
    const Decoded decoded = decode(each.bytes);
    EXPECT_EQ(int(decoded.encoding), int(each.encoding)) << each.bytes.size();
    EXPECT_EQ(decoded.sse3_or_later, each.later) << each.bytes.size();
  }
}

TEST(InstructionsCpu, AreMadeWithoutThePassesThatAreLeftOut) {
  code_of(parse_graph(std::string(kExamples[0].text)), host_cpu(), {});
  EXPECT_THAT(passes_not_met(), IsEmpty());
}

TEST(InstructionsCpu, OfThisMachineAreItsWidest) {
  const CpuFeatures& host = host_cpu();
  const std::vector<Instruction> code = code_of(parse_graph(kExamples[0].text), host, {});
  EXPECT_TRUE(any_of(code, host.has_avx512              ? "%zmm"
                           : host.vector_lanes_f32 == 8 ? "%ymm"
                                                        : "%xmm"));
}

TEST(Disassemble, RefusesWhatIsNoObject) {
  try {
    disassemble({"this is no object file"});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
    EXPECT_THAT(error.what(), HasSubstr("reading an object to disassemble"));
  }
}

/// The mappings of this process that can be written and run, and how many can be run.
std::vector<std::string> writable_code(int& executable) {
  std::ifstream maps("/proc/self/maps");
  std::vector<std::string> found;
  executable = 0;
  for (std::string line; std::getline(maps, line);) {
    const std::string rights = line.substr(line.find(' ') + 1, 4);
    executable += rights[2] == 'x' ? 1 : 0;
    if (rights[1] == 'w' && rights[2] == 'x') found.push_back(line);
  }
  return found;
}

TEST(InstructionsCpu, NoPageIsWritableAndExecutableOnceProgramsRun) {
  int before = 0, after = 0;
  clear_code_caches();
  EXPECT_THAT(writable_code(before), IsEmpty());
  std::vector<std::unique_ptr<Executable>> kept;
  for (const Example& example : kExamples) {
    CompileReport report;
    kept.push_back(compile(parse_graph(example.text), targets::cpu, {.threads = 2}, report));
    std::vector<Tensor> inputs, outputs;
    for (const Argument& input : kept.back()->signature().inputs) inputs.emplace_back(input.type);
    for (const Argument& out : kept.back()->signature().outputs) outputs.emplace_back(out.type);
    kept.back()->run(inputs, outputs);
    EXPECT_THAT(writable_code(after), IsEmpty()) << example.name;
  }
  EXPECT_GT(after, before) << "no code was loaded";
}

}  // namespace
}  // namespace graphc::core::cpu
