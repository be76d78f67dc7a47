// SPDX-License-Identifier: Apache-2.0
#include "frontend/divided.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "frontend/model_file.h"
#include "frontend/remarks.h"
#include "frontend/session_compiled.h"
#include "ir/text.h"
#include "passes/passes.h"
#include "passes/region.h"

namespace graphc::core {
namespace {

/// The graph with states as inputs, in front of its own; it does not assign them.
GraphPtr with_states_as_inputs(const Graph& from, const std::vector<std::string>& names,
                               const Model& model) {
  const auto is_state = [&](Value state) {
    return std::ranges::find(names, state.name()) == names.end();
  };
  auto to = std::make_unique<Graph>(from.name());
  ValueMap known(from);
  for (const std::string& name : names) {
    const StateCell& cell = *model.state_cell(name);
    const Value input = to->input(cell.type, name, cell.where);
    for (Value state : from.states()) {
      if (state.name() == name) known.set(state, input);
    }
  }
  for (Value input : from.inputs())
    known.set(input, to->input(input.type(), input.name(), input.node->where));
  for (Value state : from.states()) {
    if (is_state(state)) known.set(state, to->state(state.type(), state.name(), state.node->where));
  }
  Values roots = from.results();
  for (const Next& next : from.next()) {
    if (is_state(next.state)) roots.push_back(next.value);
  }
  const Values values = copy_cone(from, known, roots, *to);
  const auto results = values.begin() + long(from.results().size());
  to->set_results({values.begin(), results});
  auto value = results;
  for (const Next& next : from.next()) {
    if (is_state(next.state)) to->set_next(known(next.state), *value++);
  }
  return freeze(std::move(to));
}

/// The passes up to a graph without `grad`. A chunk would hold a loss and its gradient.
Pipeline pipeline_of(const Session& session) {
  Pipeline pipeline = passes_for(session.options().compile, session.target().kernels);
  std::erase_if(pipeline, [](const PassUse& use) { return use.pass == &passes::chunk; });
  return pipeline;
}

/// Throws unless there are as many results and inputs.
void check_counts(const Graph& graph, size_t results, size_t late) {
  if (results <= graph.results().size() && late <= graph.inputs().size()) return;
  throw input_error({}, "graph '{}' has {} results and {} inputs: found {} and {} to divide it by",
                    graph.name(), graph.results().size(), graph.inputs().size(), results, late);
}

/// Of graphs, and of what is compiled differently by the session's options.
uint64_t checksum_of(const std::string& graphs, const Session& session) {
  const CompileOptions& options = session.options().compile;
  const std::string text =
      fmt::format("{}{} {} {} {} {} {} {} {}", graphs, session.target().name, options.threads,
                  name_of(options.precision), options.variant, options.unroll, options.remat,
                  options.recurrence, options.architecture);
  return XXH3_64bits(text.data(), text.size());
}

}  // namespace

Divided::Divided(Session& session, const std::string& graph, const std::vector<Type>& inputs,
                 const std::vector<std::string>& parameters, size_t results, size_t late)
    : session_(session), session_lives_(session.alive()) {
  const Session::Call here(session);
  session.check_not_traced(graph);
  const TracedGraph traced = session.model().trace(graph, inputs);
  check_counts(*traced.graph, results, late);
  GraphPtr whole = with_states_as_inputs(*with_extents(traced), parameters, session.model());
  CompileReport report;
  std::string texts;
  if (late == 0 && results == whole->results().size()) {
    texts = print(*whole);
    first_ = compiled(whole, graph, {{}, traced.bounds, {}}, report);
  } else {
    whole = run_passes(whole, pipeline_of(session), session.options().compile, report);
    DividedGraph parts = divided(*whole, results, late);
    handed_ = std::move(parts.handed);
    texts = print(*parts.first) + print(*parts.second);
    first_ = compiled(parts.first, graph, {{}, traced.bounds, {}}, report);
    second_ = compiled(parts.second, graph + " (backward)", {}, report);
  }
  checksum_ = checksum_of(texts, session);
  session.announce_notices(report);
}

Divided::Part Divided::compiled(const GraphPtr& graph, const std::string& name, InputRules rules,
                                CompileReport& report) {
  Part part{name, session_.made(graph, report), {}, {}, std::move(rules)};
  const Signature& signature = part.executable->signature();
  for (const Argument& state : signature.states)
    part.states.push_back(&session_.stored(state.name));
  part.outputs = OutputBuffers(signature.outputs);
  return part;
}

std::vector<Type> Divided::first_types() const { return types_of(first_); }

std::vector<Type> Divided::second_types() const { return types_of(second_); }

std::vector<Type> Divided::types_of(const Part& part) {
  std::vector<Type> types;
  if (part.executable == nullptr) return types;
  for (const Argument& output : part.executable->signature().outputs) types.push_back(output.type);
  return types;
}

void Divided::check(const Part& part, const std::vector<Type>& inputs) const {
  if (session_lives_.expired()) throw input_error({}, "the session of '{}' is gone", part.name);
  if (part.executable == nullptr) throw input_error({}, "'{}' has one part", first_.name);
  const Signature& signature = part.executable->signature();
  if (inputs.size() != signature.inputs.size()) {
    throw input_error({}, "graph '{}' has {} inputs: found {}", part.name, signature.inputs.size(),
                      inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Type& wanted = signature.inputs[i].type;
    if (inputs[i] == wanted) continue;
    throw input_error({}, "graph '{}': input {} is {}: found {}", part.name, i, to_string(wanted),
                      to_string(inputs[i]));
  }
}

Outputs Divided::run(Part& part, const std::vector<Data>& inputs) {
  std::vector<Type> types;
  for (const Data& input : inputs) types.push_back(input.type());
  check(part, types);
  const Session::Call here(session_);
  std::vector<Tensor> tensors;
  for (const Data& input : inputs) tensors.push_back(input.tensor());
  std::vector<Tensor>& outputs = part.outputs.next();
  part.executable->run(arguments_of(part.executable->signature(), part.rules, tensors), part.states,
                       outputs);
  static const auto no_names = std::make_shared<const std::vector<std::string>>();
  return {outputs, no_names};
}

void Divided::run_into(Part& part, const std::vector<Tensor>& inputs, std::span<Tensor> results) {
  std::vector<Type> types;
  for (const Tensor& input : inputs) types.push_back(input.type());
  check(part, types);
  const Session::Call here(session_);
  part.executable->run(arguments_of(part.executable->signature(), part.rules, inputs), part.states,
                       results);
}

void Divided::run_on_device(Part& part, const std::vector<AnyTensor>& inputs,
                            std::span<const DeviceTensor> results, DeviceStream stream) {
  std::vector<Type> types;
  for (const AnyTensor& input : inputs) types.push_back(type_of(input));
  check(part, types);
  const Session::Call here(session_);
  part.executable->check_stream(stream);
  const Signature& signature = part.executable->signature();
  part.executable->run_on_device(arguments_on_device(signature, part.rules, inputs, stream),
                                 part.states, results, stream);
}

}  // namespace graphc::core
