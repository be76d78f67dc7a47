// SPDX-License-Identifier: Apache-2.0
// The graphs in a file as subjects of a benchmark.
#include <algorithm>
#include <deque>

#include "ir/verify.h"
#include "tools/bench/subject.h"

namespace graphc::core::bench {
namespace {

using commands::Arguments;
using commands::Drawing;

/// The values in the target's element types.
std::vector<Tensor> stored(const std::vector<Literal>& values, Precision precision) {
  std::vector<Tensor> tensors;
  for (const Literal& value : values)
    tensors.emplace_back(value.converted(stored_type(value.type(), precision).dtype));
  return tensors;
}

bool takes_gradients(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) { return node.is(ops::grad); });
}

class FileSubject : public Subject {
 public:
  FileSubject(Configuration configuration, GraphReader read, GraphPtr graph,
              const commands::ArgumentOptions& arguments)
      : Subject(std::move(configuration)),
        read_(std::move(read)),
        drawn_(std::move(graph)),
        drawing_(commands::drawing_of(*drawn_, *commands::without_grad(drawn_), arguments)),
        call_(!drawn_->next().empty() || takes_gradients(*drawn_) ? Call::train : Call::forward) {
    const Arguments first = draw_arguments(*drawn_, 0, drawing_);
    std::vector<Literal> states;
    for (Value state : drawn_->states()) states.push_back(first.states.at(state.name()));
    initial_ = stored(states, precision());
  }

  bool has(Call call) const override { return call == call_; }
  std::optional<Work> work() const override { return std::nullopt; }

  std::vector<Tensor> random_inputs(Call, uint64_t seed) const override {
    const uint64_t own = (seed + 1) * (drawn_->inputs().size() + drawn_->states().size());
    return stored(draw_arguments(*drawn_, own, drawing_).inputs, precision());
  }

  void forget() override {
    executable_.reset();
    is_brought_ = false;
    states_.clear();
    stored_.clear();
    outputs_.clear();
    outputs_there_.clear();
  }

  CompileReport compile(Call, const std::vector<AnyTensor>&) override {
    CompileReport report;
    const GraphPtr graph = read_().module.graph(drawn_->name());
    report.lap(&CompileReport::trace_s);
    CompileOptions options = configuration().compile;
    const Target& on = target(configuration().target, options);
    executable_ = graphc::core::compile(graph, on, options, report);
    for (const Tensor& state : initial_)
      states_.push_back(&stored_.emplace_back(Tensor(state.copy())));
    for (const Argument& output : executable_->signature().outputs) {
      outputs_.emplace_back(output.type);
      if (configuration().io == Io::device)
        outputs_there_.push_back(executable_->new_device_tensor(output.type));
    }
    report.lap(&CompileReport::allocate_s);
    return report;
  }

  std::vector<AnyTensor> run(Call, const std::vector<AnyTensor>& inputs,
                             const std::vector<AnyTensor>* next) override {
    if (configuration().io == Io::device) {
      executable_->run_on_device(inputs, states_, outputs_there_, 0);
      executable_->synchronize();
      return {outputs_there_.begin(), outputs_there_.end()};
    }
    if (configuration().io == Io::host) {
      executable_->run(on_host(inputs), states_, outputs_);
      return {outputs_.begin(), outputs_.end()};
    }
    if (!std::exchange(is_brought_, next != nullptr)) executable_->bring(on_host(inputs));
    executable_->launch(states_);
    if (next != nullptr) executable_->bring(on_host(*next));
    executable_->finish(outputs_);
    return {outputs_.begin(), outputs_.end()};
  }

  std::vector<KernelTime> profile(Call, const std::vector<Tensor>& inputs) override {
    executable_->run(inputs, states_, outputs_);
    executable_->begin_profile(Profiled::kernels);
    executable_->run(inputs, states_, outputs_);
    return executable_->end_profile().kernels;
  }

  std::optional<double> enqueue_s() const override { return executable_->enqueue_s(); }

 private:
  Precision precision() const { return configuration().compile.precision; }

  GraphReader read_;
  GraphPtr drawn_;  ///< only for drawing; the timed code reads the file again
  Drawing drawing_;
  Call call_;
  std::vector<Tensor> initial_;
  std::unique_ptr<Executable> executable_;
  std::deque<StoredState> stored_;  ///< keeps derived forms between calls, as in a session
  std::vector<StoredState*> states_;
  std::vector<Tensor> outputs_;
  std::vector<DeviceTensor> outputs_there_;  ///< the same in the memory of the GPU
  bool is_brought_ = false;                  ///< whether the next call's inputs are on the GPU
};

}  // namespace

std::vector<std::unique_ptr<Subject>> file_subjects(const std::string& name,
                                                    const GraphReader& read,
                                                    const std::string& target,
                                                    const CompileOptions& options,
                                                    commands::ArgumentOptions arguments,
                                                    const GivenParameters& given) {
  ModelFile model = read();
  const Module& module = model.module;
  arguments.states = std::move(model.states);
  verify(module);
  commands::check_given(arguments.given, module.graphs);
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
    subjects.push_back(
        std::make_unique<FileSubject>(std::move(configuration), read, graph, arguments));
  }
  return subjects;
}

}  // namespace graphc::core::bench
