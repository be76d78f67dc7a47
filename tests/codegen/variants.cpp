// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/variants.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>

#include "ir/text.h"
#include "passes/pipeline.h"
#include "tests/testing/reduce_graph.h"

namespace graphc::core::testing {
namespace {

using Literals = std::vector<Literal>;

/// Tensors that share nothing with the literals.
std::vector<Tensor> copies(const Literals& literals) {
  std::vector<Tensor> tensors;
  for (const Literal& literal : literals) {
    tensors.emplace_back(literal.type());
    std::ranges::copy(literal.bytes(), tensors.back().address());
  }
  return tensors;
}

Literals contents(const std::vector<Tensor>& tensors) {
  Literals literals;
  for (const Tensor& tensor : tensors) literals.push_back(tensor.copy());
  return literals;
}

/// An executable and its states, which stay where they are from call to call: what the executable
/// keeps of them in other forms is trusted as in a session.
class Compiled {
 public:
  Compiled(const GraphPtr& graph, const Target& target, const CompileOptions& options,
           const std::vector<Literal>& states) {
    CompileReport report;
    executable_ = compile(graph, target, options, report);
    for (Tensor& state : copies(states)) states_.push_back(&stored_.emplace_back(std::move(state)));
  }

  /// Runs it on these inputs and the states as they are, and gives what it made of them; `fault`
  /// says which input was written.
  Outcome run(const Call& call, std::string& fault) {
    std::vector<Tensor> inputs = copies(call.inputs), outputs;
    for (const Argument& output : executable_->signature().outputs)
      outputs.emplace_back(output.type);
    executable_->run(inputs, states_, outputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::span<const std::byte> before = call.inputs[i].bytes();
      if (std::memcmp(inputs[i].address(), before.data(), before.size()) != 0)
        fault = fmt::format("input {} was written", i);
    }
    Outcome outcome{contents(outputs), {}};
    for (const StoredState* state : states_) outcome.states.push_back(state->home().copy());
    return outcome;
  }

 private:
  std::unique_ptr<Executable> executable_;
  std::deque<StoredState> stored_;
  std::vector<StoredState*> states_;
};

/// The outcomes of one way of compiling, on one number of threads after another.
class WayOfRunning {
 public:
  WayOfRunning(const GraphPtr& graph, Wanted& wanted, const Call& first, const Call& second)
      : graph_(graph), wanted_(wanted), first_(first), second_(second) {}

  /// What is wrong, or nothing.
  std::string run(const Target& target, const CompileOptions& options) {
    Compiled compiled(graph_, target, options, first_.states);
    std::string fault;
    Call call = first_;
    for (size_t i = 0; i < 2; ++i) {
      const Outcome found = compiled.run(call, fault);
      if (fault.empty()) fault = wanted_.fault(call, found);
      if (!fault.empty()) return i == 0 ? fault : "second call: " + fault;
      if (outcomes_.size() == i) outcomes_.push_back(found);
      for (const auto& [now, before] : {std::pair(&found.results, &outcomes_[i].results),
                                        {&found.states, &outcomes_[i].states}}) {
        if (const std::string other = other_number(*now, *before); !other.empty())
          return "on fewer threads: " + other;
      }
      call = {second_.inputs, found.states};
    }
    return {};
  }

 private:
  const GraphPtr& graph_;
  Wanted& wanted_;
  const Call &first_, &second_;
  std::vector<Outcome> outcomes_;
};

std::filesystem::path regressions_folder() {
  if (const char* folder = std::getenv("GRAPHC_REGRESSIONS"); folder != nullptr) return folder;
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() /
         "regressions";
}

/// A target without variants has one way.
std::vector<Way> ways_at(const TargetLevel& level, std::vector<Way> ways) {
  if (!level.takes("variant")) ways.resize(1);
  return ways;
}

}  // namespace

std::vector<Way> every_way(unsigned seed, const std::vector<int>& threads) {
  constexpr std::pair<const char*, const char*> further[] = {
      {"fused", "full"}, {"fused", "2"}, {"basic", "2"}, {"fused", "loop"}, {"basic", "3"}};
  const auto [variant, unroll] = further[seed % std::size(further)];
  return {{"fused", "auto", threads},
          {"basic", "auto", threads},
          {"unrolled", "auto", threads},
          {variant, unroll, threads}};
}

std::vector<Way> ways_of(unsigned seed, const std::vector<int>& threads, size_t count) {
  std::vector<Way> ways = every_way(seed, threads);
  const unsigned turn = seed / 12;
  std::ranges::rotate(ways, ways.begin() + turn % ways.size());
  for (size_t i = 1; i < ways.size(); ++i) ways[i].threads = {threads[(turn + i) % threads.size()]};
  ways.resize(std::min(ways.size(), count));
  return ways;
}

size_t ways_each(size_t otherwise) {
  return size_t(std::max<int64_t>(number_from("GRAPHC_WAYS", int64_t(otherwise)), 1));
}

std::string first_difference(const GraphPtr& graph, unsigned seed, Numbers numbers,
                             const std::vector<TargetLevel>& levels, const std::vector<Way>& ways) {
  // The second call's scale is that of the first: the remainder by 10 says it.
  return first_difference(graph, random_call(*graph, seed, numbers),
                          random_call(*graph, seed + 1000000, numbers), numbers, levels, ways);
}

std::string first_difference(const GraphPtr& graph, const Call& first, const Call& second,
                             Numbers numbers, const std::vector<TargetLevel>& levels,
                             const std::vector<Way>& ways) {
  Wanted wanted(graph, numbers);
  // What the evaluator refuses is no fault of the target's.
  wanted.call_after(wanted.call_after(first, second.inputs), second.inputs);
  for (const TargetLevel& level : levels) {
    for (const Way& way : ways_at(level, ways)) {
      WayOfRunning runs(graph, wanted, first, second);
      for (int count : level.takes("threads") ? way.threads : std::vector<int>{1}) {
        const CompileOptions options =
            level.options({.variant = way.variant, .unroll = way.unroll, .threads = count});
        const std::string what = fmt::format("{}, unroll {}, {}, {} threads", way.variant,
                                             way.unroll, level.text(), count);
        try {
          const std::string wrong = runs.run(level.target(), options);
          if (!wrong.empty()) return fmt::format("{}: {}", what, wrong);
        } catch (const Error& error) {
          return fmt::format("{}: {}", what, error.what());
        }
      }
    }
  }
  return {};
}

std::string reduced_failure(const GraphPtr& graph, const std::string& name, unsigned seed,
                            Numbers numbers, const std::vector<TargetLevel>& levels,
                            const std::vector<Way>& ways) {
  const auto wrong = [&](const GraphPtr& candidate, const Way& way) -> std::string {
    try {
      return first_difference(candidate, seed, numbers, levels, {way});
    } catch (const Error&) {
      return {};  // the evaluator refuses it: no graph to compare
    }
  };
  Way fewest = ways.front();
  for (const Way& way : ways) {
    fewest = way;
    if (!wrong(graph, way).empty()) break;
  }
  Way single = fewest;
  single.threads.resize(1);
  if (!wrong(graph, single).empty()) fewest = single;
  const GraphPtr small = reduce_graph(
      graph, [&](const GraphPtr& candidate) { return !wrong(candidate, fewest).empty(); });
  const std::string what = wrong(small, fewest);
  const std::filesystem::path folder = regressions_folder();
  std::filesystem::create_directories(folder);
  const std::filesystem::path path = folder / fmt::format("{}{}.graph", prefix_of(numbers), name);
  std::ofstream(path) << "# SPDX-License-Identifier: Apache-2.0\n# Seed " << seed
                      << ", reduced; found in " << what << "\ntest verify\n\n"
                      << print(*small);
  return fmt::format("{}\nreduced, in {}:\n{}", what, path.string(), print(*small));
}

std::string prefix_of(Numbers numbers) {
  return numbers == Numbers::whole ? "exact_" : numbers == Numbers::scaled ? "scaled_" : "";
}

int64_t number_from(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoll(text, nullptr, 10);
}

std::string loops_of_several_kernels(const GraphPtr& traced, std::string_view unroll) {
  const GraphPtr graph = run_pipeline(traced, standard_pipeline("fused", unroll)).graph;
  const PipelineResult formed = run_pipeline(graph, kernel_pipeline("fused"));
  std::string text;
  for (const Remark& remark : formed.remarks.all())
    text += fmt::format("%{}: {}\n", remark.node, remark.text);
  return text.empty() ? text : text + print(*graph);
}

}  // namespace graphc::core::testing
