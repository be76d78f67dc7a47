// SPDX-License-Identifier: Apache-2.0
// A character model, stopped and resumed: `example-char-lm TEXT STATE STEPS` resumes from STATE if
// that file exists, trains for STEPS steps and writes it. A run in two parts ends with the same
// loss, bit for bit, as an uninterrupted one: STATE has the optimizer's slots and step count.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "example.h"

using namespace graphc;

namespace {

constexpr int64_t kSteps = 32, kBatch = 16, kHidden = 64;

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4) return usage("example-char-lm TEXT STATE STEPS");
  std::ifstream file(argv[1]);
  const std::string text{std::istreambuf_iterator<char>(file), {}}, path = argv[2];
  if (int64_t(text.size()) <= kSteps + 1) {
    fmt::print(stderr, "'{}': {} characters were read: wanted more than {}\n", argv[1], text.size(),
               kSteps + 1);
    return 3;
  }
  Model m("char-lm");
  const Embedding letters(m, "letters", 128, kHidden);
  const Lstm lstm(m, "lstm", kHidden, kHidden);
  const Linear out(m, "out", kHidden, 128);
  m.graph("train", Mode::training, [&](Inputs& in) {
    const Value x = in("x", i32, {kSteps, kBatch}), y = in("y", i32, {kSteps, kBatch});
    State done = in.state("done", {i64, {}});
    done = done + 1;
    const Value loss = mean(cross_entropy(out(lstm(letters(x))), y));
    minimize(loss, m.params(), Adam{.rate = 0.01});
    return loss;
  });
  Session session(m);
  const Shape batch{kSteps, kBatch};
  session.compile("train", {{i32, batch}, {i32, batch}});  // declares the optimizer's states
  if (std::filesystem::exists(path)) session.load(path);

  const auto step = [&] {
    // The part of the text to read depends only on the number of completed steps.
    Numbers numbers(uint64_t(session.state("done").element(0)));
    std::vector<int32_t> x(size_t(kSteps * kBatch)), y = x;
    for (int64_t row = 0; row < kBatch; ++row) {
      const auto start = numbers.below(int32_t(text.size()) - int32_t(kSteps) - 1);
      for (int64_t t = 0; t < kSteps; ++t) {
        x[size_t(t * kBatch + row)] = text[size_t(start + t)] & 127;
        y[size_t(t * kBatch + row)] = text[size_t(start + t + 1)] & 127;
      }
    }
    return session("train", integers(x, batch), integers(y, batch)).scalar();
  };
  if (timed(argc, argv, [&] { step(); })) return 0;
  double loss = 0;
  for (int i = 0; i < std::atoi(argv[3]); ++i) loss = step();
  session.save(path, Saving::everything);
  fmt::print("step {}  loss {:.9g}\n", session.state("done").element(0), loss);
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return error.exit_code();
}
