// SPDX-License-Identifier: Apache-2.0
// A program of a user's that trains with fit() on the ranks that started it. Arguments: the number
// of epochs, and a folder for its files.
#include <cstdio>
#include <string>

#include "frontend/graphc.h"

using namespace graphc;

int main(int argc, char** argv) {
  const std::shared_ptr<Ranks> ranks = Ranks::world();
  Model model("line");
  Linear layer(model, "layer", 3, 1);
  model.graph("train", Mode::training, [&](Inputs& in) {
    Value x = in("x", f32, {"batch", 3}), y = in("y", f32, {"batch", 1});
    Value loss = mse(layer(x), y);
    minimize(loss, model.params(), Sgd{.rate = 0.1});
    return loss;
  });
  Session session(model, {.seed = 1, .ranks = ranks, .shards = 4});
  const std::string folder = argc > 2 ? argv[2] : ".";
  const FitReport report =
      fit(session, {.epochs = argc > 1 ? std::atoi(argv[1]) : 1,
                    .samples = 64,
                    .batch = 8,
                    .inputs =
                        [](std::span<const int64_t> samples) {
                          std::vector<float> x, y;
                          for (const int64_t i : samples) {
                            for (int64_t j = 0; j < 3; ++j)
                              x.push_back(float((i * 7 + j * 5) % 11) / 11);
                            y.push_back(float(i % 5));
                          }
                          const int64_t rows = int64_t(samples.size());
                          return std::vector<Data>{Data(x, {rows, 3}), Data(y, {rows, 1})};
                        },
                    .checkpoint = folder + "/last.safetensors",
                    .curve = folder + "/curve.csv",
                    .tensorboard = folder + "/board"});
  if (ranks->rank() == 0) std::printf("%d epochs\n", int(report.epochs));
}
