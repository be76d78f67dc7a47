// SPDX-License-Identifier: Apache-2.0
// The graphs of a file as subjects of a benchmark.
#include <algorithm>
#include <deque>

#include "ir/verify.h"
#include "models/random_inputs.h"
#include "tools/bench/subject.h"

namespace graphc::bench {
namespace {

/// Floats are uniform in [0, 1); integers are 0 or 1, so that they are rows of any table that has
/// two.
Tensor random_tensor(const Type& type, uint64_t seed) {
  if (is_floating(type.dtype))
    return Tensor(random_uniform(type.shape, seed).literal().converted(type.dtype));
  return Tensor(random_integers(type.shape, 2, seed).literal().converted(type.dtype));
}

std::vector<Tensor> random_tensors(const Values& values, const std::string& precision,
                                   uint64_t seed) {
  std::vector<Tensor> tensors;
  for (Value value : values) {
    const uint64_t own = seed * values.size() + tensors.size();
    tensors.push_back(random_tensor(stored_type(value.type(), precision), own));
  }
  return tensors;
}

bool takes_gradients(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) { return node.is(ops::grad); });
}

class FileSubject : public Subject {
 public:
  FileSubject(Configuration configuration, GraphReader read, GraphPtr graph)
      : Subject(std::move(configuration)),
        read_(std::move(read)),
        drawn_(std::move(graph)),
        call_(!drawn_->next().empty() || takes_gradients(*drawn_) ? Call::train : Call::forward),
        initial_(random_tensors(drawn_->states(), precision(), 0)) {}

  bool has(Call call) const override { return call == call_; }
  std::optional<Work> work() const override { return std::nullopt; }

  std::vector<Tensor> random_inputs(Call, uint64_t seed) const override {
    return random_tensors(drawn_->inputs(), precision(), seed + 1);
  }

  void forget() override {
    executable_.reset();
    states_.clear();
    stored_.clear();
    outputs_.clear();
  }

  CompileReport compile(Call, const std::vector<Tensor>&) override {
    CompileReport report;
    const GraphPtr graph = read_().graph(drawn_->name());
    report.lap(&CompileReport::trace_s);
    CompileOptions options = configuration().compile;
    const Target& on = target(configuration().target, options);
    executable_ = graphc::compile(graph, on, options, report);
    for (const Tensor& state : initial_)
      states_.push_back(&stored_.emplace_back(Tensor(state.copy())));
    for (const Argument& output : executable_->signature().outputs)
      outputs_.emplace_back(output.type);
    report.lap(&CompileReport::allocate_s);
    return report;
  }

  std::vector<Tensor> run(Call, const std::vector<Tensor>& inputs) override {
    executable_->run(inputs, states_, outputs_);
    return outputs_;
  }

  std::optional<double> enqueue_s() const override { return executable_->enqueue_s(); }

 private:
  const std::string& precision() const { return configuration().compile.precision; }

  GraphReader read_;
  GraphPtr drawn_;  ///< says what is drawn; it is read again in the clock
  Call call_;
  std::vector<Tensor> initial_;
  std::unique_ptr<Executable> executable_;
  std::deque<StoredState> stored_;  ///< so that forms are kept between calls, as in a session
  std::vector<StoredState*> states_;
  std::vector<Tensor> outputs_;
};

}  // namespace

std::vector<std::unique_ptr<Subject>> file_subjects(const std::string& name,
                                                    const GraphReader& read,
                                                    const std::string& target,
                                                    const CompileOptions& options,
                                                    const GivenParameters& given) {
  const Module module = read();
  verify(module);
  std::vector<std::unique_ptr<Subject>> subjects;
  for (const GraphPtr& graph : module.graphs) {
    Configuration configuration{.workload = name,
                                .parameters = {{"graph", graph->name()}},
                                .given = "graph=" + graph->name(),
                                .target = target,
                                .compile = options};
    if (!given.all.empty()) {
      configuration.parameters = given.all;
      configuration.given = given.text;
    }
    subjects.push_back(std::make_unique<FileSubject>(std::move(configuration), read, graph));
  }
  return subjects;
}

}  // namespace graphc::bench
