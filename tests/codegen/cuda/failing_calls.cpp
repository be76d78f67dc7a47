// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/cuda/failing_calls.h"

#include <gmock/gmock.h>

#include <cmath>
#include <deque>
#include <random>

#include "codegen/target.h"
#include "codegen/targets/cuda/libraries/library_calls.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "tests/testing/samples.h"

namespace graphc::core::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Of the largest element of a result: sums in other orders, and the mocks' in f64.
constexpr double kTolerance = 2e-6;

constexpr LibraryCall kDriverCalls[] = {
#define GRAPHC_DRIVER_FUNCTION(name, symbol, parameters) {#symbol, #name},
#include "runtime/cuda/driver.def"
#undef GRAPHC_DRIVER_FUNCTION
};
constexpr LibraryCall kCudnnCalls[] = {
#define GRAPHC_CUDNN_FUNCTION(name, parameters) {#name, #name},
#include "runtime/cuda/cudnn.def"
#undef GRAPHC_CUDNN_FUNCTION
};
constexpr LibraryCall kCublasLtCalls[] = {
#define GRAPHC_CUBLASLT_FUNCTION(name, parameters) {#name, #name},
#include "runtime/cuda/cublaslt.def"
#undef GRAPHC_CUBLASLT_FUNCTION
};
constexpr LibraryCall kNvrtcCalls[] = {
#define GRAPHC_NVRTC_FUNCTION(name, parameters) {#name, #name},
#include "runtime/cuda/nvrtc.def"
#undef GRAPHC_NVRTC_FUNCTION
};

/// Until the device is open there is no plan whose buffers could be named.
constexpr std::string_view kBeforeThePlan[] = {"cuDeviceGetCount",    "cuDeviceGet",
                                               "cuDeviceGetName",     "cuDeviceGetAttribute",
                                               "cuDeviceTotalMem_v2", "cuDevicePrimaryCtxRetain"};
/// Short of the host's memory, which the plan has nothing to do with.
bool is_compiler(std::string_view symbol) { return symbol.starts_with("nvrtc"); }

/// Values from -1 to 1.
std::vector<Literal> drawn(const Values& values, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Literal> all;
  for (Value value : values) {
    Literal literal(Type{DType::f64, value.shape()});
    for (double& x : literal.mutable_data<double>())
      x = std::uniform_real_distribution<double>(-1, 1)(random);
    all.push_back(literal.converted(value.dtype()));
  }
  return all;
}

size_t count_of(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

std::span<const LibraryCall> driver_calls() { return kDriverCalls; }
std::span<const LibraryCall> cudnn_calls() { return kCudnnCalls; }
std::span<const LibraryCall> cublaslt_calls() { return kCublasLtCalls; }
std::span<const LibraryCall> nvrtc_calls() { return kNvrtcCalls; }

FaultTrial::FaultTrial(const cuda::testing::MockDriver& driver, const FaultSubject& subject)
    : driver_(driver), subject_(subject), graph_(parse_graph(subject.text)) {
  inputs_ = drawn(graph_->inputs(), 5);
  const GraphPtr plain = run_pipeline(graph_, parse_pipeline("autodiff")).graph;
  std::map<std::string, Literal> states;
  states_ = drawn(graph_->states(), 6);
  for (size_t i = 0; i < states_.size(); ++i)
    states.emplace(graph_->states()[i].name(), states_[i]);
  for (int step = 0; step < 2; ++step) {
    Evaluation found = evaluate(*plain, inputs_, states);
    for (Literal& result : found.results) wanted_.push_back(std::move(result));
    // What checks_finite() can give back is asked for after the second step.
    if (step == 1 && subject.options.cuda.check_finite) break;
    for (auto& [name, next] : found.next) states.insert_or_assign(name, std::move(next));
  }
  for (Value state : graph_->states()) wanted_.push_back(states.at(state.name()));

  clear_code_caches();
  std::unique_ptr<Executable> executable;
  EXPECT_FALSE(use(executable));
  executable.reset();
  end();
  live_ = driver_.live();
  driver_.heal();
  EXPECT_FALSE(use(executable));
  executable.reset();
  end();
  for (const auto functions : {driver_calls(), cudnn_calls(), cublaslt_calls(), nvrtc_calls()}) {
    for (const LibraryCall& function : functions)
      calls_.emplace(function.symbol, driver_.calls(std::string(function.symbol).c_str()));
  }
}

FaultTrial::~FaultTrial() {
  driver_.heal();
  clear_code_caches();
}

size_t FaultTrial::calls(std::string_view symbol) const { return calls_.find(symbol)->second; }

std::unique_ptr<Executable> FaultTrial::compiled() const {
  CompileReport report;
  return compile(graph_, targets::cuda, subject_.options, report);
}

std::string FaultTrial::difference(std::span<const Literal> found, size_t first) const {
  for (size_t i = 0; i < found.size(); ++i) {
    const Literal& wanted = wanted_[first + i];
    double largest = 0;
    for (int64_t k = 0; k < wanted.elements(); ++k)
      largest = std::max(largest, std::abs(wanted.element(k)));
    if (largest == 0) return fmt::format("nothing to compare in value {}", first + i);
    for (int64_t k = 0; k < wanted.elements(); ++k) {
      const double error = std::abs(found[i].element(k) - wanted.element(k));
      if (!(error <= kTolerance * largest))
        return fmt::format("value {}, element {}: {} instead of {}", first + i, k,
                           found[i].element(k), wanted.element(k));
    }
  }
  return "";
}

std::string FaultTrial::two_steps(Executable& executable) {
  std::vector<Tensor> inputs, outputs;
  for (const Literal& input : inputs_) inputs.emplace_back(input);
  for (const Argument& output : executable.signature().outputs) outputs.emplace_back(output.type);
  std::deque<StoredState> states;
  std::vector<StoredState*> pointers;
  for (const Literal& state : states_)
    pointers.push_back(&states.emplace_back(Tensor(state).copy()));
  std::vector<Literal> found;
  for (int step = 0; step < 2; ++step) {
    executable.run(inputs, pointers, outputs);
    for (const Tensor& output : outputs) found.push_back(output.copy());
  }
  if (executable.checks_finite()) executable.restore(pointers);
  // The executable may be gone when a state is asked for.
  has_plan_ = false;
  for (const StoredState& state : states) found.push_back(state.home().copy());
  return found.size() == wanted_.size() ? difference(found, 0) : "results are missing";
}

std::optional<Error> FaultTrial::use(std::unique_ptr<Executable>& executable) {
  has_plan_ = true;
  try {
    executable = compiled();
    EXPECT_EQ(two_steps(*executable), "");
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

void FaultTrial::end() const {
  subject_.keeps_kernels ? cuda::Choices::clear() : clear_code_caches();
}

bool FaultTrial::expect(const Fault& fault, Hearing hearing) {
  SCOPED_TRACE(fmt::format("{} of {}, call {} of {}", fault.code.name, fault.function.symbol,
                           fault.call, calls(fault.function.symbol)));
  const std::string symbol(fault.function.symbol);
  driver_.heal();
  driver_.fail(symbol.c_str(), fault.code.value, fault.call);
  std::unique_ptr<Executable> executable;
  const std::optional<Error> error = use(executable);
  const bool can_go_on = error && executable;
  if (!error) {
    executable.reset();
    end();
  }
  EXPECT_GE(driver_.calls(symbol.c_str()), fault.call) << "nothing failed";
  driver_.heal();
  if (error) {
    check_error(*error, fault);
    // A step that failed can be done again.
    EXPECT_EQ(can_go_on ? two_steps(*executable) : "", "");
    executable.reset();
    end();
  }
  const bool may = hearing != Hearing::unheard, must = hearing == Hearing::heard;
  EXPECT_TRUE(error ? may : !must);
  EXPECT_EQ(driver_.live(), live_) << driver_.live_text();
  if (error && !can_go_on) {
    const std::optional<Error> again = use(executable);
    EXPECT_FALSE(again) << again->what();
    executable.reset();
    end();
    EXPECT_EQ(driver_.live(), live_) << driver_.live_text();
  }
  return error.has_value();
}

void FaultTrial::check_error(const Error& error, const Fault& fault) const {
  const std::string_view symbol = fault.function.symbol;
  EXPECT_EQ(int(error.kind()), int(fault.code.kind)) << error.what();
  if (symbol == "nvrtcCompileProgram") {
    EXPECT_THAT(error.message(), StartsWith("cannot compile "));
  } else {
    const std::string name(fault.function.name);
    EXPECT_THAT(error.message(),
                ::testing::AnyOf(StartsWith(name + ": "), StartsWith(name + " (")));
  }
  EXPECT_THAT(error.message(), HasSubstr(fault.code.words));
  EXPECT_EQ(count_of(error.message(), fault.code.words), 1u) << error.what();
  const bool no_plan = !has_plan_ ||
                       std::ranges::find(kBeforeThePlan, symbol) != std::end(kBeforeThePlan) ||
                       (symbol == "cuCtxSetCurrent" && fault.call == 1);
  const bool lists = fault.code.memory && !no_plan && !is_compiler(symbol);
  EXPECT_EQ(count_of(error.what(), "the largest buffers of the plan: "), lists ? 1u : 0u)
      << error.what();
}

std::vector<Fault> faults_of(const LibraryCall& function, size_t calls,
                             std::span<const ErrorCode> codes, AllCodes all,
                             const std::set<int>& everywhere) {
  constexpr size_t kEvery = 12;
  std::set<size_t> every;
  for (size_t call = 1; call <= calls && calls <= kEvery; ++call) every.insert(call);
  if (calls > kEvery) every = {1, 2, calls / 2, calls - 1, calls};
  const std::set<size_t> one{all == AllCodes::first ? 1 : calls};
  std::vector<Fault> faults;
  // Functions take turns of the codes, and the calls of one take turns of those that are tried
  // everywhere.
  size_t number = function.symbol.size(), number_everywhere = 0;
  for (const ErrorCode& code : codes) {
    if (code.value == 0) continue;
    const bool is_everywhere = everywhere.contains(code.value);
    const size_t turn = is_everywhere ? number_everywhere++ : number++;
    for (const size_t call : is_everywhere ? every : one) {
      if (is_sampled(is_everywhere ? turn + call : turn, 3))
        faults.push_back({function, code, call});
    }
  }
  return faults;
}

}  // namespace graphc::core::testing
