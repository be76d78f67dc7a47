// SPDX-License-Identifier: Apache-2.0
#include "frontend/shared_graph.h"

#include <algorithm>
#include <mutex>

#include "frontend/arguments.h"
#include "frontend/output_buffers.h"
#include "ir/spelling.h"

namespace graphc::core {
namespace detail {

/// Shared by all runners. Constant once the first runner exists, except under the lock, which
/// guards the packing of parameters.
struct SharedParts {
  std::string name;
  GraphPtr graph;
  const Target* target = nullptr;
  CompileOptions options;
  std::vector<Type> inputs;
  InputRules rules;
  std::vector<std::string> input_names;
  Outputs::Names result_names;
  std::mutex making;
  StateStore shared;                       ///< states that the graph only reads
  std::map<std::string, Literal> written;  ///< initial values of the others
};

struct RunnerParts {
  std::shared_ptr<SharedParts> common;
  std::unique_ptr<Executable> executable;
  StateStore own;
  std::vector<StoredState*> states;
  OutputBuffers outputs;
  OneThread thread;
  std::string shown;  ///< "a runner of graph 'predict'"

  OneThread::Inside inside() { return {thread, shown}; }
  /// A state of this runner. Throws ErrorKind::input for another name.
  StoredState& state(std::string_view name) {
    if (const auto found = own.find(name); found != own.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [known, value] : common->written) names.push_back(known);
    throw input_error({}, "graph '{}' writes no state '{}'{}", common->name, name,
                      did_you_mean(name, names));
  }
};

}  // namespace detail

namespace {

void set(StoredState& state, const Literal& value) {
  std::ranges::copy(value.converted(state.type().dtype).bytes(), state.change().address());
}

StoredState& add(StateStore& states, const std::string& name, const Literal& value) {
  Tensor initial(value);
  initial.make_unique();
  return states.try_emplace(name, std::move(initial)).first->second;
}

}  // namespace

SharedGraph::SharedGraph(Session& session, std::string_view graph, const std::vector<Type>& inputs)
    : parts_(std::make_shared<detail::SharedParts>()) {
  detail::SharedParts& parts = *parts_;
  parts.target = &session.target();
  if (parts.target != &targets::cpu && parts.target != &targets::reference) {
    throw Error(
        ErrorKind::usage, {},
        fmt::format("a SharedGraph runs on the threads that call it: wanted a session for the "
                    "target cpu or reference, found {}",
                    parts.target->name));
  }
  parts.options = session.options().compile;
  parts.options.cpu.arena = nullptr;  // runners run concurrently
  if (parts.target == &targets::cpu) parts.options.threads = 1;
  const TracedGraph traced = session.model().trace(graph, inputs);
  parts.name = graph;
  parts.graph = traced.graph;
  parts.inputs = inputs;
  parts.rules = rules_of(traced);
  parts.input_names = traced.inputs;
  parts.result_names = std::make_shared<std::vector<std::string>>(traced.result_names);
  for (const Argument& state : signature_of(*parts.graph).states) {
    const Literal value = session.state(state.name);
    if (state.written) {
      parts.written.emplace(state.name, value);
    } else {
      add(parts.shared, state.name, value);
    }
  }
  runner();  // reports compile errors here
}

Runner SharedGraph::runner() const {
  auto made = std::make_unique<detail::RunnerParts>();
  detail::SharedParts& common = *parts_;
  made->common = parts_;
  made->shown = fmt::format("a runner of graph '{}'", common.name);
  const std::lock_guard lock(common.making);
  CompileReport report;
  made->executable = compile(common.graph, *common.target, common.options, report);
  const Signature& signature = made->executable->signature();
  for (const Argument& state : signature.states) {
    StoredState& stored = state.written ? add(made->own, state.name, common.written.at(state.name))
                                        : common.shared.find(state.name)->second;
    made->states.push_back(&stored);
  }
  made->outputs = OutputBuffers(signature.outputs);
  // Packs the shared parameters, under the lock; afterwards they are only read.
  made->executable->prepare(made->states);
  return Runner(std::move(made));
}

Runner::Runner(std::unique_ptr<detail::RunnerParts> parts) : parts_(std::move(parts)) {}
Runner::Runner(Runner&&) noexcept = default;
Runner& Runner::operator=(Runner&&) noexcept = default;
Runner::~Runner() = default;

detail::RunnerParts& Runner::parts() const {
  if (parts_ != nullptr) return *parts_;
  throw input_error({}, "this runner was moved from: use the runner that it was moved to");
}

Outputs Runner::run(const std::vector<Data>& inputs) {
  detail::RunnerParts& mine = parts();
  const OneThread::Inside here = mine.inside();
  const detail::SharedParts& common = *mine.common;
  const auto becomes = [](const Data& input, const Type& wanted) {
    return input.type().shape == wanted.shape &&
           (input.type() == wanted || input.fits(wanted.dtype));
  };
  if (!std::ranges::equal(inputs, common.inputs, becomes)) {
    std::vector<Type> types;
    for (const Data& input : inputs) types.push_back(input.type());
    const auto text = [](const std::vector<Type>& all) {
      std::vector<std::string> words;
      for (const Type& type : all) words.push_back(to_string(type));
      return fmt::format("{}", fmt::join(words, ", "));
    };
    throw input_error({}, "graph '{}' was compiled for {}: found {}", common.name,
                      text(common.inputs), text(types));
  }
  const Signature& signature = mine.executable->signature();
  std::vector<Tensor> tensors;
  for (const Data& input : inputs) tensors.push_back(input.tensor());
  std::vector<Tensor>& outputs = mine.outputs.next();
  mine.executable->run(arguments_of(signature, common.rules, tensors), mine.states, outputs);
  return Outputs(outputs, common.result_names);
}

Outputs Runner::run_named(const NamedData& inputs) {
  return run(in_order(inputs, parts().common->input_names, parts().common->name));
}

void Runner::reset() {
  const OneThread::Inside here = parts().inside();
  for (const auto& [name, value] : parts().common->written) set(parts().state(name), value);
}

Literal Runner::state(std::string_view name) const {
  const OneThread::Inside here = parts().inside();
  return parts().state(name).home().copy();
}

void Runner::set_state(std::string_view name, const Literal& value) {
  const OneThread::Inside here = parts().inside();
  StoredState& state = parts().state(name);
  if (value.type() != state.type()) {
    throw input_error({}, "state '{}' is {}: found {}", name, to_string(state.type()),
                      to_string(value.type()));
  }
  set(state, value);
}

}  // namespace graphc::core
