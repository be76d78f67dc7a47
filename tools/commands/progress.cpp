// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/progress.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace graphc::core::commands {
namespace {

std::string measured(const TrainEvent& event) {
  std::string line;
  const auto add = [&](std::string_view name, const std::optional<double>& value) {
    if (value) line += fmt::format("   {} {:.6g}", name, *value);
  };
  add("loss", event.loss);
  const bool of_text = event.unit == "words" || event.unit == "characters";
  if (event.loss && event.words_per_s && of_text) add("perplexity", std::exp(*event.loss));
  for (const Metric& metric : event.metrics) {
    std::string words = metric.name;
    std::ranges::replace(words, '_', ' ');
    add(words, metric.value);
  }
  if (event.words_per_s) line += fmt::format("   {:.0f} {}/s", *event.words_per_s, event.unit);
  return line;
}

}  // namespace

void TrainProgress::show(const TrainEvent& event) {
  const ProgressAt at{.epoch = event.epoch,
                      .epochs = event.epochs,
                      .done = event.epoch_step,
                      .steps = event.epoch_steps,
                      .step = event.step};
  if (event.event == "step") {
    progress_.step(at, measured(event));
  } else if (event.event == "sample") {
    progress_.message(event.text);
  } else if (event.event == "end") {
    if (!event.text.empty()) progress_.message(event.text);
    progress_.message(fmt::format("end       {} steps{}", event.step, measured(event)));
  } else {
    progress_.epoch(at, measured(event));
  }
}

}  // namespace graphc::core::commands
