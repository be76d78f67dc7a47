// SPDX-License-Identifier: Apache-2.0
#include "runtime/executable.h"

#include <unordered_set>

#include "ir/mutant.h"

namespace graphc::core {
namespace {

const Type& type_of(const Tensor& tensor) { return tensor.type(); }
const Type& type_of(const DeviceTensor& tensor) { return tensor.type(); }
const Type& type_of(const StoredState* state) { return state->type(); }

template <typename Tensors>
void check_arguments(const std::string& graph, std::string_view what,
                     const std::vector<Argument>& wanted, const Tensors& found) {
  if (found.size() != wanted.size()) {
    throw input_error({}, "graph '{}' has {} {}{}: found {}", graph, wanted.size(), what,
                      wanted.size() == 1 ? "" : "s", found.size());
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (type_of(found[i]) == wanted[i].type) continue;
    throw input_error({}, "graph '{}': {} '{}' is {}: found {}", graph, what, wanted[i].name,
                      to_string(wanted[i].type), to_string(type_of(found[i])));
  }
}

std::vector<Argument> arguments_of(const Values& values) {
  std::vector<Argument> arguments;
  for (Value value : values) arguments.push_back({value.name(), value.type()});
  return arguments;
}

/// Gives the written states a new version at the end of the call, also after an exception.
class NewVersions {
 public:
  NewVersions(const std::vector<Argument>& arguments, std::span<StoredState* const> states)
      : arguments_(arguments), states_(states) {}
  NewVersions(const NewVersions&) = delete;
  ~NewVersions() {
    for (size_t i = 0; i < states_.size(); ++i) {
      if (arguments_[i].written && !mutated(Mutant::written_state_keeps_version))
        states_[i]->written();
    }
  }

 private:
  const std::vector<Argument>& arguments_;
  std::span<StoredState* const> states_;
};

/// Makes tensors the home forms of states for the duration of a call.
class Lent {
 public:
  Lent(std::span<StoredState* const> states, std::span<const Tensor> tensors) : states_(states) {
    for (size_t i = 0; i < states.size(); ++i) states[i]->adopt(tensors[i]);
  }
  Lent(const Lent&) = delete;
  ~Lent() {
    for (StoredState* state : states_) state->release();
  }

 private:
  std::span<StoredState* const> states_;
};

}  // namespace

void Executable::begin_profile(Profiled) {
  throw Error(ErrorKind::usage, {}, "this target does not say what its kernels take: cpu does");
}

RunProfile Executable::end_profile() { return {}; }

Signature signature_of(const Graph& graph) {
  Signature signature{graph.name(), arguments_of(graph.inputs()), arguments_of(graph.states()),
                      arguments_of(graph.results())};
  std::unordered_set<std::string> written;
  for (const Next& next : graph.next()) written.insert(next.state.name());
  for (Argument& state : signature.states) state.written = written.contains(state.name);
  return signature;
}

void Executable::prepare(std::span<StoredState* const> states) {
  check_arguments(signature_.graph, "state", signature_.states, states);
  prepare_states(states);
}

void Executable::run(std::span<const Tensor> inputs, std::span<StoredState* const> states,
                     std::span<Tensor> outputs) {
  check_arguments(signature_.graph, "input", signature_.inputs, inputs);
  check_arguments(signature_.graph, "state", signature_.states, states);
  check_arguments(signature_.graph, "output", signature_.outputs, outputs);
  const NewVersions after(signature_.states, states);
  execute(inputs, states, outputs);
}

namespace {

void check_device(const std::string& graph, std::string_view what, const Argument& argument,
                  int wanted, const DeviceTensor& found) {
  if (found.device() == wanted) return;
  throw input_error({},
                    "graph '{}': {} '{}' is in the memory of GPU {}: wanted GPU {}, on which "
                    "the graph is computed",
                    graph, what, argument.name, found.device(), wanted);
}

Error on_host(const std::string& graph) {
  return input_error({},
                     "graph '{}' is computed in the host's memory: wanted inputs there, or "
                     "target cuda",
                     graph);
}

}  // namespace

void Executable::run_on_device(std::span<const AnyTensor> inputs,
                               std::span<StoredState* const> states,
                               std::span<const DeviceTensor> outputs, DeviceStream stream) {
  check_stream(stream);
  check_arguments(signature_.graph, "input", signature_.inputs, inputs);
  check_arguments(signature_.graph, "state", signature_.states, states);
  check_arguments(signature_.graph, "output", signature_.outputs, outputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (const auto* const input = std::get_if<DeviceTensor>(&inputs[i]))
      check_device(signature_.graph, "input", signature_.inputs[i], device(), *input);
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    check_device(signature_.graph, "output", signature_.outputs[i], device(), outputs[i]);
  const NewVersions after(signature_.states, states);
  execute_on_device(inputs, states, outputs, stream);
}

void Executable::bring(std::span<const Tensor> inputs) {
  if (device() < 0) throw on_host(signature_.graph);
  check_arguments(signature_.graph, "input", signature_.inputs, inputs);
  execute_bring(inputs);
}

void Executable::launch(std::span<StoredState* const> states) {
  if (device() < 0) throw on_host(signature_.graph);
  check_arguments(signature_.graph, "state", signature_.states, states);
  const NewVersions after(signature_.states, states);
  execute_launch(states);
}

void Executable::finish(std::span<Tensor> outputs) {
  if (device() < 0) throw on_host(signature_.graph);
  check_arguments(signature_.graph, "output", signature_.outputs, outputs);
  execute_finish(outputs);
}

void Executable::check_stream(DeviceStream stream) const {
  if (device() < 0) throw on_host(signature_.graph);
  if (!is_captured(stream)) return;
  throw input_error({},
                    "graph '{}': the caller's stream is being captured as a CUDA graph: a step is "
                    "one already, and cannot be part of another",
                    signature_.graph);
}

DeviceTensor Executable::new_device_tensor(const Type&) const { throw on_host(signature_.graph); }

void Executable::run(std::span<const Tensor> inputs, std::span<Tensor> states,
                     std::span<Tensor> outputs) {
  check_arguments(signature_.graph, "state", signature_.states, states);
  while (borrowers_.size() < states.size()) {  // the first call
    const Tensor none(signature_.states[borrowers_.size()].type, nullptr);
    borrowers_.push_back(&borrowing_.emplace_back(none));
  }
  const Lent lent(borrowers_, states);
  run(inputs, borrowers_, outputs);
  // Copies what the executable left elsewhere to the tensors.
  for (const StoredState* state : borrowers_) state->home();
}

void Executable::run(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  run(inputs, std::span<StoredState* const>(), outputs);
}

}  // namespace graphc::core
