// SPDX-License-Identifier: Apache-2.0
// All models, by name.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/parameters.h"
#include "models/program.h"

namespace graphc::core {

/// The record of a model.
struct ModelRecord {
  std::string_view name;
  std::string_view summary;
  std::span<const ParameterRecord> parameters;
  /// Completes the parameters whose defaults depend on others, and makes the program.
  std::unique_ptr<Program> (*make)(Parameters& parameters);
};

std::span<const ModelRecord* const> all_models();
/// The model called `name`, or null.
const ModelRecord* find_model(std::string_view name);
/// Their names, in the same order.
std::vector<std::string> model_names();
/// Makes the program of a model. Sets `full_name`, if given, to the model's name with the value of
/// every parameter: "lstm-layer hidden=512 steps=30 batch=128 cell=lstm". Throws ErrorKind::usage
/// for an unknown model or parameter.
std::unique_ptr<Program> make_program(std::string_view model,
                                      const std::vector<std::string>& assignments,
                                      std::string* full_name = nullptr);

}  // namespace graphc::core
