// SPDX-License-Identifier: Apache-2.0
// A user-defined cell: the sLSTM (exponential gates, stabilised by a running maximum) learns
// whether the number of ones so far is even. No library has a kernel for it; written as equations
// it compiles to one.
#include "example.h"

using namespace graphc;

namespace {

constexpr int64_t kSteps = 24, kBatch = 32, kHidden = 32;

struct SLstm {
  Param w, u, b;

  SLstm(Model& m, int64_t in)
      : w(m.param("w", {in, 4 * kHidden}, glorot_uniform())),
        u(m.param("u", {kHidden, 4 * kHidden}, orthogonal())),
        b(m.param("b", {4 * kHidden}, zeros())) {}

  /// x [steps, batch, in] to h of every step.
  Value operator()(Value x, ScanOptions options = {}) const {
    const Shape rows{x.shape()[1], kHidden};
    State h(filled(rows, 0)), c(filled(rows, 0)), n(filled(rows, 0)), top(filled(rows, 0));
    return scan(
        x,
        [&](Value x_t) {
          auto [z, i, f, o] = split<4>(matmul(x_t, w) + b + matmul(h, u));
          const Value keep = top - softplus(-f);  // log sigmoid(f), in the current scale
          const Value most = maximum(keep, i);
          const Value input = exp(i - most), forget = exp(keep - most);
          c = forget * c + input * tanh(z);
          n = forget * n + input;
          top = most;
          h = sigmoid(o) * c / n;
          return h;
        },
        options);
  }
};

}  // namespace

int main(int argc, char** argv) try {
  Model m("parity");
  const SLstm cell(m, 1);
  const Linear out(m, "out", kHidden, 2);
  m.graph("train", Mode::training, [&](Inputs& in) {
    const Value bits = in("bits", f32, {"steps", "batch", 1});
    const Value odd = in("odd", i32, {"steps", "batch"});
    const Value logits = out(cell(bits)), loss = mean(cross_entropy(logits, odd));
    minimize(loss, m.params(), Adam{.rate = 0.01});
    return Results{{"loss", loss}, {"right", mean(cast(equal(argmax(logits, 2), odd), f32))}};
  });
  Session session(m);
  Numbers numbers(1);
  const auto step = [&] {
    std::vector<float> bits;
    std::vector<int32_t> odd;
    for (int64_t i = 0; i < kSteps * kBatch; ++i) {
      bits.push_back(float(numbers.below(2)));
      odd.push_back((i < kBatch ? 0 : odd[size_t(i - kBatch)]) ^ int32_t(bits.back()));
    }
    return session("train", floats(bits, {kSteps, kBatch, 1}), integers(odd, {kSteps, kBatch}));
  };
  if (timed(argc, argv, step)) return 0;
  int steps = 0;
  double right = 0;
  for (; steps < 3000 && right < 0.99; ++steps) right = step()["right"].item<float>();
  fmt::print("{}\n", right < 0.99 ? "not learnt" : "learnt: 99 % of 24 steps are right");
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return error.exit_code();
}
