// SPDX-License-Identifier: Apache-2.0
#include "frontend/finite.h"

#include <algorithm>

#include "frontend/arguments.h"
#include "ir/denormals.h"
#include "passes/passes.h"

namespace graphc::core {

FiniteCheck::FiniteCheck(Executable& executable, const std::vector<StoredState*>& states)
    : executable_(executable),
      signature_(executable.signature()),
      states_(states),
      before_(states.size()) {
  if (executable_.checks_finite()) return;
  for (size_t i = 0; i < states.size(); ++i) {
    if (signature_.states[i].written) before_[i] = states[i]->home().copy();
  }
}

std::string FiniteCheck::fault(const std::vector<Tensor>& outputs,
                               const std::vector<Type>& shown) const {
  // The executable may have found a fault in padding; then this check decides.
  if (executable_.checks_finite() && executable_.was_finite()) return {};
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Shape& shape = shown.empty() ? outputs[i].shape() : shown[i].shape;
    const NotFiniteCounts counts = count_not_finite(fitted(outputs[i], shape).literal());
    if (counts.all() > 0) {
      return fmt::format("result %{} is not finite: {}", signature_.outputs[i].name,
                         to_string(counts));
    }
  }
  for (size_t i = 0; i < states_.size(); ++i) {
    if (!signature_.states[i].written) continue;
    const NotFiniteCounts counts = count_not_finite(states_[i]->home().literal());
    if (counts.all() > 0) {
      return fmt::format("the new value of state '{}' is not finite: {}", signature_.states[i].name,
                         to_string(counts));
    }
  }
  return {};
}

void FiniteCheck::restore() {
  if (restored_) return;
  restored_ = true;
  if (executable_.checks_finite()) return executable_.restore(states_);
  for (size_t i = 0; i < states_.size(); ++i) {
    if (!before_[i]) continue;
    std::ranges::copy(before_[i]->bytes(), states_[i]->change().address());
  }
}

Error FiniteCheck::error(const GraphPtr& traced, const std::vector<Tensor>& inputs,
                         const std::vector<Type>& shown, const std::string& fault,
                         Precision precision) const {
  std::vector<Literal> arguments;
  for (const Tensor& input : inputs) arguments.push_back(input.literal());
  std::map<std::string, Literal> states;
  for (size_t i = 0; i < states_.size(); ++i)
    states.emplace(signature_.states[i].name, states_[i]->home().literal());
  std::vector<Shape> shapes;
  for (const Type& type : shown) shapes.push_back(type.shape);
  const UsualArithmetic mode;
  const GraphPtr graph = run_pipeline(traced, {{&passes::autodiff, {}}}).graph;
  const std::optional<NotFiniteOrigin> origin =
      first_not_finite(*graph, arguments, states, evaluated_precision(precision), shapes);
  const std::string kept = "the states are as they were before this run";
  if (!origin) {
    Error error(ErrorKind::check, {}, fault);
    error.note(
        "the evaluator, which rounds otherwise, finds every result of this run finite: "
        "no op can be named");
    error.note(kept);
    return error;
  }
  Error error(ErrorKind::check, origin->where, origin->text);
  error.note(fault);
  error.note(kept);
  return error;
}

}  // namespace graphc::core
