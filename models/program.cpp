// SPDX-License-Identifier: Apache-2.0
#include "models/program.h"

#include <algorithm>

#include "frontend/optimizer.h"

namespace graphc::core {

std::optional<double> TrainEvent::metric(std::string_view name) const {
  const auto found = std::ranges::find(metrics, name, &Metric::name);
  return found == metrics.end() ? std::nullopt : std::optional(found->value);
}

std::vector<Metric> TrainEvent::figures() const {
  std::vector<Metric> all;
  if (loss) all.push_back({"loss", *loss});
  if (learning_rate) all.push_back({"learning_rate", *learning_rate});
  if (gradient_norm) all.push_back({"gradient_norm", *gradient_norm});
  if (words_per_s) all.push_back({fmt::format("{}_per_s", unit), *words_per_s});
  all.insert(all.end(), metrics.begin(), metrics.end());
  return all;
}

Results train_results(Value loss, const Values& gradients) {
  return {{"loss", loss}, {"gradient_norm", global_norm(gradients)}};
}

std::vector<Metric> Program::evaluate(Session&, const EvaluateOptions&) const {
  throw Error(ErrorKind::usage, {},
              "this model has nothing to be evaluated on: wanted one that trains on a corpus");
}

void Program::generate(Session&, const GenerateOptions&) const {
  throw Error(ErrorKind::usage, {},
              "this model draws no text: wanted a language model, such as char-lm");
}

}  // namespace graphc::core
