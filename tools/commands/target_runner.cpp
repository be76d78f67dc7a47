// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/target_runner.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "runtime/ranks/thread_ranks.h"

namespace graphc::core::commands {
namespace {

/// Fills with bytes that no result is likely to have: NaN, -1, true.
void fill_with_rubbish(Tensor& tensor) {
  const int byte = tensor.dtype() == DType::boolean ? 1 : 0xff;
  std::memset(tensor.address(), byte, size_t(tensor.type().bytes()));
}

}  // namespace

/// What one rank has.
struct TargetRunner::One {
  std::unique_ptr<Executable> executable;
  std::deque<StoredState> stored;
  std::vector<StoredState*> states;
  std::vector<Tensor> outputs;

  One(const GraphPtr& graph, const Target& on, const CompileOptions& options,
      const WantedRuns& wanted) {
    CompileReport report;
    executable = compile(graph, on, options, report);
    for (const Argument& state : executable->signature().states) {
      Tensor first = wanted.first_states().at(state.name).converted(state.type.dtype);
      first.make_unique();
      states.push_back(&stored.emplace_back(std::move(first)));
    }
    for (const Argument& output : executable->signature().outputs)
      outputs.emplace_back(output.type);
  }

  std::string run(const std::vector<Literal>& arguments) {
    const Signature& signature = executable->signature();
    std::vector<Tensor> inputs;
    std::vector<Literal> before;
    for (size_t i = 0; i < arguments.size(); ++i) {
      before.push_back(arguments[i].converted(signature.inputs[i].type.dtype));
      inputs.push_back(Literal::from_bytes(before[i].type(), before[i].bytes()));
    }
    for (Tensor& output : outputs) fill_with_rubbish(output);
    executable->run(inputs, states, outputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!(inputs[i].literal() == before[i]))
        return fmt::format("input %{} is written to", signature.inputs[i].name);
    }
    return "";
  }
};

TargetRunner::TargetRunner(const GraphPtr& graph, const Target& on, const CompileOptions& options,
                           const WantedRuns& wanted) {
  if (options.ranks.count > 1) engines_ = thread_ranks(options.ranks.count);
  ranks_.resize(size_t(options.ranks.count));
  // Those of GPUs meet when they are made.
  on_every_rank([&](size_t rank) {
    CompileOptions own = options;
    own.ranks.rank = int(rank);
    if (!engines_.empty()) own.ranks.engine = engines_[rank];
    ranks_[rank] = std::make_unique<One>(graph, on, own, wanted);
  });
}
TargetRunner::~TargetRunner() = default;

const Signature& TargetRunner::signature() const { return ranks_[0]->executable->signature(); }
const std::vector<Tensor>& TargetRunner::outputs() const { return ranks_[0]->outputs; }
const std::vector<StoredState*>& TargetRunner::states() const { return ranks_[0]->states; }

std::string TargetRunner::run(const std::vector<Literal>& arguments) {
  std::vector<std::string> changed(ranks_.size());
  on_every_rank([&](size_t rank) { changed[rank] = ranks_[rank]->run(arguments); });
  for (const std::string& each : changed) {
    if (!each.empty()) return each;
  }
  const std::vector<Literal> first = bits();
  for (size_t rank = 1; rank < ranks_.size(); ++rank) {
    if (bits_of(rank) != first) return fmt::format("rank {} has other bits than rank 0", rank);
  }
  return "";
}

void TargetRunner::on_every_rank(const std::function<void(size_t rank)>& work) const {
  engines_.empty() ? work(0) : run_on(engines_, work);
}

std::vector<Literal> TargetRunner::bits_of(size_t rank) const {
  std::vector<Literal> all;
  for (const Tensor& output : ranks_[rank]->outputs) all.push_back(output.copy());
  for (const StoredState* state : ranks_[rank]->states) all.push_back(state->home().copy());
  return all;
}

}  // namespace graphc::core::commands
