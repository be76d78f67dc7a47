// SPDX-License-Identifier: Apache-2.0
#include "models/registry.h"

#include <array>

#include "ir/spelling.h"
#include "models/cell_layer.h"
#include "models/char_lm.h"
#include "models/char_lstm.h"
#include "models/forecast.h"
#include "models/lstm_layer.h"
#include "models/ptb_lm.h"
#include "models/rnn_variants.h"
#include "models/wikitext2_lm.h"
#include "models/word_lm.h"

namespace graphc::core {
namespace {

constexpr std::array kModels{
    &lstm_layer_model, &cell_layer_model, &ptb_lm_model,       &wikitext2_lm_model, &char_lm_model,
    &word_lm_model,    &char_lstm_model,  &rnn_variants_model, &forecast_model,
};

}  // namespace

std::span<const ModelRecord* const> all_models() { return kModels; }

const ModelRecord* find_model(std::string_view name) {
  for (const ModelRecord* model : kModels) {
    if (model->name == name) return model;
  }
  return nullptr;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const ModelRecord* model : kModels) names.emplace_back(model->name);
  return names;
}

std::unique_ptr<Program> make_program(std::string_view name,
                                      const std::vector<std::string>& assignments,
                                      std::string* full_name) {
  if (const ModelRecord* model = find_model(name)) {
    Parameters parameters(name, model->parameters, assignments);
    std::unique_ptr<Program> program = model->make(parameters);
    if (full_name != nullptr) *full_name = fmt::format("{} {}", name, parameters.to_text());
    return program;
  }
  const std::vector<std::string> names = model_names();
  const std::string near = did_you_mean(name, names);
  throw Error(
      ErrorKind::usage, {},
      fmt::format("unknown model '{}'{}", name,
                  near.empty() ? fmt::format(": there is {}", fmt::join(names, ", ")) : near));
}

}  // namespace graphc::core
