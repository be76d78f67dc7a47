// SPDX-License-Identifier: Apache-2.0
// The C interface: compiled graphs.
#include <algorithm>

#include "frontend/c/objects.h"
#include "frontend/c/retyped.h"
#include "frontend/c/tensors.h"
#include "frontend/remarks.h"

namespace graphc::core {
namespace {

/// The types of the caller's inputs, in the words of the program.
std::vector<Type> types_of(const graphc_tensor* inputs, size_t count, const CSession& session) {
  std::vector<Type> types;
  for (size_t i = 0; i < count; ++i) {
    Type type =
        CallersTensor(inputs[i], fmt::format("input {}", i), CallersTensor::Of::type).type();
    // Under precision f64 the f32 of the program are f64 for the caller.
    if (session.options.precision == Precision::f64 && type.dtype == DType::f64)
      type.dtype = DType::f32;
    types.push_back(type);
  }
  return types;
}

std::vector<std::string> result_names(const ModelFile& file, const Graph& graph) {
  if (const auto found = file.results.find(graph.name()); found != file.results.end())
    return found->second;
  std::vector<std::string> names;
  for (Value result : graph.results()) names.push_back(result.name());
  return names;
}

std::unique_ptr<graphc_graph> compile_graph(std::shared_ptr<CSession> session, GraphPtr graph) {
  auto compiled = std::make_unique<graphc_graph>();
  CompileReport report;
  compiled->executable = compile(graph, *session->target, session->options, report);
  if (session->announce != nullptr) {
    for (const Remark& notice : notices(report))
      session->announce(to_string(notice).c_str(), session->announce_data);
  }
  for (const Argument& state : compiled->executable->signature().states)
    compiled->states.push_back(&session->state(state.name));
  compiled->results = result_names(*session->file, *graph);
  compiled->graph = std::move(graph);
  compiled->session = std::move(session);
  return compiled;
}

std::vector<CallersTensor> checked(const CCall& call, const graphc_tensor* tensors, size_t count,
                                   const std::string& graph, const char* argument,
                                   std::string_view what, const std::vector<Argument>& wanted,
                                   const std::vector<std::string>& names,
                                   CallersTensor::Of of = CallersTensor::Of::host) {
  if (count != wanted.size()) {
    throw input_error({}, "graph '{}' has {} {}{}: found {}", graph, wanted.size(), what,
                      wanted.size() == 1 ? "" : "s", count);
  }
  if (count > 0) call.given(tensors, argument);
  std::vector<CallersTensor> found;
  for (size_t i = 0; i < count; ++i) {
    found.emplace_back(tensors[i], fmt::format("graph '{}': {} '{}'", graph, what, names[i]), of);
    if (found[i].type() == wanted[i].type) continue;
    throw input_error({}, "{} is {}: found {}", found[i].what(), to_string(wanted[i].type),
                      to_string(found[i].type()));
  }
  return found;
}

void check_memory(const std::vector<CallersTensor>& inputs,
                  const std::vector<CallersTensor>& results) {
  const auto check = [](const CallersTensor& result, const CallersTensor& other) {
    if (!result.shares_memory(other)) return;
    throw input_error({}, "{} shares memory with {}: wanted memory of its own", result.what(),
                      other.what());
  };
  for (size_t i = 0; i < results.size(); ++i) {
    for (const CallersTensor& input : inputs) check(results[i], input);
    for (size_t j = 0; j < i; ++j) check(results[i], results[j]);
  }
}

std::vector<std::string> names_of(const std::vector<Argument>& arguments) {
  std::vector<std::string> names;
  for (const Argument& argument : arguments) names.push_back(argument.name);
  return names;
}

void run(const CCall& call, graphc_graph& graph, const graphc_tensor* inputs, size_t input_count,
         const graphc_tensor* results, size_t result_count) {
  const OneThread::Inside here = graph.session->inside();
  const Signature& signature = graph.executable->signature();
  const auto from = checked(call, inputs, input_count, signature.graph, "inputs", "input",
                            signature.inputs, names_of(signature.inputs));
  const auto to = checked(call, results, result_count, signature.graph, "results", "result",
                          signature.outputs, graph.results);
  check_memory(from, to);
  std::vector<Tensor> arguments, outputs;
  for (const CallersTensor& input : from) arguments.push_back(input.to_read());
  for (const CallersTensor& result : to) outputs.push_back(result.to_write());
  graph.session->file->check(*graph.graph, arguments);
  graph.executable->run(arguments, graph.states, outputs);
}

void run_on_stream(const CCall& call, graphc_graph& graph, const graphc_tensor* inputs,
                   size_t input_count, const graphc_tensor* results, size_t result_count,
                   DeviceStream stream) {
  const OneThread::Inside here = graph.session->inside();
  const Signature& signature = graph.executable->signature();
  constexpr auto kAnywhere = CallersTensor::Of::anywhere;
  const auto from = checked(call, inputs, input_count, signature.graph, "inputs", "input",
                            signature.inputs, names_of(signature.inputs), kAnywhere);
  const auto to = checked(call, results, result_count, signature.graph, "results", "result",
                          signature.outputs, graph.results, kAnywhere);
  check_memory(from, to);
  std::vector<AnyTensor> arguments;
  std::vector<DeviceTensor> outputs;
  for (const CallersTensor& input : from)
    input.is_on_gpu() ? arguments.emplace_back(input.on_gpu())
                      : arguments.emplace_back(input.to_read());
  for (const CallersTensor& result : to) {
    if (!result.is_on_gpu()) {
      throw input_error({},
                        "{}: its memory is the host's: wanted that of a GPU "
                        "(GRAPHC_DEVICE_CUDA)",
                        result.what());
    }
    outputs.push_back(result.on_gpu());
  }
  graph.executable->check_stream(stream);
  graph.session->file->check(*graph.graph, arguments, stream);
  graph.executable->run_on_device(arguments, graph.states, outputs, stream);
}

const std::vector<Argument>& arguments_of(const CCall& call, const graphc_graph& graph,
                                          graphc_part part) {
  const Signature& signature = graph.executable->signature();
  switch (part) {
    case GRAPHC_INPUT:
      return signature.inputs;
    case GRAPHC_RESULT:
      return signature.outputs;
    case GRAPHC_STATE:
      return signature.states;
    default:
      break;
  }
  throw call.error(
      fmt::format("'part' is {}: wanted GRAPHC_INPUT, GRAPHC_RESULT or GRAPHC_STATE", part));
}

}  // namespace
}  // namespace graphc::core

using namespace graphc::core;

extern "C" {

graphc_status graphc_session_compile(graphc_session* session, const char* name,
                                     const graphc_tensor* inputs, size_t count,
                                     graphc_graph** graph, graphc_error** error) {
  return guarded(__func__, error, [&](const CCall& call) {
    call.given(graph, "graph") = nullptr;
    const std::shared_ptr<CSession> on = call.live(session, "session").session;
    const std::string called = call.text(name, "name");
    if (count > 0) call.given(inputs, "inputs");
    const OneThread::Inside here = on->inside();
    GraphPtr found = on->file->module.graph(called);
    if (inputs != nullptr) found = with_inputs(found, types_of(inputs, count, *on));
    hand_over(*graph, compile_graph(on, std::move(found)));
  });
}

graphc_status graphc_graph_count(const graphc_graph* graph, graphc_part part, size_t* count,
                                 graphc_error** error) {
  return guarded(__func__, error, [&](const CCall& call) {
    call.given(count, "count") = 0;
    *count = arguments_of(call, call.live(graph, "graph"), part).size();
  });
}

graphc_status graphc_graph_describe(const graphc_graph* graph, graphc_part part, size_t index,
                                    graphc_info* info, graphc_error** error) {
  return guarded(__func__, error, [&](const CCall& call) {
    const graphc_graph& on = call.live(graph, "graph");
    const std::vector<Argument>& all = arguments_of(call, on, part);
    if (index >= all.size()) {
      constexpr const char* kWords[] = {"input", "result", "state"};
      throw call.error(fmt::format("there is no {} {}: graph '{}' has {}, counted from 0",
                                   kWords[part], index, on.graph->name(), all.size()));
    }
    const Argument& argument = all[index];
    describe(call, info, part == GRAPHC_RESULT ? on.results[index] : argument.name, argument.type,
             argument.written,
             part == GRAPHC_STATE && is_parameter(*on.session->file, argument.name));
  });
}

graphc_status graphc_graph_run(graphc_graph* graph, const graphc_tensor* inputs, size_t input_count,
                               const graphc_tensor* results, size_t result_count,
                               graphc_error** error) {
  return guarded(__func__, error, [&](const CCall& call) {
    run(call, call.live(graph, "graph"), inputs, input_count, results, result_count);
  });
}

graphc_status graphc_graph_run_on_stream(graphc_graph* graph, const graphc_tensor* inputs,
                                         size_t input_count, const graphc_tensor* results,
                                         size_t result_count, void* stream, graphc_error** error) {
  return guarded(__func__, error, [&](const CCall& call) {
    run_on_stream(call, call.live(graph, "graph"), inputs, input_count, results, result_count,
                  reinterpret_cast<DeviceStream>(stream));
  });
}

graphc_status graphc_graph_synchronize(graphc_graph* graph, graphc_error** error) {
  return guarded(__func__, error, [&](const CCall& call) {
    graphc_graph& on = call.live(graph, "graph");
    const OneThread::Inside here = on.session->inside();
    on.executable->synchronize();
  });
}

graphc_status graphc_graph_free(graphc_graph* graph, graphc_error** error) {
  return guarded(__func__, error, [&](const CCall& call) {
    if (graph == nullptr) return;
    const std::shared_ptr<CSession> on = call.live(graph, "graph").session;
    const OneThread::Inside here = on->inside();
    call.free(graph, "graph");
  });
}

}  // extern "C"
