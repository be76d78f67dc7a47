// SPDX-License-Identifier: Apache-2.0
// Training with fit(): batches, validation, patience, checkpoints, curves, progress. Resumes from
// last.safetensors if that file exists. `example-fit [EPOCHS]`; explained in docs/training.md.
#include <cmath>
#include <cstdlib>

#include "frontend/graphc.h"

using namespace graphc;

namespace {

constexpr int64_t kHours = 24;

// A synthetic series: a day, a week, and noise.
float hour(int64_t t) {
  return float(0.6 * std::sin(double(t) * 0.2618) + 0.3 * std::sin(double(t) * 0.0374) +
               0.05 * std::sin(double(t * t)));
}

// The days that begin at these hours, [hours, days, 1], and the hour after each, [days, 1].
std::vector<Data> days(std::span<const int64_t> begins) {
  std::vector<float> x, y;
  for (int64_t t = 0; t < kHours; ++t) {
    for (int64_t begin : begins) x.push_back(hour(begin + t));
  }
  for (int64_t begin : begins) y.push_back(hour(begin + kHours));
  const auto count = int64_t(begins.size());
  return {Data(x, {kHours, count, 1}), Data(y, {count, 1})};
}

}  // namespace

int main(int argc, char** argv) try {
  Model m("hours");
  const Lstm lstm(m, "lstm", 1, 16);
  const Linear out(m, "out", 16, 1);
  const auto loss = [&](Inputs& in) {
    const Value x = in("x", f32, {kHours, "batch", 1}), y = in("y", f32, {"batch", 1});
    return mse(out(dropout(at(lstm(x), -1), {.keep = 0.9})), y);
  };
  m.graph("train", Mode::training, [&](Inputs& in) {
    const Value l = loss(in);
    minimize(l, m.params(), Adam{.rate = in("rate", f32, {})});
    return l;
  });
  m.graph("validate", loss);
  Session session(m, {.seed = 1});

  Plateau plateau(session, 0.01, {.factor = 0.5, .patience = 2});
  const SampleBatches unseen = in_batches(shuffled(300, 0, 0), 100);
  const FitReport report = fit(
      session, {.epochs = argc > 1 ? std::atoi(argv[1]) : 12,
                .samples = 800,
                .batch = 40,
                .inputs =
                    [&](std::span<const int64_t> samples) {
                      std::vector<Data> inputs = days(samples);
                      inputs.emplace_back(plateau.rate());
                      return inputs;
                    },
                .validate =
                    [&] {
                      return mean_loss(
                          session, "validate", unseen, [](std::span<const int64_t> samples) {
                            std::vector<int64_t> begins(samples.begin(), samples.end());
                            for (int64_t& begin : begins) begin += 850;
                            return days(begins);
                          });
                    },
                .patience = 5,
                .checkpoint = "last.safetensors",
                .best = "best.safetensors",
                .curve = "curve.csv",
                .tensorboard = "board",
                .after_epoch = [&](const FitEpoch& epoch) { plateau.observe(*epoch.validation); }});
  fmt::print("{} epochs, {} steps; the best validation is {:.6f}\n", report.epochs, report.steps,
             report.best);
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return error.exit_code();
}
