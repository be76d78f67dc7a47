// SPDX-License-Identifier: Apache-2.0
// A model of the registry as the subject of a benchmark.
#include "models/registry.h"
#include "runtime/clock.h"
#include "tools/bench/messages.h"
#include "tools/bench/subject.h"

namespace graphc::core::bench {
namespace {

class ModelSubject : public Subject {
 public:
  ModelSubject(Configuration configuration, std::vector<std::string> assignments,
               std::unique_ptr<Program> drawn)
      : Subject(std::move(configuration)),
        assignments_(std::move(assignments)),
        drawn_(std::move(drawn)) {}

  bool has(Call) const override { return true; }
  std::optional<Work> work() const override { return drawn_->work(); }

  std::vector<Tensor> random_inputs(Call call, uint64_t seed) const override {
    return drawn_->random_inputs(graph(call), seed);
  }

  void forget() override {
    brought_ = {};
    session_.reset();
    program_.reset();
  }

  CompileReport compile(Call call, const std::vector<AnyTensor>& inputs) override {
    const double begun = steady_seconds();
    if (!session_) {
      program_ = make_program(configuration().workload, assignments_);
      SessionOptions options{.target = configuration().target,
                             .compile = configuration().compile,
                             .ranks = configuration().ranks,
                             .gradients = configuration().compile.ranks.gradients};
      if (!options.ranks || options.ranks->rank() == 0) options.announce = say_once;
      session_ = std::make_unique<Session>(program_->model(), options);
    }
    std::vector<Type> types;
    for (const AnyTensor& input : inputs) types.push_back(type_of(input));
    const double made = steady_seconds();
    CompileReport report = session_->compile(graph(call), types);
    report.trace_s += made - begun;
    return report;
  }

  std::vector<AnyTensor> run(Call call, const std::vector<AnyTensor>& inputs,
                             const std::vector<AnyTensor>* next) override {
    if (configuration().io == Io::device) {
      const DeviceOutputs outputs = session_->run_on_device(graph(call), data_of(inputs));
      return {outputs.tensors.begin(), outputs.tensors.end()};
    }
    if (configuration().io == Io::host) {
      const Outputs outputs = session_->run(graph(call), data_of(inputs));
      return {outputs.begin(), outputs.end()};
    }
    PreparedRun now = std::exchange(brought_, {});
    if (!now || brought_for_ != call) now = session_->prepare(graph(call), data_of(inputs));
    now.start();
    if (next != nullptr) brought_ = session_->prepare(graph(call), data_of(*next));
    brought_for_ = call;
    const Outputs& outputs = now.wait();
    return {outputs.begin(), outputs.end()};
  }

  std::vector<KernelTime> profile(Call call, const std::vector<Tensor>& inputs) override {
    return session_->profile_run(graph(call), {inputs.begin(), inputs.end()});
  }

  std::optional<double> enqueue_s() const override { return session_->enqueue_s(); }

 private:
  static std::vector<Data> data_of(const std::vector<AnyTensor>& inputs) {
    std::vector<Data> data;
    for (const AnyTensor& input : inputs)
      data.push_back(std::visit([](const auto& one) { return Data(one); }, input));
    return data;
  }
  static std::string_view graph(Call call) { return call == Call::train ? "train" : "forward"; }

  std::vector<std::string> assignments_;
  std::unique_ptr<Program> drawn_;  ///< only draws inputs, outside the timed code
  std::unique_ptr<Program> program_;
  std::unique_ptr<Session> session_;
  PreparedRun brought_;  ///< of the next call, if its inputs have been brought
  Call brought_for_ = Call::train;
};

}  // namespace

std::unique_ptr<Subject> model_subject(const std::string& model,
                                       const std::vector<std::string>& assignments,
                                       const std::string& target, const CompileOptions& options,
                                       std::shared_ptr<Ranks> ranks) {
  auto program = make_program(model, assignments);
  const ModelRecord& record = *find_model(model);
  Parameters parameters(model, record.parameters, assignments);
  record.make(parameters);  // completes dependent defaults
  Configuration configuration{.workload = model,
                              .parameters = parameters.entries(),
                              .given = fmt::format("{}", fmt::join(assignments, " ")),
                              .target = target,
                              .compile = options,
                              .ranks = std::move(ranks)};
  return std::make_unique<ModelSubject>(std::move(configuration), assignments, std::move(program));
}

}  // namespace graphc::core::bench
