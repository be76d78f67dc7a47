// SPDX-License-Identifier: Apache-2.0
// The reference target: the evaluator behind the interface of an executable. Slow, and correct by
// definition; the pattern for other targets.
#include "codegen/target.h"

#include <array>
#include <cstring>
#include <optional>

#include "ir/denormals.h"
#include "ir/evaluate.h"
#include "passes/passes.h"

namespace graphc::core {
namespace {

Signature stored_signature(const Graph& graph, Precision precision) {
  Signature signature = signature_of(graph);
  for (auto* arguments : {&signature.inputs, &signature.states, &signature.outputs}) {
    for (Argument& argument : *arguments) argument.type = stored_type(argument.type, precision);
  }
  return signature;
}

void store(const Literal& value, const Tensor& to) {
  GRAPHC_CHECK(value.type() == to.type(), "the evaluator gives {} for {}", to_string(value.type()),
               to_string(to.type()));
  std::memcpy(to.address(), value.bytes().data(), value.bytes().size());
}

/// Evaluations of the ranks' graphs, which exchange values through an engine.
class EngineExchange : public RankExchange {
 public:
  explicit EngineExchange(Ranks& ranks) : ranks_(ranks) {}
  int count() const override { return ranks_.count(); }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    ranks_.all_gather(mine, all);
  }

 private:
  Ranks& ranks_;
};

class ReferenceExecutable : public Executable {
 public:
  /// `graph` has no gradients left; its results are named as those of `named`, the user's graph.
  ReferenceExecutable(GraphPtr graph, const Graph& named, Precision precision,
                      std::shared_ptr<Ranks> ranks)
      : Executable(stored_signature(named, precision)),
        graph_(std::move(graph)),
        precision_(precision),
        ranks_(std::move(ranks)) {
    if (ranks_ != nullptr) exchange_.emplace(*ranks_);
  }

 private:
  void execute(std::span<const Tensor> inputs, std::span<StoredState* const> states,
               std::span<Tensor> outputs) override {
    std::vector<Literal> arguments;
    for (const Tensor& input : inputs) arguments.push_back(input.literal());
    std::map<std::string, Literal> values;
    for (size_t i = 0; i < states.size(); ++i)
      values.emplace(signature().states[i].name, states[i]->home().literal());
    const UsualArithmetic mode;
    const Evaluation evaluation =
        evaluate(*graph_, arguments, values, precision_, exchange_ ? &*exchange_ : nullptr);
    // Results may share a buffer with a state's old value: they are copied before it changes.
    for (size_t i = 0; i < outputs.size(); ++i) store(evaluation.results[i], outputs[i]);
    std::vector<Literal> next;
    for (size_t i = 0; i < states.size(); ++i) {
      const auto found = evaluation.next.find(signature().states[i].name);
      if (found == evaluation.next.end()) continue;
      next.push_back(Tensor(found->second).copy());
    }
    size_t assigned = 0;
    for (size_t i = 0; i < states.size(); ++i) {
      if (evaluation.next.contains(signature().states[i].name))
        store(next[assigned++], states[i]->home());
    }
  }

  GraphPtr graph_;
  Precision precision_;
  std::shared_ptr<Ranks> ranks_;
  std::optional<EngineExchange> exchange_;
};

std::unique_ptr<Executable> compile_reference(const GraphPtr& graph, const CompileOptions& options,
                                              CompileReport& report) {
  return std::make_unique<ReferenceExecutable>(
      run_passes(graph, {{&passes::autodiff, {}}}, options, report), *graph, options.precision,
      options.ranks.engine);
}

constexpr std::array kReferencePrecisions{Precision::f32, Precision::f64};

}  // namespace

constinit const Target targets::reference{
    .name = "reference",
    .summary = "the evaluator: slow, and the meaning of every graph",
    .precisions = kReferencePrecisions,
    .options = {},
    .unavailable = [] { return std::string(); },
    .compile = compile_reference,
};

}  // namespace graphc::core
