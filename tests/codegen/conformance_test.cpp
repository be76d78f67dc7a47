// SPDX-License-Identifier: Apache-2.0
// Every op there is, made into tests by its record alone: on the operands of its samples and on
// empty, single and longer extents (tests/testing/op_cases.h), on every target: values of the
// samples at every level the host can run, those of other extents and derivatives at levels that
// take turns, of other extents a sample. Tensors end, or begin, at pages that may not be touched.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "ir/evaluate.h"
#include "ir/text.h"
#include "tests/passes/values.h"
#include "tests/testing/counts.h"
#include "tests/testing/guarded_tensor.h"
#include "tests/testing/op_cases.h"
#include "tests/testing/samples.h"
#include "tests/testing/targets.h"

namespace graphc::core::testing {
namespace {

using Literals = std::vector<Literal>;
const std::set<std::string_view> whole_layers{"lstm",           "gru",           "rnn",
                                              "lstm_gradients", "gru_gradients", "rnn_gradients"};

constexpr int kGroups = 6;

/// Every sixth op from `group` on, and their cases.
std::vector<const Op*> ops_of(int group) {
  std::vector<const Op*> ops;
  int number = 0;
  for (const Op* op : sampled_ops()) {
    if (number++ % kGroups == group) ops.push_back(op);
  }
  return ops;
}

std::vector<OpCase> cases_of(int group) {
  std::vector<OpCase> cases;
  for (const Op* op : ops_of(group)) {
    for (OpCase& c : op_cases(*op)) cases.push_back(std::move(c));
  }
  return cases;
}

/// What the executable gives for the arguments, all tensors guarded on one side.
Literals run_guarded(Executable& executable, const Literals& arguments, Guard guard) {
  std::vector<Tensor> inputs, outputs;
  for (const Literal& argument : arguments) inputs.push_back(guarded_tensor(argument, guard));
  for (const Argument& output : executable.signature().outputs)
    outputs.push_back(guarded_tensor(output.type, guard));
  executable.run(inputs, outputs);
  Literals results;
  for (const Tensor& output : outputs) {
    EXPECT_TRUE(intact_around(output));
    results.push_back(output.copy());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_TRUE(intact_around(inputs[i]));
    EXPECT_EQ(inputs[i].copy(), arguments[i]) << "input " << i << " was written";
  }
  return results;
}

/// The first element that is further from `wanted` than rounding explains, or nothing: twenty times
/// the largest error of the evaluator that rounds each value of the op once (`rounded`), and, as
/// that one forms sums in f64, a few roundings of the largest argument, `scale`, or result.
std::string beyond_rounding(const Literal& found, const Literal& wanted, const Literal& rounded,
                            double scale) {
  if (found.shape() != wanted.shape()) return "another shape";
  double largest = scale, error = 0;
  for (int64_t k = 0; k < wanted.elements(); ++k) {
    if (!std::isfinite(wanted.element(k))) continue;
    largest = std::max(largest, std::abs(wanted.element(k)));
    error = std::max(error, std::abs(wanted.element(k) - rounded.element(k)));
  }
  for (int64_t k = 0; k < wanted.elements(); ++k) {
    const double x = found.element(k), y = wanted.element(k);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double tolerance =
        is_floating(found.dtype()) ? 20 * error + 1e-6 * std::abs(y) + 3e-7 * largest : 0;
    if (std::abs(x - y) <= tolerance) continue;
    return fmt::format("element {}: wanted {}, found {}, tolerance {}", k, y, x, tolerance);
  }
  return {};
}

struct Setting {
  TargetLevel level;
  CompileOptions options;

  Setting(const TargetLevel& at, const CompileOptions& wanted)
      : level(at), options(at.options(wanted)) {}
  std::unique_ptr<Executable> compiled(const GraphPtr& graph) const {
    CompileReport report;
    return compile(graph, level.target(), options, report);
  }
  std::string text() const {
    return fmt::format("{} {} threads={}", level.text(), options.variant, options.threads);
  }
};

/// Every target at these levels fused, and, for a sample of the numbers, kernel by kernel on
/// several threads in its turn.
std::vector<Setting> settings(const std::vector<TargetLevel>& levels, unsigned number) {
  std::vector<Setting> all;
  for (const TargetLevel& level : levels)
    all.push_back({level, {.variant = "fused", .threads = 1}});
  if (!is_sampled(number, 5)) return all;
  for (const TargetLevel& level : target_levels_for(number, 0)) {
    if (level.takes("variant")) all.push_back({level, {.variant = "basic", .threads = 3}});
  }
  return all;
}

/// The kind of error `run` throws, if it does.
std::optional<ErrorKind> kind_of_error(const std::function<void()>& run) {
  try {
    run();
    return std::nullopt;
  } catch (const Error& error) {
    return error.kind();
  }
}

/// What the evaluator says of a case for one range of arguments: the same on every target.
struct Expected {
  Literals arguments, wanted, rounded;
  double high = 0;
  std::optional<ErrorKind> refused;
};

Expected expected(const OpCase& c, double low, double high) {
  Expected result{.arguments = random_arguments(c, 7, low, high), .high = high};
  result.refused = kind_of_error([&] {
    result.wanted = evaluate(*c.graph, result.arguments, {}, Precision::f64).results;
    result.rounded = evaluate(*c.graph, result.arguments, {}, Precision::f32).results;
  });
  return result;
}

/// Runs the case on one executable.
void expect_values(const OpCase& c, const Expected& all, Executable& executable, Guard guard) {
  if (all.refused) {
    // An index into a table that has become empty: the same error everywhere.
    EXPECT_EQ(all.refused, ErrorKind::input);
    EXPECT_EQ(kind_of_error([&] { run_guarded(executable, all.arguments, guard); }),
              ErrorKind::input);
    return;
  }
  const Literals found = run_guarded(executable, all.arguments, guard);
  for (size_t i = 0; i < found.size(); ++i) {
    const std::string wrong = beyond_rounding(found[i], all.wanted[i], all.rounded[i], all.high);
    EXPECT_EQ(wrong, "") << "result " << i << "\n" << print(*c.graph);
  }
}

class ConformanceCpu : public ::testing::TestWithParam<int> {};
TEST_P(ConformanceCpu, EveryOpHasItsValuesOnEveryTarget) {
  int64_t cases = 0;
  unsigned turn = 0, of_samples = 0;
  std::map<std::string_view, std::string> refused;
  for (const OpCase& c : cases_of(GetParam())) {
    // Recurrences of large weights are chaotic: rounding alone would change their values.
    const double high = whole_layers.contains(c.graph->name()) ? 0.5 : 2.5;
    const Expected small = expected(c, 0.2, 1.3), wide = expected(c, -high, high);
    // Half of the samples meet all levels; the others, and other extents, those whose turn it is.
    const bool at_all_levels = c.as_sampled && is_sampled(of_samples++, 3);
    const auto levels = at_all_levels ? all_target_levels() : target_levels_for(turn, turn);
    for (const Setting& setting : settings(levels, c.as_sampled ? 0 : turn++)) {
      SCOPED_TRACE(c.name + " on " + setting.text());
      std::unique_ptr<Executable> executable;
      try {
        executable = setting.compiled(c.graph);
      } catch (const Error& error) {
        refused[c.graph->results()[0].node->op.name] = error.what();
        continue;
      }
      for (Guard guard : {Guard::before, Guard::behind}) {
        expect_values(c, small, *executable, guard);
        expect_values(c, wide, *executable, guard);
        cases += 2;
      }
      if (setting.level.is_cuda()) distinct("ops in the emulator", {c.graph->name()});
    }
  }
  // No op is refused, and none is computed by anything but compiled code: there is no fallback.
  for (const auto& [op, message] : refused) ADD_FAILURE() << op << " is refused: " << message;
  count("ops", int64_t(ops_of(GetParam()).size()));
  count("conformance cases", cases);
}

/// Whether a target may refuse the case with this message: an input error that names the type, or
/// says that a number is none of it. What else is expected stands in the row of the target.
void expect_refusal(const OpCase& c, const Op& op, const TargetLevel& level, const Error& error) {
  const std::string what = error.what();
  EXPECT_EQ(error.kind(), ErrorKind::input) << what;
  const auto says = [&](const char* text) { return what.find(text) != std::string::npos; };
  const bool f64 = c.name.find("f64 for") != std::string::npos;
  const bool bf16 = c.name.find("bf16 for") != std::string::npos;
  if (bf16) {
    EXPECT_NE(&op, &ops::gather) << "moves rows of any type";
    EXPECT_TRUE(says("does not compute in bf16") || says("multiplies")) << what;
  } else if (f64) {
    EXPECT_TRUE(says("has no code for") || says("multiplies")) << what;
    const auto* known = level.of->refused_in_f64;
    EXPECT_TRUE(known == nullptr || known->contains(op.name)) << what;
  } else {
    // Padding of 0.5, or a size of 6, is no number of every type.
    EXPECT_TRUE(says("is not a number of")) << what;
  }
}

TEST_P(ConformanceCpu, OtherElementTypesAreRightOrRefusedByName) {
  int64_t cases = 0;
  for (const Op* op : ops_of(GetParam())) {
    for (const OpCase& c : dtype_cases(*op)) {
      const Expected small = expected(c, 0.2, 1.3), wide = expected(c, -2.5, 2.5);
      for (const TargetLevel& level : target_levels_for(0, 0)) {
        SCOPED_TRACE(c.name + " on " + level.text());
        std::unique_ptr<Executable> executable;
        try {
          executable = Setting(level, {.threads = 1}).compiled(c.graph);
        } catch (const Error& error) {
          expect_refusal(c, *op, level, error);
          continue;
        }
        const auto* known = level.of->refused_in_f64;
        const bool f64 = c.name.find("f64 for") != std::string::npos;
        EXPECT_FALSE(f64 && known != nullptr && known->contains(op->name))
            << "is compiled: take it off the list";
        expect_values(c, small, *executable, Guard::behind);
        expect_values(c, wide, *executable, Guard::before);
        cases += 2;
      }
    }
  }
  count("conformance cases", cases);
}

bool has_derivative(const Graph& graph) {
  if (graph.nodes().back().op.name == "stop_gradient") return false;
  const auto floating = [](Value value) { return is_floating(value.dtype()); };
  return std::ranges::any_of(graph.inputs(), floating) &&
         std::ranges::any_of(graph.results(), floating);
}

/// The derivatives of the loss of `c` by each floating argument, along one direction in all.
class Directional {
 public:
  Directional(const OpCase& c, const Graph& loss, const Literals& arguments, unsigned seed)
      : loss_(loss), arguments_(arguments) {
    for (Literal& d : random_arguments(c, seed, -1, 1)) {
      moves_.push_back(is_floating(d.dtype()));
      elements_ += moves_.back() ? d.elements() : 0;
      largest_ = moves_.back() ? std::max(largest_, dot(d, d)) : largest_;
      direction_.push_back(std::move(d));
    }
  }

  bool is_zero() const { return elements_ > 0 && largest_ == 0; }

  /// The central difference, or nothing at a kink or a jump: where the differences forwards and
  /// backwards disagree.
  std::optional<double> difference() const {
    constexpr double step = 1e-5;
    const double here = at(0);
    const double forwards = (at(step) - here) / step, backwards = (here - at(-step)) / step;
    const double central = (forwards + backwards) / 2;
    if (std::abs(forwards - backwards) > 0.01 * std::max(1.0, std::abs(central))) return {};
    return central;
  }

  /// Of the results of a graph of loss and gradients.
  double along(const Literals& results) const {
    double sum = 0;
    for (size_t i = 0, next = 1; i < direction_.size(); ++i) {
      if (moves_[i]) sum += dot(results[next++], direction_[i]);
    }
    return sum;
  }

 private:
  double at(double distance) const {
    Literals moved;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      Literal x = arguments_[i];
      if (moves_[i]) {
        x = x.converted(DType::f64);
        std::span<double> elements = x.mutable_data<double>();
        for (size_t k = 0; k < elements.size(); ++k)
          elements[k] += distance * direction_[i].element(int64_t(k));
      }
      moved.push_back(std::move(x));
    }
    return evaluate(loss_, moved, {}, Precision::f64).results[0].element(0);
  }

  const Graph& loss_;
  const Literals& arguments_;
  Literals direction_;
  std::vector<bool> moves_;
  int64_t elements_ = 0;
  double largest_ = 0;
};

/// What was looked at of derivatives.
struct Looked {
  int64_t differences = 0, kinks = 0;
  int64_t on_targets = 0;  ///< differences times the targets and levels compared
  std::map<std::string_view, double> largest;  ///< derivative of each op
};

/// The loss of a case with its gradients, and its executables.
struct CompiledDerivatives {
  GraphPtr plain;  ///< for the evaluator
  std::vector<std::pair<Setting, std::unique_ptr<Executable>>> executables;

  CompiledDerivatives(const OpCase& c, const std::vector<TargetLevel>& levels) {
    const GraphPtr traced = with_gradients(c.graph);
    plain = after(traced, "autodiff");
    for (const TargetLevel& level : levels) {
      const Setting setting(level, {.threads = 1});
      executables.emplace_back(setting, setting.compiled(traced));
    }
  }
};

/// Derivatives on each target against central differences along three directions.
void expect_derivatives(const OpCase& c, const CompiledDerivatives& compiled, double low,
                        double high, Looked& looked) {
  const GraphPtr& plain = compiled.plain;
  const Literals arguments = random_arguments(c, 11, low, high);
  const Literals exact = evaluate(*plain, arguments, {}, Precision::f64).results;
  const Literals rounded = evaluate(*plain, arguments, {}, Precision::f32).results;
  std::vector<Literals> found;
  for (const auto& [setting, executable] : compiled.executables) {
    SCOPED_TRACE(setting.text());
    found.push_back(run_guarded(*executable, arguments, Guard::behind));
    for (size_t i = 0; i < exact.size(); ++i)
      EXPECT_EQ(beyond_rounding(found.back()[i], exact[i], rounded[i], high), "") << "result " << i;
  }
  if (std::isnan(exact[0].element(0))) return;  // a mean of nothing has no differences
  double& largest = looked.largest[c.graph->nodes().back().op.name];
  for (unsigned seed : {101u, 102u, 103u}) {
    const Directional direction(c, *plain, arguments, seed);
    EXPECT_FALSE(direction.is_zero());
    const std::optional<double> wanted = direction.difference();
    ++(wanted ? looked.differences : looked.kinks);
    if (!wanted) continue;
    looked.on_targets += int64_t(found.size());
    const double error = std::abs(direction.along(exact) - direction.along(rounded));
    const double tolerance = 20 * error + 1e-5 * std::max(1.0, std::abs(*wanted));
    for (const Literals& results : found) {
      const double derivative = direction.along(results);
      EXPECT_NEAR(derivative, *wanted, tolerance) << print(*c.graph);
      largest = std::max(largest, std::abs(derivative));
    }
  }
}

TEST_P(ConformanceCpu, EveryDerivativeAgreesWithDifferences) {
  // Their derivative is zero by definition.
  const std::set<std::string_view> zero = {"floor", "ceil", "round", "sign", "size"};
  // What is not defined below 0, or has a pole between.
  const std::set<std::string_view> positive = {"log", "sqrt", "rsqrt", "pow", "log1p", "tan"};
  Looked looked;
  unsigned number = 0, others = 0;
  for (const OpCase& c : cases_of(GetParam())) {
    if (!has_derivative(*c.graph) || (!c.as_sampled && !is_sampled(others++, 9))) continue;
    const std::vector<TargetLevel> levels = target_levels_for(number, number);
    ++number;
    if (kind_of_error([&] { evaluate(*c.graph, random_arguments(c, 11, 0.2, 1.3)); })) continue;
    SCOPED_TRACE(c.name);
    try {
      const CompiledDerivatives compiled(c, levels);
      // Of large numbers 1 - tanh^2 is what rounding left.
      const double most = c.graph->name().ends_with("_gradients") ? 0.5 : 1.3;
      expect_derivatives(c, compiled, 0.2, most, looked);
      const double high = whole_layers.contains(c.graph->name()) ? 0.5 : 2.5;
      if (!positive.contains(c.graph->name())) expect_derivatives(c, compiled, -high, high, looked);
    } catch (const Error& error) {
      ADD_FAILURE() << c.name << ": " << error.what() << "\n" << print(*c.graph);
    }
  }
  for (const auto& [op, seen] : looked.largest) {
    EXPECT_TRUE(zero.contains(op) ? seen == 0 : seen > 1e-3) << op << ": " << seen;
  }
  EXPECT_LE(looked.kinks * 20, looked.differences);
  count("conformance derivatives", looked.on_targets);
}

INSTANTIATE_TEST_SUITE_P(Ops, ConformanceCpu, ::testing::Range(0, kGroups));

}  // namespace
}  // namespace graphc::core::testing
