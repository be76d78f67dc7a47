// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/cpu/variants.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "codegen/cpu/cpu_features.h"
#include "codegen/target.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "tests/testing/exact_graph.h"
#include "tests/testing/reduce_graph.h"
#include "tests/testing/rounding_bound.h"

namespace graphc::testing {
namespace {

using Literals = std::vector<Literal>;

Literals run(const GraphPtr& graph, const Literals& inputs, const CompileOptions& options) {
  CompileReport report;
  const auto executable = compile(graph, targets::cpu, options, report);
  std::vector<Tensor> arguments, outputs;
  for (const Literal& input : inputs) arguments.emplace_back(input);
  for (const Argument& output : executable->signature().outputs) outputs.emplace_back(output.type);
  executable->run(arguments, {}, outputs);
  Literals results;
  for (const Tensor& output : outputs) results.push_back(output.copy());
  return results;
}

/// What is beyond one tolerance for a whole result: twenty times the largest error that rounding
/// each value of the graph once makes in it (the evaluator in f32 against f64: the graph's own
/// conditioning, measured), and 1e-5 of its largest element, for sums in an order of the target's
/// own. It is for the elements whose error bound is large or not finite: bounds do not see that
/// errors cancel.
std::string beyond_rounding(const Literals& found, const Literals& wanted,
                            const Literals& rounded) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    double largest = 1, error = 0;
    for (int64_t k = 0; k < wanted[i].elements(); ++k) {
      largest = std::max(largest, std::abs(wanted[i].element(k)));
      error = std::max(error, std::abs(wanted[i].element(k) - rounded[i].element(k)));
    }
    const double tolerance = 20 * error + 1e-5 * largest;
    for (int64_t k = 0; k < wanted[i].elements(); ++k) {
      const double difference = std::abs(found[i].element(k) - wanted[i].element(k));
      if (!(difference <= tolerance)) {
        return fmt::format("result {} element {}: wanted {}, found {}, tolerance {}", i, k,
                           wanted[i].element(k), found[i].element(k), tolerance);
      }
    }
  }
  return {};
}

/// The first element that is another number, or nothing.
std::string other_number(const Literals& found, const Literals& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    for (int64_t k = 0; k < wanted[i].elements(); ++k) {
      const double x = found[i].element(k), y = wanted[i].element(k);
      if (x != y && !(std::isnan(x) && std::isnan(y)))
        return fmt::format("result {} element {}: wanted {}, found {}", i, k, y, x);
    }
  }
  return {};
}

std::filesystem::path regressions_folder() {
  if (const char* folder = std::getenv("GRAPHC_REGRESSIONS"); folder != nullptr) return folder;
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() /
         "regressions";
}

}  // namespace

std::vector<Literal> random_inputs(const Graph& graph, unsigned seed, Numbers numbers) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> real(-1, 1);
  std::uniform_int_distribution<int> whole(-kExactInput, kExactInput), index(0, 1);
  Literals inputs;
  for (Value input : graph.inputs()) {
    Literal literal(Type{DType::f64, input.shape()});
    for (double& x : literal.mutable_data<double>()) {
      if (input.dtype() == DType::boolean) {
        x = index(random);
      } else if (numbers == Numbers::whole) {
        x = whole(random);
      } else {
        x = is_floating(input.dtype()) ? double(real(random)) : index(random);
      }
    }
    inputs.push_back(literal.converted(input.dtype()));
  }
  return inputs;
}

std::vector<std::string> all_levels() {
  std::vector<std::string> names;
  for (const cpu::CpuFeatures& cpu : cpu::cpus_of()) names.push_back(cpu.name);
  return names;
}

std::string first_difference(const GraphPtr& graph, unsigned seed, Numbers numbers,
                             const std::vector<std::string>& levels,
                             const std::vector<int>& threads) {
  const Literals inputs = random_inputs(*graph, seed, numbers);
  const GraphPtr plain = run_pipeline(graph, parse_pipeline("autodiff")).graph;
  const BoundedResults wanted =
      numbers == Numbers::real
          ? evaluate_with_bounds(*plain, inputs)
          : BoundedResults{evaluate(*plain, inputs, {}, Precision::f64).results, {}};
  const Literals rounded = evaluate(*plain, inputs, {}, Precision::f32).results;
  const auto fault_of = [&](const Literals& found) {
    if (numbers == Numbers::whole) return other_number(found, wanted.values);
    const std::string fault = beyond_bound(found, wanted);
    return fault.empty() ? beyond_rounding(found, wanted.values, rounded) : fault;
  };
  for (const std::string& level : levels) {
    for (const char* variant : {"fused", "basic", "unrolled"}) {
      const std::string what = fmt::format("{}, {}", variant, level);
      try {
        Literals first;
        for (int count : threads) {
          const CompileOptions options{.variant = variant, .cpu = level, .threads = count};
          const Literals found = run(graph, inputs, options);
          if (first.empty()) first = found;
          const std::string wrong = fault_of(found);
          if (!wrong.empty()) return fmt::format("{}, {} threads: {}", what, count, wrong);
          if (const std::string other = other_number(found, first); !other.empty())
            return fmt::format("{}, {} and {} threads: {}", what, threads[0], count, other);
        }
      } catch (const Error& error) {
        return fmt::format("{}: {}", what, error.what());
      }
    }
  }
  return {};
}

std::string reduced_failure(const GraphPtr& graph, const std::string& name, unsigned seed,
                            Numbers numbers, const std::vector<std::string>& levels,
                            const std::vector<int>& threads) {
  const auto wrong = [&](const GraphPtr& candidate) -> std::string {
    try {
      return first_difference(candidate, seed, numbers, levels, threads);
    } catch (const Error&) {
      return {};  // the evaluator refuses it: no graph to compare
    }
  };
  const GraphPtr small =
      reduce_graph(graph, [&](const GraphPtr& candidate) { return !wrong(candidate).empty(); });
  const std::string what = wrong(small);
  const std::filesystem::path folder = regressions_folder();
  std::filesystem::create_directories(folder);
  const std::filesystem::path path =
      folder / fmt::format("{}{}.graph", numbers == Numbers::whole ? "exact_" : "", name);
  std::ofstream(path) << "# SPDX-License-Identifier: Apache-2.0\n# Seed " << seed
                      << ", reduced; found in " << what << "\ntest verify\n\n"
                      << print(*small);
  return fmt::format("{}\nreduced, in {}:\n{}", what, path.string(), print(*small));
}

int64_t number_from(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoll(text, nullptr, 10);
}

}  // namespace graphc::testing
