// SPDX-License-Identifier: Apache-2.0
// A cell nobody has written before, in a project that only finds graphc: it trains on the CPU as on
// the reference, and its graphs are saved for `graphc dump`.
#include <graphc/graphc.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

using namespace graphc;

constexpr int64_t kInputs = 6, kUnits = 20, kSteps = 7, kBatch = 5;

struct Stranger {
  explicit Stranger(Model& m)
      : w(m.param("w", {kInputs, 3 * kUnits}, glorot_uniform())),
        u(m.param("u", {kUnits, 3 * kUnits}, glorot_uniform())) {}

  // x [steps, batch, inputs] -> the last h [batch, units]
  Value operator()(Value x) const {
    State h(zeros_of(x)), m(zeros_of(x));
    scan(x, [&](Value x_t) {
      auto [r, k, v] = split<3>(matmul(x_t, w) + matmul(h, u));
      m = sigmoid(r) * m + (1 - sigmoid(r)) * tanh(k * h + v);
      h = tanh(m) * sigmoid(k - m);
      return h;
    });
    return h;
  }

  static Value zeros_of(Value x) { return filled({x.shape()[1], kUnits}, 0); }

  Param w, u;
};

std::vector<double> train(Model& model, const std::string& target) {
  std::vector<float> x(size_t(kSteps * kBatch * kInputs)), y(size_t(kBatch * kUnits));
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(float(i));
  for (size_t i = 0; i < y.size(); ++i) y[i] = 0.5f * std::cos(float(i));
  const Literal inputs(std::span<const float>(x), {kSteps, kBatch, kInputs});
  const Literal wanted(std::span<const float>(y), {kBatch, kUnits});
  Session session(model, {.target = target, .seed = 3});
  std::vector<double> losses;
  for (int i = 0; i < 60; ++i) losses.push_back(session("train", inputs, wanted).scalar());
  return losses;
}

int main(int count, char** arguments) {
  Model model("stranger");
  const Stranger cell(model);
  model.graph("forward",
              [&](Inputs& in) { return cell(in("x", f32, {"steps", "batch", kInputs})); });
  model.graph("train", Mode::training, [&](Inputs& in) {
    Value x = in("x", f32, {"steps", "batch", kInputs}), y = in("y", f32, {"batch", kUnits});
    Value loss = mse(cell(x), y);
    minimize(loss, model.params(), Sgd{.rate = 1.0});
    return loss;
  });
  const std::vector<double> compiled = train(model, "cpu"), reference = train(model, "reference");
  for (size_t i = 0; i < compiled.size(); ++i) {
    if (std::abs(compiled[i] - reference[i]) <= 1e-4 * reference[i]) continue;
    std::printf("step %zu: loss %.8f, by the evaluator %.8f\n", i, compiled[i], reference[i]);
    return 1;
  }
  std::printf("loss %.4f -> %.4f\n", compiled.front(), compiled.back());
  if (!(compiled.back() < 0.9 * compiled.front())) return 1;
  const std::string path = count > 1 ? arguments[1] : "cell.graph";
  save(model.trace("forward", {{"steps", kSteps}, {"batch", kBatch}}).graph, path);
  save(model.trace("train", {{"steps", kSteps}, {"batch", kBatch}}).graph, "train_" + path);
  return 0;
}
