// SPDX-License-Identifier: Apache-2.0
// Runs with inputs and results in the memory of a GPU.
#include "frontend/session_compiled.h"
#include "runtime/clock.h"

namespace graphc::core {
namespace {

/// Throws for an option that wants inputs in the host's memory.
void check_for_device(const SessionOptions& options) {
  const auto refuse = [](const char* option) {
    throw input_error({}, "inputs in the memory of a GPU: {}: wanted inputs in the host's memory",
                      option);
  };
  if (!options.round_up.empty()) refuse("with round_up a session pads them");
  if (options.check_finite) refuse("with check_finite a session computes again on the host");
  if (options.ranks != nullptr && options.ranks->count() > 1)
    refuse("with several ranks a session shares them out");
}

}  // namespace

DeviceOutputs Session::run_on_device(std::string_view graph, const std::vector<Data>& inputs,
                                     DeviceStream stream) {
  const Call here(*this);
  return run_on_device_here(graph, inputs, stream);
}

DeviceOutputs Session::run_named_on_device(std::string_view graph, const NamedData& inputs,
                                           DeviceStream stream) {
  const Call here(*this);
  return run_on_device_here(graph, ordered(graph, inputs), stream);
}

DeviceOutputs Session::run_on_device_here(std::string_view graph, const std::vector<Data>& inputs,
                                          DeviceStream stream) {
  check_not_traced(graph);
  check_for_device(options_);
  GivenTypes types;
  std::vector<AnyTensor> tensors;
  for (const Data& input : inputs) {
    types.emplace_back(input);
    tensors.push_back(input.any());
  }
  const CompiledPtr compiled_graph = compiled(graph, types);
  Compiled& found = *compiled_graph;
  Executable& executable = *found.executable;
  const Signature& signature = executable.signature();
  executable.check_stream(stream);
  tensors = arguments_on_device(signature, found.rules, tensors, stream);
  DeviceOutputs outputs{{}, found.result_names};
  for (const Argument& output : signature.outputs)
    outputs.tensors.push_back(executable.new_device_tensor(output.type));
  const double begun = steady_seconds();
  executable.run_on_device(tensors, found.states, outputs.tensors, stream);
  enqueue_s_ = executable.enqueue_s();
  executable.synchronize();
  if (options_.trace) options_.trace->span(TraceTrack::runs, found.graph, begun, steady_seconds());
  return outputs;
}

}  // namespace graphc::core
