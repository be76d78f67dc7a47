// SPDX-License-Identifier: Apache-2.0
#include "frontend/checkpoints.h"

#include <cmath>

#include "runtime/files/safetensors.h"

namespace graphc::core {

EarlyStopping::EarlyStopping(Session& session, const EarlyStoppingOptions& options, Where where)
    : options_(options), numbers_(session, options.name, {kNoMeasurement, 0}, where) {
  if (options.patience < 1)
    throw input_error(where, "EarlyStopping: patience is at least 1: found {}", options.patience);
}

bool EarlyStopping::observe(double measured) {
  const std::vector<double> before = numbers_.get();
  const bool best =
      is_best(measured, before[0], {.largest = options_.largest, .threshold = options_.threshold});
  numbers_.set(best ? std::vector{measured, 0.0} : std::vector{before[0], before[1] + 1});
  return best;
}

bool LastCheckpoint::resume() {
  std::error_code unknown;
  if (!std::filesystem::exists(path_, unknown) && !unknown) return false;
  const std::string path = path_.string();
  const Safetensors content = read_safetensors(path);
  if (!SavedStates::read(content.metadata, path).everything) {
    throw input_error({},
                      "{}: it has the model alone: wanted what save(path, Saving::everything) "
                      "wrote, to go on from",
                      path);
  }
  for (const std::string& name : *session_.claimed_names()) {
    if (!content.arrays.contains(name))
      throw input_error({}, "{}: it lacks '{}', which this training keeps", path, name);
  }
  session_.load(path);
  return true;
}

BestCheckpoint::BestCheckpoint(Session& session, std::filesystem::path path,
                               const BestCheckpointOptions& options, Where where)
    : path_(std::move(path)),
      options_(options),
      numbers_(session, options.name, {kNoMeasurement}, where) {}

bool BestCheckpoint::observe(double measured) {
  if (!is_best(measured, best(), {.largest = options_.largest, .threshold = options_.threshold}))
    return false;
  // The file first: where it cannot be written, the best is still to come.
  numbers_.session().save(path_.string());
  numbers_.set({measured});
  return true;
}

bool BestCheckpoint::restore() {
  if (std::isnan(best())) return false;
  numbers_.session().load(path_.string());
  return true;
}

}  // namespace graphc::core
