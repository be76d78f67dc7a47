// SPDX-License-Identifier: Apache-2.0
#include "runtime/executable.h"

namespace graphc {
namespace {

template <typename Tensors>
void check_arguments(const std::string& graph, std::string_view what,
                     const std::vector<Argument>& wanted, const Tensors& found) {
  if (found.size() != wanted.size()) {
    throw input_error({}, "graph '{}' has {} {}{}: found {}", graph, wanted.size(), what,
                      wanted.size() == 1 ? "" : "s", found.size());
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (found[i].type() == wanted[i].type) continue;
    throw input_error({}, "graph '{}': {} '{}' is {}: found {}", graph, what, wanted[i].name,
                      to_string(wanted[i].type), to_string(found[i].type()));
  }
}

std::vector<Argument> arguments_of(const Values& values) {
  std::vector<Argument> arguments;
  for (Value value : values) arguments.push_back({value.name(), value.type()});
  return arguments;
}

}  // namespace

Signature signature_of(const Graph& graph) {
  return {graph.name(), arguments_of(graph.inputs()), arguments_of(graph.states()),
          arguments_of(graph.results())};
}

void Executable::run(std::span<const Tensor> inputs, std::span<Tensor> states,
                     std::span<Tensor> outputs) {
  check_arguments(signature_.graph, "input", signature_.inputs, inputs);
  check_arguments(signature_.graph, "state", signature_.states, states);
  check_arguments(signature_.graph, "output", signature_.outputs, outputs);
  execute(inputs, states, outputs);
}

}  // namespace graphc
