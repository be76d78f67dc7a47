// SPDX-License-Identifier: Apache-2.0
// CUDA text by itself: names that are nobody else's, helpers that are there when they are called,
// kernels that are the same for other extents.
#include "codegen/targets/cuda/text/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <regex>
#include <set>

#include "codegen/compile.h"
#include "codegen/lower/lower.h"
#include "codegen/targets/cuda/launches/launches.h"
#include "codegen/targets/cuda/machine.h"
#include "codegen/targets/cuda/text/scalar_text.h"
#include "codegen/targets/cuda/text/text_shape.h"
#include "ir/text.h"
#include "models/registry.h"
#include "tests/codegen/cuda/kernel_texts.h"

namespace graphc::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

cuda::Launches launches_of(const std::string& graph, const Plan** kept = nullptr) {
  static std::vector<std::unique_ptr<Plan>> plans;
  CompileReport report;
  plans.push_back(std::make_unique<Plan>(
      make_plan(*form_kernels_for(parse_graph(graph), {}, report), cuda::gpu_machine())));
  if (kept != nullptr) *kept = plans.back().get();
  return cuda::make_launches(*plans.back());
}

TEST(CudaText, NamesAreIdentifiersAndNobodyElses) {
  cuda::Names names;
  EXPECT_EQ(names.make("h"), "h");
  EXPECT_EQ(names.make("h"), "h_2");
  EXPECT_EQ(names.make("h_2"), "h_2_2");
  EXPECT_EQ(names.make("layer.0/weight"), "layer_0_weight");
  EXPECT_EQ(names.make("3x"), "v3x");
  EXPECT_EQ(names.make("for"), "value_for");
  EXPECT_EQ(names.make("row"), "value_row");
  EXPECT_EQ(names.make("sums_0"), "value_sums_0");
  EXPECT_EQ(names.make("__x__"), "x");
  EXPECT_EQ(names.make("é"), "v");
}

TEST(CudaText, NamesAreNoMacrosAndNoVariablesOfTheText) {
  cuda::Names names;
  for (const char* taken : {"next_row", "next_column", "NULL", "CUDART_VERSION", "cudaStreamLegacy",
                            "blocks_x_of_0", "threadIdx", "expf"})
    EXPECT_EQ(names.make(taken), std::string("value_") + taken);
}

/// The names that a text's declarations have: "int a = f(x, y), b;" has a and b.
void add_declared(const std::string& text, std::set<std::string>& names) {
  static const std::regex declaration(
      "(?:unsigned short|long long|int|float|unsigned|bool)\\*? "
      R"((\w+(?:\[[^\];]*\])*(?: = |;|, )[^;]*;?))");
  const auto body = text.begin() + std::ptrdiff_t(text.find("__global__"));
  for (auto at = std::sregex_iterator(body, text.end(), declaration); at != std::sregex_iterator();
       ++at) {
    int depth = 0;
    std::string name;
    bool in_name = true;
    for (const char c : (*at)[1].str()) {
      depth += int(c == '(' || c == '[' || c == '{') - int(c == ')' || c == ']' || c == '}');
      if (depth < 0) break;  // the head of a function
      if (depth == 0 && (c == ',' || c == ';')) {
        names.insert(name);
        if (c == ';') break;
        name.clear();
        in_name = true;
      } else if (in_name && (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_')) {
        name += c;
      } else {
        in_name = in_name && name.empty();
      }
    }
  }
}

/// Variables that texts declare themselves: those of a graph whatever its values are called, but
/// for what nodes without a name and instructions are called, which is made beside the values'
/// names.
std::set<std::string> own_variables(const GraphPtr& graph, Precision precision,
                                    std::optional<cuda::Placement> placement) {
  const GraphPtr other =
      parse_graph(std::regex_replace(print(*graph), std::regex(R"(%"?([A-Za-z_]))"), "%zz$1"));
  std::set<std::string> of[2];
  for (const GraphPtr& each : {graph, other}) {
    KernelTexts texts;
    add_kernels(each, "sm_90a", "fused", texts, precision, placement);
    for (const auto& [text, name] : texts) add_declared(text, of[each == other]);
  }
  std::set<std::string> own;
  std::ranges::set_intersection(of[0], of[1], std::inserter(own, own.end()));
  std::erase_if(own, [](const std::string& name) {
    static const std::regex computed(
        "(?:this_|value_|all_|kept_)*"
        "(?:number|constant|product|count|add|sub|mul|div|neg|exp|tanh|sigmoid|sqrt|rsqrt|select|"
        "less|minimum|cast|sum|sums|mean|concat)(?:_(?:\\d+|rsqrt|sum|row|part|k))*");
    return name != "sum" && name != "sums" && std::regex_match(name, computed);
  });
  return own;
}

/// A value of that name would be hidden by the variable: a pointer that begins at itself. Kernels
/// of rows with matrices have a list of their own.
TEST(CudaText, NoValueHasTheNameOfAVariable) {
  const auto expect_taken = [](const char* model, const std::vector<std::string>& parameters,
                               const std::vector<Precision>& precisions,
                               const std::vector<cuda::Placement>& placements) {
    const auto program = make_program(model, parameters);
    const GraphPtr graph = program->model().trace("train", program->extents("train")).graph;
    for (const cuda::Placement placement : placements) {
      for (const Precision precision : precisions) {
        for (const std::string& name : own_variables(graph, precision, placement))
          EXPECT_NE(cuda::Names().make(name), name) << model;
      }
    }
  };
  const std::vector all{cuda::Placement::streamed, cuda::Placement::grid, cuda::Placement::cluster,
                        cuda::Placement::launches};
  expect_taken("lstm-layer", {"hidden=64", "steps=3", "batch=20"},
               {Precision::f32, Precision::bf16, Precision::tf32x3}, all);
  expect_taken("lstm-layer", {"hidden=64", "steps=3", "batch=5"}, {Precision::f32},
               {cuda::Placement::grid, cuda::Placement::cluster});
  expect_taken("lstm-layer", {"cell=layer-norm-lstm", "hidden=40", "steps=3", "batch=5"},
               {Precision::bf16}, all);
  expect_taken("lstm-layer", {"hidden=1024", "steps=3", "batch=16"}, {Precision::bf16},
               {cuda::Placement::grid});
}

/// A GPU waits for a number where it is first used: with a conversion beside the load, or a choice
/// between it and zero, it would wait for each load before the next.
TEST(CudaText, NothingWaitsForALoadBeforeTheNextOne) {
  const auto program = make_program("lstm-layer", {"hidden=64", "steps=3", "batch=20"});
  const GraphPtr graph = program->model().trace("train", program->extents("train")).graph;
  static const std::regex load(
      R"(\n *(?:value_ahead_\w+|ahead_\w+|numbers|held_\w+)(?:\[[^\]]*\])+ = ([^;]*);)");
  static const std::regex as_it_is(R"(\w+\[.*\]|load_bf16_pair\(.*\)|there \? [^\[]*|product\w*)");
  int loads = 0;
  for (const auto placement : {cuda::Placement::grid, cuda::Placement::cluster}) {
    for (const Precision precision :
         {Precision::f32, Precision::bf16, Precision::fp16, Precision::tf32, Precision::tf32x3}) {
      KernelTexts texts;
      add_kernels(graph, "sm_90a", "fused", texts, precision, placement);
      for (const auto& [text, name] : texts) {
        for (auto at = std::sregex_iterator(text.begin(), text.end(), load);
             at != std::sregex_iterator(); ++at, ++loads)
          EXPECT_TRUE(std::regex_match((*at)[1].str(), as_it_is)) << name << (*at)[0];
      }
    }
  }
  EXPECT_GT(loads, 100);
}

std::string shape_of(const std::string& text) { return cuda::shape_of({"f", text}); }

TEST(CudaText, ShapesHaveNoNames) {
  const std::string text =
      "// one\n__device__ float twice(float x) {\n  return x + x;\n}\n"
      "extern \"C\" __global__ void f(float* a, const float* b, long long a_row) {\n"
      "  for (int at = 0; at < 3; ++at) a[at * a_row + threadIdx.x] = twice(tanhf(b[at]));  // "
      "two\n}\n";
  const auto with = [&](std::string_view from, std::string_view to) {
    return std::regex_replace(text, std::regex(std::string(from)), std::string(to));
  };
  const std::string shape = shape_of(text);
  EXPECT_EQ(shape_of(with("\\ba\\b", "result")), shape);
  EXPECT_EQ(shape_of(with("\\ba_row\\b", "x")), shape) << "x is a name of another function, too";
  EXPECT_EQ(shape_of(with("\\btwice\\b", "doubled")), shape);
  EXPECT_EQ(shape_of(with("// (one|two)", "// three")), shape);
  EXPECT_EQ(cuda::shape_of({"g", with("\\bf\\(", "g(")}), shape) << "the kernel's name";
  for (const auto& [from, to] : std::vector<std::pair<const char*, const char*>>{
           {"tanhf", "expf"},                                             // a function of CUDA
           {"threadIdx\\.x", "threadIdx.y"},                              // a member
           {"x \\+ x", "x * x"},                                          // another body
           {"at < 3", "at < 4"},                                          // a number
           {"float\\* a, const float\\* b", "float* b, const float* a"},  // what is written
           {"long long a_row", "int a_row"}})                             // a type
    EXPECT_NE(shape_of(with(from, to)), shape) << from;
}

/// Layers of a network whose loops differ in names alone are one kernel.
TEST(CudaText, EqualLayersAreOneKernel) {
  const auto kernels = [](const char* layers) {
    const auto program = make_program("char-lm", {"hidden=40", "batch=4", "steps=5", layers});
    const GraphPtr graph = program->model().trace("train", program->extents("train")).graph;
    KernelTexts texts;
    add_kernels(graph, "sm_90a", "fused", texts, Precision::bf16, cuda::Placement::cluster);
    return std::ranges::count_if(texts, [](const auto& text) {
      return text.first.find("iteration < steps") != std::string::npos;
    });
  };
  EXPECT_EQ(kernels("layers=5"), kernels("layers=3"));
  EXPECT_GE(kernels("layers=3"), 2);
}

TEST(CudaText, HasWords) {
  EXPECT_TRUE(cuda::has_word("a = there ? b : 0;", "there"));
  EXPECT_TRUE(cuda::has_word("there_0 + there", "there"));
  EXPECT_TRUE(cuda::has_word("there", "there"));
  EXPECT_FALSE(cuda::has_word("row_there && there_0", "there"));
  EXPECT_FALSE(cuda::has_word("", "there"));
}

/// Products get the operand by exchange; memory gets it where a gradient reads it there.
TEST(CudaText, WhatNobodyReadsIsNotStored) {
  const auto stores_operand = [](std::string_view result) {
    const GraphPtr graph = parse_graph(fmt::format(
        R"(graph @g(%x: f32[4,64,256], %h0: f32[64,256]) state (%u: f32[512,256]) {{
             %y, %h.e = scan %x.t in %x carry %h = %h0 with %u {{
               %g = concat(mul(%h, %x.t), sub(%h, %x.t)) {{axis = 1}}
               %s = matmul(%g, %u)
               next %h = tanh(%s)
               emit %s
             }}
             %l = sum(%h.e) {{axes = [0, 1]}}
             %d = grad %l, %u
             return {}
           }})",
        result));
    KernelTexts texts;
    add_kernels(graph, "sm_90a", "fused", texts, Precision::bf16, cuda::Placement::cluster);
    std::string all;
    for (const auto& [text, name] : texts) all += text;
    EXPECT_NE(all.find(" send_2("), std::string::npos) << "no exchange";
    return all.find(" store_bf16_pair(&") != std::string::npos;
  };
  EXPECT_FALSE(stores_operand("%y, %h.e"));
  EXPECT_TRUE(stores_operand("%d"));
}

/// Offsets within a piece are of 31 bits, unless a stride is too long for them.
TEST(CudaText, OffsetsOfLongStridesHave64Bits) {
  const auto text_of = [](const char* left, const char* right) {
    std::string all;
    const cuda::Launches launches = launches_of(
        fmt::format("graph @p(%a: f32[{}], %b: f32[{}]) {{ return matmul(%a, %b) }}", left, right));
    for (const cuda::KernelText& kernel : launches.kernels) all += kernel.text;
    return all;
  };
  const std::string near = text_of("3,60", "60,4");
  EXPECT_THAT(near, AllOf(HasSubstr("const int next"), HasSubstr("* (int)a_row")));
  EXPECT_THAT(near, HasSubstr("* (int)b_k"));
  EXPECT_THAT(text_of("3,600000", "600000,4"),
              AllOf(HasSubstr("const long long next"), Not(HasSubstr("(int)a_row"))));
  EXPECT_THAT(text_of("3,4", "4,600000"), AllOf(HasSubstr("b_k"), Not(HasSubstr("(int)b_k"))));
}

TEST(CudaText, NamesInCommentsStayThere) {
  EXPECT_EQ(cuda::in_comment("b\n#define tanhf(x) 7.0f\n// "), "b?#define tanhf(x) 7.0f?// ");
  EXPECT_EQ(cuda::in_comment("ends in \\"), "ends in ?");
  const cuda::Launches launches = launches_of(
      "graph @f(%x: f32[4,8], %w: f32[8,8]) { %\"b\\n#error\" = tanh(matmul(%x, %w)) return "
      "%\"b\\n#error\" }");
  for (const cuda::KernelText& kernel : launches.kernels)
    EXPECT_THAT(kernel.text, Not(HasSubstr("\n#error")));
}

TEST(CudaText, HelpersAreThoseThatAreCalled) {
  EXPECT_EQ(cuda::helpers_of("x = a + b;"), "");
  EXPECT_THAT(cuda::helpers_of("x = larger(a, b);"), HasSubstr("float larger(float x, float y)"));
  EXPECT_THAT(cuda::helpers_of("x = larger(a, b);"), Not(HasSubstr("larger_double")));
  EXPECT_EQ(cuda::helpers_of("x = my_larger(a, b);"), "");
  EXPECT_THAT(cuda::helpers_of("x = my_larger(a, b) + larger(a, b);"), HasSubstr("float larger("));
}

TEST(CudaText, KernelsOfOtherExtentsAreTheSame) {
  const auto texts = [](int rows, int columns) {
    std::string all;
    const cuda::Launches launches = launches_of(
        fmt::format("graph @f(%x: f32[{0},{1}], %w: f32[{1},{1}], %b: f32[{1}]) {{ return "
                    "tanh(add(matmul(%x, %w), %b)), sum(%x) {{axes = [0]}}, softmax(%x) }}",
                    rows, columns));
    for (const cuda::KernelText& kernel : launches.kernels) all += kernel.text;
    return all;
  };
  // Only the tiles of small products are smaller.
  EXPECT_NE(texts(3, 40), texts(300, 40));
  EXPECT_EQ(texts(33, 40), texts(300, 1234));
}

TEST(CudaText, EveryLaunchFitsItsKernel) {
  const cuda::Launches launches = launches_of(
      "graph @f(%x: f32[7,40], %w: f32[40,40], %i: i32[9]) { return tanh(matmul(%x, %w)), "
      "gather(%x, %i), sum(%x) {axes = [0]}, sum(%x) {axes = [1]} }");
  EXPECT_GE(launches.step.size(), 4u);
  for (const cuda::Launch& launch : launches.step) {
    const std::string& text = launches.kernels[size_t(launch.kernel)].text;
    const size_t begin = text.find("extern"), open = text.find("(\n", begin),
                 close = text.find(") {", open);
    const std::string head = text.substr(open, close - open);
    EXPECT_EQ(size_t(std::ranges::count(head, ',')) + 1, launch.arguments.size()) << head;
    for (const unsigned blocks : launch.grid.blocks) EXPECT_GT(blocks, 0u);
    EXPECT_LE(launch.grid.threads[0] * launch.grid.threads[1] * launch.grid.threads[2], 256u);
  }
}

/// Launches that are loops.
int64_t loops_of(const cuda::Launches& launches) {
  return std::ranges::count_if(launches.step,
                               [](const cuda::Launch& launch) { return !launch.note.empty(); });
}

TEST(CudaText, ALoopIsOneKernelHoweverManyItsSteps) {
  const auto loop = [](int steps) {
    return launches_of(fmt::format(
        "graph @f(%x: f32[{},3,8], %h: f32[3,8], %u: f32[8,8]) {{ %end = scan %x.t in %x carry "
        "%h.t = %h with %u {{ next %h.t = tanh(add(matmul(%h.t, %u), %x.t)) }} return %end }}",
        steps));
  };
  const cuda::Launches few = loop(2), many = loop(500);
  EXPECT_EQ(few.step.size(), many.step.size());
  ASSERT_EQ(few.kernels.size(), many.kernels.size());
  for (size_t i = 0; i < few.kernels.size(); ++i)
    EXPECT_EQ(few.kernels[i].text, many.kernels[i].text);
  EXPECT_EQ(loops_of(many), 1);
}

TEST(CudaText, ALoopInALoopIsOneKernel) {
  const cuda::Launches launches = launches_of(
      "graph @f(%x: f32[40,5,3,8], %h: f32[3,8], %u: f32[8,8]) { %end = scan %x.s in %x carry "
      "%g = %h with %u { %inner = scan %x.t in %x.s carry %h.t = %g with %u { next %h.t = "
      "tanh(add(matmul(%h.t, %u), %x.t)) } next %g = %inner } return %end }");
  EXPECT_EQ(loops_of(launches), 40);
  EXPECT_LT(launches.kernels.size(), 8u);
}

TEST(CudaText, ValuesKeepTheirNames) {
  const cuda::Launches launches = launches_of(
      "graph @f(%speed: f32[7,40], %mass: f32[7,40]) { %energy = mul(%mass, mul(%speed, %speed)) "
      "return %energy }");
  ASSERT_EQ(launches.kernels.size(), 1u);
  for (const char* name : {"const float* speed", "const float* mass", "float* energy"})
    EXPECT_THAT(launches.kernels[0].text, HasSubstr(name));
}

}  // namespace
}  // namespace graphc::core::testing
