// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/cuda/text_trial.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <random>
#include <regex>
#include <sstream>

#include "codegen/compile.h"
#include "codegen/lower/lower.h"
#include "codegen/target.h"
#include "codegen/targets/cuda/machine.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "passes/pipeline.h"

namespace graphc::core::testing {
namespace {

/// Between two values that one copy brings.
constexpr int64_t kGap = 256;
/// Between two buffers of the arena, and before the first: more than a tile of rows, since what
/// goes beyond one buffer must not be in the next.
constexpr int64_t kApart = 1 << 16;
/// Behind the last one: no other allocation has an arena's size then.
constexpr int64_t kEnd = 10016;

/// The plan with every buffer of the arena by itself, whatever the others' lifetimes are.
Plan spread_out(Plan plan) {
  int64_t at = kApart;
  for (Buffer& buffer : plan.buffers) {
    if (buffer.place != Place::arena) continue;
    buffer.offset = at;
    at += (buffer.bytes + 2 * kApart - 1) / kApart * kApart;
  }
  plan.arena_bytes = at + kEnd;
  return plan;
}

/// Values that one copy brings, as the executable lays them out, by their bytes.
void divide_transfer(const cuda::testing::MockDriver& driver, const std::vector<size_t>& bytes) {
  std::vector<size_t> offsets, sizes;
  size_t at = 0;
  for (const size_t each : bytes) {
    if (each > 0) offsets.push_back(at), sizes.push_back(each);
    at += (each + kGap - 1) / kGap * kGap;
  }
  driver.divide(at, offsets, sizes);
}

/// Makes every buffer, input and output an allocation of its own.
void divide(const cuda::testing::MockDriver& driver, const Plan& plan, const Signature& signature) {
  std::vector<size_t> offsets, sizes;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.place != Place::arena || buffer.bytes == 0) continue;
    offsets.push_back(size_t(buffer.offset));
    sizes.push_back(size_t(buffer.bytes));
  }
  driver.divide(size_t(plan.arena_bytes), offsets, sizes);
  std::vector<size_t> inputs, outputs;
  for (const Argument& input : signature.inputs) inputs.push_back(size_t(input.type.bytes()));
  for (const Argument& output : signature.outputs) outputs.push_back(size_t(output.type.bytes()));
  outputs.push_back(sizeof(cuda::Fault));
  divide_transfer(driver, inputs);
  divide_transfer(driver, outputs);
}

/// The graph of one size.
std::string text_of(const Subject& subject, const char* size) {
  std::string text = subject.graph;
  if (subject.in_f64) text = std::regex_replace(text, std::regex("\\bf32\\b"), "f64");
  std::istringstream all(size);
  for (std::string one; all >> one;)
    text = std::regex_replace(text, std::regex("\\b" + one.substr(0, 1) + "\\b"), one.substr(2));
  return text;
}

std::span<int32_t> indices_of(Call& call) {
  for (Literal& input : call.inputs) {
    if (input.type().dtype == DType::i32) return input.mutable_data<int32_t>();
  }
  return {};
}

/// In each way of drawing them other indices are equal: the first of two chunks, or the last two
/// of all. The last one, or pair, is the only one of its kind, and once the least.
void draw_indices(Call& call, int limit, size_t way) {
  std::mt19937 random(5);
  const std::span<int32_t> all = indices_of(call);
  for (int32_t& index : all) index = std::uniform_int_distribution(1, limit - 2)(random);
  if (all.size() > 256) all[255 + way % 2] = all[0];
  all.back() = way == 0 ? 0 : limit - 1;
  if (way > 0 && all.size() > 1) all[all.size() - 2] = limit - 1;
}

}  // namespace

Trial::Trial(const Subject& subject, size_t size)
    : graph_(parse_graph(text_of(subject, subject.sizes[size]))),
      merging_(subject.merging),
      placement_(subject.placement),
      precision_(subject.precision),
      tolerance_(subject.tolerance) {
  CompileReport report;
  const GraphPtr kernels = form_kernels_for(graph_, {.precision = precision_, .unroll = "loop"},
                                            report, targets::cuda.kernels);
  packed_ = make_plan(*kernels, cuda::gpu_machine(precision_));
  spread_ = spread_out(packed_);
  setenv("GRAPHC_MOCK_MULTIPROCESSORS", std::to_string(subject.multiprocessors).c_str(), 1);
  setenv("GRAPHC_MOCK_SHARED", std::to_string(subject.shared_bytes).c_str(), 1);
  device_ = cuda::Device::open();
  launches_ = compiled(packed_)->launches();
  calls_.push_back(random_call(*graph_, 7, subject.numbers));
  if (subject.indices > 0) draw_indices(calls_[0], subject.indices, size);
  for (const Outside& outside : size == 0 ? subject.outside : std::vector<Outside>{}) {
    calls_.push_back(calls_[0]);
    outside_.push_back(outside);
    indices_of(calls_.back())[outside.position] = outside.index;
    indices_of(calls_.back()).back() = outside.index;
  }
  for (const Literal& value : evaluated(calls_[0])) wanted_.push_back(value.converted(DType::f64));
}

std::unique_ptr<cuda::GpuExecutable> Trial::compiled(const Plan& plan) const {
  CompileReport report;
  return std::make_unique<cuda::GpuExecutable>(
      signature_of(*graph_), plan, device_,
      CompileOptions{.precision = precision_, .cuda = {.placement = placement_}},
      cuda::CodeOptions{device_->architecture(), {}}, report, merging_);
}

std::string Trial::fault(bool packed) {
  clear_code_caches();
  const Plan& plan = packed ? packed_ : spread_;
  driver_.divide(0, {}, {});
  if (!packed) divide(driver_, plan, signature_of(*graph_));
  try {
    const auto made = compiled(plan);
    cuda::GpuExecutable& executable = *made;
    for (size_t i = 0; i < calls_.size(); ++i) {
      const std::string wrong =
          i == 0 ? first_call(executable) : refused(executable, calls_[i], outside_[i - 1]);
      if (!wrong.empty()) return wrong;
    }
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

Outcome Trial::run(Executable& executable, const Call& call) {
  std::vector<Tensor> inputs, outputs;
  for (const Literal& input : call.inputs) inputs.emplace_back(input);
  for (const Argument& output : executable.signature().outputs) outputs.emplace_back(output.type);
  std::deque<StoredState> stored;
  std::vector<StoredState*> states;
  for (const Literal& state : call.states) {
    Tensor own(state);
    own.make_unique();
    states.push_back(&stored.emplace_back(std::move(own)));
  }
  executable.run(inputs, states, outputs);
  Outcome outcome;
  for (const Tensor& output : outputs) outcome.results.push_back(output.copy());
  for (const StoredState* state : states) outcome.states.push_back(state->home().copy());
  return outcome;
}

/// Results, then what states are next.
std::vector<Literal> Trial::evaluated(const Call& call) const {
  std::map<std::string, Literal> states;
  for (size_t i = 0; i < call.states.size(); ++i)
    states.emplace(graph_->states()[i].name(), call.states[i]);
  const GraphPtr graph = run_pipeline(graph_, parse_pipeline("autodiff")).graph;
  const Evaluation all = evaluate(*graph, call.inputs, states, Precision::f64);
  std::vector<Literal> values = all.results;
  for (const Value state : graph_->states()) {
    const auto next = all.next.find(state.name());
    values.push_back(next == all.next.end() ? states.at(state.name()) : next->second);
  }
  return values;
}

/// What is farther from the evaluator's number than a share of the largest; suites that look for
/// less are elsewhere. Integers are equal.
std::string Trial::first_call(Executable& executable) {
  Outcome outcome = run(executable, calls_[0]);
  std::vector<Literal> found = std::move(outcome.results);
  std::ranges::move(outcome.states, std::back_inserter(found));
  for (size_t i = 0; i < wanted_.size(); ++i) {
    const Literal numbers = found[i].converted(DType::f64);
    const std::span<const double> x = numbers.data<double>(), y = wanted_[i].data<double>();
    double largest = 0;
    for (const double each : y) largest = std::max(largest, std::abs(each));
    const double tolerance = is_floating(found[i].type().dtype) ? tolerance_ * largest : 0;
    for (size_t k = 0; k < x.size(); ++k) {
      if (!(std::abs(x[k] - y[k]) <= tolerance))
        return fmt::format("result {} element {}: wanted {}, found {}", i, k, y[k], x[k]);
    }
  }
  return {};
}

/// A call with an index outside its table is refused with that index.
std::string Trial::refused(Executable& executable, const Call& call, const Outside& outside) {
  try {
    run(executable, call);
  } catch (const Error& error) {
    const std::string_view found = error.what();
    const auto says = [&](const std::string& wanted) { return found.find(wanted) != found.npos; };
    const bool said =
        error.kind() == ErrorKind::input &&
        (says(fmt::format("index {} at position {} ", outside.index, outside.position)) ||
         says(fmt::format("label {} of row {} ", outside.index, outside.position)));
    return said ? "" : error.what();
  }
  return "an index outside its table was taken";
}

}  // namespace graphc::core::testing
