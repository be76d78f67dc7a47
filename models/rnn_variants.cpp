// SPDX-License-Identifier: Apache-2.0
// The tasks by name, with their defaults.
#include "models/rnn_variants.h"

#include <array>

namespace graphc::core {
namespace {

constexpr std::array<ParameterRecord, 12> kRnnVariantsParameters{{
    {"task", "layer", "layer, returnn or classification; the others follow it"},
    {"cell", "", "of task=layer, as lstm-layer has them"},
    {"hidden", "", "units of a layer, and of each direction"},
    {"layers", "", "layers one over the other, at most 1000; task=layer has one"},
    {"steps", "", "time steps; of task=returnn those of a chunk"},
    {"batch", "", "sequences or chunks of a batch, at most"},
    {"sequences", "", "of task=returnn those of an epoch; of task=classification all"},
    {"shortest", "10", "of task=returnn: symbols of the shortest sequence"},
    {"longest", "100", "of task=returnn: symbols of the longest sequence"},
    {"bucket", "0",
     "of task=returnn: batches are of chunks of like length, padded to a multiple of so many "
     "steps; 0: of chunks as they are drawn, padded to `steps`"},
    {"keep", "", "of task=classification: probability that dropout keeps what goes up a layer"},
    {"learning-rate", "", "of SGD for task=layer, always 0.01; of Adam for the others"},
}};

struct VariantTask {
  std::string_view name;
  const char *cell, *hidden, *layers, *steps, *batch, *sequences, *keep, *rate;
};
constexpr std::array<VariantTask, 3> kVariantTasks{{
    {"layer", "lstm", "512", "1", "30", "128", "0", "1", "0.01"},
    {"returnn", "lstm", "500", "5", "50", "40", "500", "1", "0.01"},
    {"classification", "lstm", "64", "2", "10", "64", "10000", "0.8", "0.001"},
}};

/// Throws ErrorKind::usage unless the parameter, which the task ignores, has its default.
void expect_default(const Parameters& parameters, const VariantTask& task, const char* name,
                    std::string_view only) {
  if (parameters.text(name) == only) return;
  throw Error(ErrorKind::usage, {},
              fmt::format("rnn-variants task={}: {}={} is all there is: found '{}'", task.name,
                          name, only, parameters.text(name)));
}

std::unique_ptr<Program> make_variant(Parameters& parameters) {
  std::vector<std::string_view> names;
  for (const VariantTask& task : kVariantTasks) names.push_back(task.name);
  const size_t index = parameters.choice("task", names);
  const VariantTask& task = kVariantTasks[index];
  parameters.set_default("cell", task.cell);
  parameters.set_default("hidden", task.hidden);
  parameters.set_default("layers", task.layers);
  parameters.set_default("steps", task.steps);
  parameters.set_default("batch", task.batch);
  parameters.set_default("sequences", task.sequences);
  parameters.set_default("keep", task.keep);
  parameters.set_default("learning-rate", task.rate);
  if (index != 1) {
    for (const auto& [name, only] :
         {std::pair{"shortest", "10"}, {"longest", "100"}, {"bucket", "0"}})
      expect_default(parameters, task, name, only);
  }
  if (index > 0) {
    expect_default(parameters, task, "cell", task.cell);
    if (index == 1) expect_default(parameters, task, "keep", task.keep);
    return index == 1 ? make_frame_classifier(parameters) : make_sequence_classifier(parameters);
  }
  for (const auto& [name, only] : {std::pair{"layers", task.layers},
                                   {"sequences", task.sequences},
                                   {"keep", task.keep},
                                   {"learning-rate", task.rate}})
    expect_default(parameters, task, name, only);
  std::vector<std::string> assignments;
  for (const char* name : {"cell", "hidden", "steps", "batch"})
    assignments.push_back(fmt::format("{}={}", name, parameters.text(name)));
  return make_program("lstm-layer", assignments);
}

}  // namespace

constinit const ModelRecord rnn_variants_model{
    .name = "rnn-variants",
    .summary = "any cell in a layer, rows of different lengths, a classifier of sequences",
    .parameters = kRnnVariantsParameters,
    .make = make_variant,
};

}  // namespace graphc::core
