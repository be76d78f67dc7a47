// SPDX-License-Identifier: Apache-2.0
// Results of products that are kept whole, rows with space between them that large products read,
// and steps that need more memory than there is.
#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "codegen/lower/lower.h"
#include "codegen/targets/cuda/form_kernels.h"
#include "codegen/targets/cuda/launches/executable.h"
#include "codegen/targets/cuda/machine.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "tests/codegen/cuda/counted_exchange.h"
#include "tests/codegen/precision_trial.h"
#include "tests/runtime/cuda/mock_driver.h"
#include "tests/testing/counts.h"

namespace graphc::core::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

/// A projection to 16,384 classes of 4,096 rows: logits of 268 MB.
constexpr const char* kHead = R"(
  graph @head(%x: f32[4096,4], %targets: i32[4096], %w: f32[4,16384]) {
    %losses = cross_entropy matmul(%x, %w), %targets
    %loss = mean(%losses) {axes = [0]}
    %dx, %dw = grad %loss, %x, %w
    return %loss, %dx, %dw
  })";

/// The loops of the plan for a GPU of so many bytes, and its arena.
std::pair<int, int64_t> loops_and_arena(int64_t memory, int64_t asked = 0) {
  CompileReport report;
  const Machine machine = cuda::gpu_machine();
  const GraphPtr kernels =
      cuda::form_gpu_kernels(parse_graph(kHead), {.memory = asked}, machine, memory, report);
  const Plan plan = make_plan(*kernels, machine);
  const auto loops = std::ranges::count_if(plan.records, [](const Record& record) {
    return std::holds_alternative<LoopCall>(record.call);
  });
  return {int(loops), plan.arena_bytes};
}

TEST(WholeProducts, AreSmallBesideTheMemoryOfTheGpu) {
  constexpr int64_t kLogits = int64_t{4096} * 16384 * 4, kGiB = int64_t{1} << 30;
  const auto [none, whole] = loops_and_arena(80 * kGiB);
  EXPECT_EQ(none, 0);
  EXPECT_GE(whole, kLogits);
  const auto [one, part] = loops_and_arena(4 * kGiB - 16);
  EXPECT_EQ(one, 1);
  EXPECT_LT(part, whole);
  EXPECT_EQ(loops_and_arena(4 * kGiB).first, 0);
  // What is asked for counts, whatever the GPU has; never less than on a CPU.
  EXPECT_EQ(loops_and_arena(80 * kGiB, 4 * kGiB - 16).first, 1);
  EXPECT_EQ(loops_and_arena(80 * kGiB, 1), loops_and_arena(kGiB));
}

/// 24 layers of 65,536 x 900 values, 236 MB each, all of which derivatives need.
std::string many_layers() {
  std::string inputs = "%x: f32[65536,900]", layers, weights, derivatives, before = "%x";
  for (int i = 0; i < 24; ++i) {
    inputs += fmt::format(", %w{}: f32[900,900]", i);
    layers += fmt::format("  %h{0} = tanh(matmul({1}, %w{0}))\n", i, before);
    weights += fmt::format(", %w{}", i);
    derivatives += fmt::format("{}%d{}", i > 0 ? ", " : "", i);
    before = fmt::format("%h{}", i);
  }
  return fmt::format(
      "graph @layers({0}) {{\n{1}  %loss = mean(square({2})) {{axes = [0,1]}}\n"
      "  {3} = grad %loss{4}\n  return {3}\n}}",
      inputs, layers, before, derivatives, weights);
}

TEST(WholeProducts, AreDividedWhereTogetherTheyExceedTheMemory) {
  const GraphPtr graph = parse_graph(many_layers());
  const Machine machine = cuda::gpu_machine();
  const auto formed = [&](int64_t memory) {
    CompileReport report;
    const GraphPtr kernels = cuda::form_gpu_kernels(graph, {}, machine, memory, report);
    std::vector<std::string> remarks;
    for (const Remark& remark : report.remarks) {
      if (remark.pass == "memory") remarks.push_back(remark.text);
    }
    return std::pair{make_plan(*kernels, machine).arena_bytes, remarks};
  };
  const auto [whole, none] = formed(int64_t{80} << 30);
  EXPECT_THAT(none, IsEmpty());
  // Each is below a sixteenth.
  const int64_t less = whole - 1;
  ASSERT_GT(less / 16, int64_t{144} << 20);
  const auto [divided, remarks] = formed(less);
  EXPECT_LE(divided, less);
  ASSERT_THAT(remarks, SizeIs(1));
  EXPECT_THAT(remarks[0], HasSubstr("with large products for some rows at a time it needs"));
}

/// 64 steps of a state of 4 KiB, with an exponential of every element.
constexpr const char* kExponentialCell = R"(
  graph @cell(%x: f32[64,4,16,16], %s0: f32[4,16,16]) {
    %y, %s.end = scan %x.t in %x carry %s = %s0 {
      %s.1 = add(mul(%s, 0.5), mul(%x.t, exp(neg(square(%s)))))
      next %s = %s.1
      emit sum(mul(%s.1, tanh(%s.1))) {axes = [1]}
    }
    %loss = mean(square(%y)) {axes = [0,1,2]}
    %ds = grad %loss, %s0
    return %loss, %ds
  })";

class WithinMemoryCuda : public ::testing::Test {
 protected:
  struct Ran {
    int64_t bytes = 0;
    std::vector<std::string> remarks;
    std::vector<Literal> results;
  };

  static Ran run(const CompileOptions& options) {
    const GraphPtr graph = parse_graph(kExponentialCell);
    CompileReport report;
    const auto executable = compile(graph, targets::cuda, options, report);
    Ran ran{report.peak_bytes, {}, {}};
    for (const Remark& remark : report.remarks) {
      if (remark.pass == "memory") ran.remarks.push_back(remark.text);
    }
    std::vector<Tensor> inputs, outputs;
    for (const Literal& input : drawn_inputs(*graph, 3, 1, false))
      inputs.emplace_back(input.converted(DType::f32));
    for (const Argument& output : executable->signature().outputs)
      outputs.emplace_back(output.type);
    executable->run(inputs, outputs);
    for (const Tensor& output : outputs) ran.results.push_back(output.copy());
    return ran;
  }

 private:
  cuda::testing::MockDriver driver_;
};

TEST_F(WithinMemoryCuda, StatesAreComputedAgain) {
  const Ran whole = run({});
  EXPECT_THAT(whole.remarks, IsEmpty());
  const Ran part = run({.memory = 200'000});
  EXPECT_LT(part.bytes, whole.bytes);
  ASSERT_THAT(part.remarks, SizeIs(1));
  EXPECT_THAT(part.remarks[0], HasSubstr("with the states of every 8 steps saved alone"));
  for (size_t i = 0; i < whole.results.size(); ++i) {
    const Literal &found = part.results[i], &wanted = whole.results[i];
    for (int64_t k = 0; k < wanted.elements(); ++k)
      EXPECT_NEAR(found.element(k), wanted.element(k), 1e-6);
  }
  EXPECT_THAT(run({.remat = "off", .memory = 200'000}).remarks, IsEmpty());
}

/// A graph in which bf16 values are computed and then read by products and by other things.
class DrawnReaders {
 public:
  explicit DrawnReaders(unsigned seed) : random_(seed) {}

  std::string draw() {
    const int64_t batch = below(2) == 0 ? 0 : 1 + int64_t(below(3)), rows = extent(), n = extent();
    const std::string lead = batch > 0 ? fmt::format("{},{}", batch, rows) : std::to_string(rows);
    const int64_t all = std::max<int64_t>(batch, 1) * rows;
    add("%x: f32[{},{}]", lead, n);
    add("%b: f32[{}]", n);
    line("%h = {}", below(2) == 0 ? "add(relu(%x), %b)" : "mul(%x, 2.)");
    line("%flat = reshape %h {{shape = [{},{}]}}", all, n);
    const unsigned readers = 1 + below(3);
    for (unsigned i = 0; i < readers; ++i) reader(i, all, n);
    return fmt::format("graph @g({}) {{\n{}  return {}\n}}", fmt::join(inputs_, ", "),
                       fmt::join(lines_, ""), fmt::join(results_, ", "));
  }

 private:
  template <typename... Arguments>
  void add(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    inputs_.push_back(fmt::format(text, std::forward<Arguments>(arguments)...));
  }
  template <typename... Arguments>
  void line(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    lines_.push_back("  " + fmt::format(text, std::forward<Arguments>(arguments)...) + "\n");
  }
  unsigned below(unsigned end) { return unsigned(random_() % end); }
  int64_t extent() {
    constexpr int64_t kExtents[] = {17, 20, 33, 37, 40, 66, 75};
    return kExtents[below(7)];
  }

  void reader(unsigned i, int64_t rows, int64_t n) {
    const int64_t m = extent();
    results_.push_back(fmt::format("%r{}", i));
    switch (below(7)) {
      case 0:
        add("%w{}: f32[{},{}]", i, n, m);
        return line("%r{0} = matmul(%flat, %w{0})", i);
      case 1:
        add("%w{}: f32[{},{}]", i, rows, m);
        return line("%r{0} = matmul(transpose(%flat) {{permutation = [1,0]}}, %w{0})", i);
      case 2:
        add("%w{}: f32[{},{}]", i, m, rows);
        return line("%r{0} = matmul(%w{0}, %flat)", i);
      case 3:
        add("%w{}: f32[{},{}]", i, m, n);
        return line("%r{0} = matmul(%w{0}, transpose(%flat) {{permutation = [1,0]}})", i);
      case 4:
        return line("%r{} = sum(%flat) {{axes = [0]}}", i);
      case 5:
        add("%w{}: f32[{},{}]", i, n - 3, m);
        line("%s{} = slice %flat {{axis = 1, limit = {}, start = 2}}", i, n - 1);
        return line("%r{0} = matmul(%s{0}, %w{0})", i);
      default:
        return line("%r{} = mul(%h, 3.)", i);
    }
  }

  std::mt19937 random_;
  std::vector<std::string> inputs_, lines_, results_;
};

class Pitched : public CountedExchange {
 protected:
  /// The plan whose products, however small, read rows at multiples of 16 bytes.
  static Plan plan_of(const GraphPtr& graph) {
    CompileReport report;
    KernelTraits traits = targets::cuda.kernels;
    Machine machine = cuda::gpu_machine(Precision::bf16);
    machine.pitched_from = 1;
    return make_plan(*form_kernels_for(graph, {.precision = Precision::bf16}, report, traits),
                     machine);
  }

  static std::vector<Literal> results_of(const GraphPtr& graph, const Plan& plan,
                                         const std::vector<Literal>& inputs) {
    CompileReport report;
    const cuda::DevicePtr device = cuda::Device::open();
    cuda::GpuExecutable executable(signature_of(*graph), plan, device,
                                   CompileOptions{.precision = Precision::bf16},
                                   cuda::CodeOptions{device->architecture(), {}}, report);
    std::vector<Tensor> arguments, outputs;
    for (const Literal& input : inputs) arguments.emplace_back(input.converted(DType::f32));
    for (const Argument& output : executable.signature().outputs) outputs.emplace_back(output.type);
    executable.run(arguments, outputs);
    std::vector<Literal> found;
    for (const Tensor& output : outputs) found.push_back(output.copy());
    return found;
  }

  /// Strides of operands that are not those of rows side by side.
  static int spaced(const Plan& plan) {
    int count = 0;
    for (const Record& record : plan.records) {
      const auto* call = std::get_if<NestCall>(&record.call);
      if (call == nullptr) continue;
      const NestProgram& program = plan.programs[size_t(call->program)];
      for (size_t i = 0; i < call->operands.size(); ++i) {
        const NestOperand& form = program.operands[i];
        if (form.kind == OperandKind::store && form.dtype == DType::bf16 && call->rows > 1)
          count += int(call->operands[i].row % 16 == 0 && call->operands[i].row != 2 * call->unit);
      }
    }
    return count;
  }

 private:
  cuda::testing::MockDriver driver_;
};

TEST_F(Pitched, ReadersOfSpacedRowsFindWhatWasComputed) {
  int found = 0, tried = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    if (!is_sampled(seed, 5)) continue;
    const std::string text = DrawnReaders(seed).draw();
    SCOPED_TRACE(fmt::format("{}: {}", seed, text));
    const GraphPtr graph = parse_graph(text);
    const Plan plan = plan_of(graph);
    ++tried;
    found += int(spaced(plan) > 0);
    const std::vector<Literal> inputs = drawn_inputs(*graph, seed, 4, true);
    EXPECT_EQ(results_of(graph, plan, inputs), evaluate(*graph, inputs).results);
  }
  std::printf("%d of %d graphs have rows with space between them\n", found, tried);
  count("graphs with rows at multiples of 16 bytes", found);
  EXPECT_GE(found, tried / 4);
}

/// A product whose left factor has rows of 523 numbers, and its matrix columns of 131.
constexpr const char* kOddRows = R"(
  graph @odd(%x: f32[136,523], %w: f32[523,131]) {
    return matmul(tanh(%x), %w)
  })";

TEST_F(Pitched, LargeProductsCopySixteenBytesAtATime) {
  const GraphPtr graph = parse_graph(kOddRows);
  const cuda::Launches launches = launches_of(graph, Precision::bf16, {});
  const auto product = std::ranges::find_if(launches.kernels, [](const cuda::KernelText& kernel) {
    return kernel.text.find("end_copies();") != std::string::npos;
  });
  ASSERT_NE(product, launches.kernels.end());
  EXPECT_THAT(product->text, HasSubstr("copy_16("));
  EXPECT_THAT(product->text, Not(HasSubstr("copy_4(")));
}

}  // namespace
}  // namespace graphc::core::testing
