// SPDX-License-Identifier: Apache-2.0
// Variable lengths: does the last digit of a row equal the first? Rows have 2 to 40 digits, and the
// longest row differs between batches. The layer takes the lengths; the session compiles for five
// sizes instead of for each.
#include "example.h"

using namespace graphc;

namespace {

constexpr int64_t kBatch = 32, kHidden = 32;

struct Batch {
  Literal digits, lengths, same;
};

Batch batch(Numbers& numbers) {
  const int32_t longest = 8 + numbers.below(33);
  std::vector<int32_t> digits(size_t(longest * kBatch), 0), lengths, same;
  for (int64_t row = 0; row < kBatch; ++row) {
    const int32_t length = 2 + numbers.below(longest - 1);
    for (int64_t t = 0; t < length; ++t) digits[size_t(t * kBatch + row)] = numbers.below(10);
    const size_t last = size_t((length - 1) * kBatch + row);
    if (numbers.below(2) == 0) digits[last] = digits[size_t(row)];
    lengths.push_back(length);
    same.push_back(digits[last] == digits[size_t(row)] ? 1 : 0);
  }
  return {integers(digits, {longest, kBatch}), integers(lengths, {kBatch}),
          integers(same, {kBatch})};
}

}  // namespace

int main(int argc, char** argv) try {
  Model m("lengths");
  const Embedding embedding(m, "digits", 10, 16);
  const Bidirectional<Gru> gru(m, "gru", 16, kHidden);
  const Linear hidden(m, "hidden", 4 * kHidden, 64), out(m, "out", 64, 2);
  m.graph("train", Mode::training, [&](Inputs& in) {
    const Value digits = in("digits", i32, {"steps", kBatch});
    const Value lengths = in("lengths", i32, {kBatch}), same = in("same", i32, {kBatch});
    const Value x = embedding(digits);
    State first(filled({kBatch, kHidden}, 0)), last(filled({kBatch, kHidden}, 0));
    const Value forward = gru.forward.run(x, last, {.lengths = lengths});
    const Value backward = gru.backward.run(x, first, {.reverse = true, .lengths = lengths});
    // The final states of both directions, and their outputs at the first digit.
    const Value ends = concat({last, first, at(forward, 0), at(backward, 0)}, 1);
    const Value logits = out(relu(hidden(ends))), loss = mean(cross_entropy(logits, same));
    minimize(loss, m.params(), Adam{.rate = 0.003});
    return Results{{"loss", loss}, {"right", mean(cast(equal(argmax(logits, 1), same), f32))}};
  });
  int compilations = 1;
  Session session(m, {.round_up = {{"steps", to_multiple_of(8)}},
                      .announce = [&](const std::string&) { ++compilations; }});
  Numbers numbers(1);
  const auto step = [&] {
    const Batch now = batch(numbers);
    return double(session("train", now.digits, now.lengths, now.same)["right"].item<float>());
  };
  if (timed(argc, argv, step)) return 0;
  double right = 0;
  int steps = 0;
  for (; steps < 5000 && right < 0.97; ++steps) right = 0.98 * right + 0.02 * step();
  fmt::print("{}\n", right < 0.97 ? "not learnt" : "learnt: 97 % of the rows are right");
  fmt::print("compiled for {} sizes\n", compilations);
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return error.exit_code();
}
