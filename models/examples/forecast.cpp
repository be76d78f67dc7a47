// SPDX-License-Identifier: Apache-2.0
// Forecasting from CSV: reads a column of a table, learns to predict the next value from the
// previous 48, and is tested on the last fifth, which it has not seen. `example-forecast FILE
// COLUMN`
#include <cmath>

#include "example.h"

using namespace graphc;

namespace {

constexpr int64_t kWindow = 48, kBatch = 32, kHidden = 32;

/// The windows that begin at `starts`, [window, n, 1], and the values after them, [n, 1].
std::pair<Literal, Literal> windows(const std::vector<float>& values,
                                    const std::vector<int64_t>& starts) {
  std::vector<float> x, y;
  for (int64_t t = 0; t < kWindow; ++t)
    for (const int64_t start : starts) x.push_back(values[size_t(start + t)]);
  for (const int64_t start : starts) y.push_back(values[size_t(start + kWindow)]);
  const auto n = int64_t(starts.size());
  return {floats(x, {kWindow, n, 1}), floats(y, {n, 1})};
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) return usage("example-forecast FILE COLUMN");
  const Table table = read_table(argv[1], {argv[2]});
  for (const std::string& remark : table.remarks) fmt::print(stderr, "{}\n", remark);
  std::vector<float> values = table.f32().to_vector();
  const int64_t learnt = int64_t(values.size()) * 4 / 5;
  if (learnt <= kWindow) {
    fmt::print(stderr, "{}: {} rows: wanted more than {}\n", argv[1], values.size(),
               kWindow * 5 / 4);
    return 3;
  }
  double mean_of = 0, square = 0;
  for (int64_t i = 0; i < learnt; ++i) mean_of += values[size_t(i)] / double(learnt);
  for (int64_t i = 0; i < learnt; ++i) square += std::pow(values[size_t(i)] - mean_of, 2);
  const double deviation = std::sqrt(square / double(learnt));
  for (float& value : values) value = float((value - mean_of) / (deviation > 0 ? deviation : 1));

  Model m("forecast");
  const Lstm lstm(m, "lstm", 1, kHidden);
  const Linear out(m, "out", kHidden, 1);
  const auto guess = [&](Inputs& in) {
    return out(at(lstm(in("x", f32, {kWindow, "batch", 1})), -1));
  };
  m.graph("train", Mode::training, [&](Inputs& in) {
    const Value found = guess(in), loss = mse(found, in("y", f32, {"batch", 1}));
    minimize(loss, m.params(), Adam{.rate = 0.005});
    return loss;
  });
  m.graph("predict", guess);
  Session session(m);

  Numbers numbers(1);
  const auto step = [&] {
    std::vector<int64_t> starts;
    for (int64_t i = 0; i < kBatch; ++i) starts.push_back(numbers.below(int32_t(learnt - kWindow)));
    const auto [x, y] = windows(values, starts);
    return session("train", x, y).scalar();
  };
  if (timed(argc, argv, step)) return 0;
  for (int i = 0; i < 300; ++i) step();

  std::vector<int64_t> starts;
  for (int64_t i = learnt; i + kWindow < int64_t(values.size()); ++i) starts.push_back(i);
  const auto [x, y] = windows(values, starts);
  const Literal found = Tensor(session("predict", x)).literal();
  double error = 0, as_before = 0;
  for (int64_t i = 0; i < y.elements(); ++i) {
    error += std::pow(found.element(i) - y.element(i), 2);
    as_before += std::pow(values[size_t(starts[size_t(i)] + kWindow - 1)] - y.element(i), 2);
  }
  fmt::print("{} values, {} of them for the test\n", values.size(), y.elements());
  fmt::print("error {:.0f} % of that of saying the last value again\n",
             100 * std::sqrt(error / as_before));
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return error.exit_code();
}
