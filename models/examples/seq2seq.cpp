// SPDX-License-Identifier: Apache-2.0
// Sequence to sequence with attention: reads a string of digits and outputs it backwards. The
// decoder attends to the whole input in every step. At inference it receives its own output: the
// loop carries the last digit.
#include "example.h"

using namespace graphc;

namespace {

constexpr int64_t kSteps = 8, kBatch = 32, kHidden = 64, kDigits = 10, kStart = 10;

struct Reverser {
  Embedding digits;
  Lstm encoder, decoder;
  Linear out;

  explicit Reverser(Model& m)
      : digits(m, "digits", kDigits + 1, kHidden),
        encoder(m, "encoder", kHidden, kHidden),
        decoder(m, "decoder", 2 * kHidden, kHidden),
        out(m, "out", 2 * kHidden, kDigits) {}

  /// The results of the encoder: every h, [batch, steps, hidden], and the final states.
  Value read(Value text, State& h, State& c) const {
    return transpose(encoder.run(digits(text), h, c), {1, 0, 2});
  }

  /// One step of the decoder: logits for the digit after `said` [batch].
  Value say(Value said, Value heard, State& h, State& c, State& context) const {
    decoder.step(concat({digits(said), context}, 1), h, c);
    const Value scores = matmul(heard, reshape(h, {kBatch, kHidden, 1}));
    const Value weights = softmax(reshape(scores, {kBatch, 1, kSteps}));
    context = reshape(matmul(weights, heard), {kBatch, kHidden});
    return out(concat({h, context}, 1));
  }
};

}  // namespace

int main(int argc, char** argv) try {
  Model m("reverser");
  const Reverser reverser(m);
  const auto start = [] { return State(filled({kBatch, kHidden}, 0)); };
  m.graph("train", Mode::training, [&](Inputs& in) {
    const Value text = in("text", i32, {kSteps, kBatch}),
                wanted = in("wanted", i32, {kSteps, kBatch});
    State h = start(), c = start(), context = start();
    const Value heard = reverser.read(text, h, c);
    // Teacher forcing: the decoder receives the correct previous digit.
    const Value before =
        concat({filled({1, kBatch}, kStart, i32), slice(wanted, 0, 0, kSteps - 1)}, 0);
    const Value logits =
        scan(before, [&](Value said) { return reverser.say(said, heard, h, c, context); });
    const Value loss = mean(cross_entropy(logits, wanted));
    minimize(loss, m.params(), Adam{.rate = 0.003});
    return loss;
  });
  m.graph("speak", [&](Inputs& in) {
    State h = start(), c = start(), context = start(), said(filled({kBatch}, kStart, i32));
    const Value heard = reverser.read(in("text", i32, {kSteps, kBatch}), h, c);
    return scan(Steps(kSteps), [&] {
      said = argmax(reverser.say(said, heard, h, c, context), 1);
      return said;
    });
  });
  Session session(m);
  Numbers numbers(1);
  const auto text = [&] {
    std::vector<int32_t> digits;
    for (int64_t i = 0; i < kSteps * kBatch; ++i) digits.push_back(numbers.below(kDigits));
    return digits;
  };
  const auto backwards = [](const std::vector<int32_t>& digits) {
    std::vector<int32_t> wanted;
    for (int64_t t = kSteps; t-- > 0;)
      wanted.insert(wanted.end(), digits.begin() + t * kBatch, digits.begin() + (t + 1) * kBatch);
    return wanted;
  };
  const auto step = [&] {
    const std::vector<int32_t> digits = text();
    return session("train", integers(digits, {kSteps, kBatch}),
                   integers(backwards(digits), {kSteps, kBatch}))
        .scalar();
  };
  if (timed(argc, argv, step)) return 0;
  double loss = 3;
  for (int i = 0; i < 4000 && loss > 0.02; ++i) loss = 0.95 * loss + 0.05 * step();
  const std::vector<int32_t> digits = text(), wanted = backwards(digits);
  const Tensor found = session("speak", integers(digits, {kSteps, kBatch}));
  int64_t right = 0;
  for (size_t i = 0; i < wanted.size(); ++i) right += found.data<int32_t>()[i] == wanted[i] ? 1 : 0;
  fmt::print("{} of 100 digits are right\n",
             100 * right / int64_t(wanted.size()) >= 97 ? "97 or more" : "fewer than 97");
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return error.exit_code();
}
