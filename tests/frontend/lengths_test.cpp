// SPDX-License-Identifier: Apache-2.0
// Rows of different lengths: every layer and a cell of one's own against each row run alone, on
// every target, whatever stands in the padding.
#include "frontend/lengths.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "frontend/graphc.h"
#include "models/random_inputs.h"
#include "passes/kernels/kernel.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/targets.h"

namespace graphc::core {
namespace {

constexpr int64_t kLongest = 5, kInputsOfRows = 3, kHiddenOfRows = 4;
const std::vector<int32_t> kLengths = {5, 2, 0};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using ApplyLayer = std::function<Value(Model&, Value x, ScanOptions options)>;

struct LengthsCase {
  const char* name;
  ApplyLayer apply;
};

template <typename Layer, typename... Arguments>
LengthsCase layer_case(const char* name, Arguments... arguments) {
  return {name, [=](Model& m, Value x, ScanOptions options) {
            return Layer(m, "layer", arguments...)(x, options);
          }};
}

/// A cell with one gate and a sum it carries along, one number a row.
Value own_cell(Model& m, Value x, ScanOptions options) {
  const Param w = m.param("w", {kInputsOfRows, kHiddenOfRows}, glorot_uniform());
  const Param u = m.param("u", {kHiddenOfRows, kHiddenOfRows}, glorot_uniform());
  const int64_t batch = x.shape()[1];
  State h(filled({batch, kHiddenOfRows}, 0.25)), total(filled({batch, 1}, 0));
  return scan(
      x,
      [&](Value x_t) {
        Value z = matmul(x_t, w) + matmul(h, u);
        h = 0.9 * h + 0.1 * tanh(z);
        total = total + sum(h * h, {1}, true);
        return h * total;
      },
      options);
}

/// States of ranks 1 and 3, and the state at the end in every result.
Value cell_of_ranks(Model& m, Value x, ScanOptions options) {
  const Param w = m.param("w", {kInputsOfRows, kHiddenOfRows}, glorot_uniform());
  const int64_t batch = x.shape()[1];
  State total(filled({batch}, 0)), pair(filled({batch, 2, kHiddenOfRows}, 1));
  Value y = scan(
      x,
      [&](Value x_t) {
        Value z = tanh(matmul(x_t, w));
        total = total + sum(z * z, {1});
        pair = 0.5 * pair + reshape(z, {batch, 1, kHiddenOfRows});
        return z * reshape(total, {batch, 1}) + sum(pair, {1});
      },
      options);
  Value all = y + sum(pair, {1});
  return options.lengths ? mask_steps(all, options.lengths) : all;
}

std::vector<LengthsCase> lengths_cases() {
  return {
      layer_case<Lstm>("lstm", kInputsOfRows, kHiddenOfRows),
      layer_case<Gru>("gru", kInputsOfRows, kHiddenOfRows),
      layer_case<Rnn>("rnn", kInputsOfRows, kHiddenOfRows),
      layer_case<Bidirectional<Lstm>>("bidirectional_lstm", kInputsOfRows, kHiddenOfRows),
      layer_case<Stacked<Bidirectional<Gru>>>("stacked_bidirectional_gru", 2, kInputsOfRows,
                                              kHiddenOfRows),
      {"own_cell", own_cell},
      {"cell_of_ranks", cell_of_ranks},
  };
}

/// Graphs `rows`, with lengths, and `alone`, without: outputs and gradients by x and all parameters
/// of a sum with weights over the steps that are.
void add_graphs(Model& m, const ApplyLayer& apply) {
  const auto results = [&m](Value x, Value y, Value valid) {
    const Value weights = cos(iota(y.shape(), 2, f32) * 0.7 + 0.3);
    const Value loss =
        sum(valid ? select(reshape(valid, {y.shape()[0], y.shape()[1], 1}), y * y * weights, 0)
                  : y * y * weights);
    Values leaves{x}, values{y};
    for (const Param& param : m.params()) leaves.push_back(Trace::current()->leaf(param.cell()));
    for (Value d : gradients(loss, leaves)) values.push_back(d);
    return Results(values);
  };
  m.graph("rows", [=, &m](Inputs& in) {
    const Value x = in("x", f32, {"steps", "batch", kInputsOfRows}), n = in("n", i32, {"batch"});
    const Value y = apply(m, x, {.lengths = n});
    return results(x, y, valid_steps(n, x.shape()[0]));
  });
  m.graph("alone", [=, &m](Inputs& in) {
    const Value x = in("x", f32, {"steps", "batch", kInputsOfRows});
    return results(x, apply(m, x, {}), {});
  });
}

/// Random numbers, and `padding` behind the end of each row.
Literal padded(float padding) {
  const Literal x =
      random_uniform({kLongest, int64_t(kLengths.size()), kInputsOfRows}, 5).literal();
  std::vector<float> values;
  for (int64_t i = 0; i < x.elements(); ++i) {
    const int64_t step = i / (int64_t(kLengths.size()) * kInputsOfRows);
    const size_t row = size_t(i / kInputsOfRows) % kLengths.size();
    values.push_back(step < kLengths[row] ? float(x.element(i)) : padding);
  }
  return Literal(std::span<const float>(values), x.shape());
}

/// The steps of one row [steps, 1, width] of x [steps, batch, width].
Literal row_of(const Literal& x, size_t row) {
  const int64_t batch = x.shape()[1], width = x.shape()[2];
  std::vector<float> values;
  for (int64_t t = 0; t < kLengths[row]; ++t)
    for (int64_t k = 0; k < width; ++k)
      values.push_back(float(x.element((t * batch + int64_t(row)) * width + k)));
  return Literal(std::span<const float>(values), {kLengths[row], 1, width});
}

/// Expects y [steps, batch, width] to be each row of `alone`, and 0 behind it.
void expect_rows(const Literal& y, const std::vector<Outputs>& alone, size_t result, double near) {
  const int64_t batch = y.shape()[1], width = y.shape()[2];
  for (int64_t i = 0; i < y.elements(); ++i) {
    const int64_t step = i / (batch * width), row = i / width % batch;
    const double wanted =
        step < kLengths[size_t(row)]
            ? alone[size_t(row)][result].literal().element(step * width + i % width)
            : 0;
    ASSERT_NEAR(y.element(i), wanted, near) << "step " << step << " of row " << row;
    ASSERT_TRUE(wanted != 0 || step < kLengths[size_t(row)] || y.element(i) == 0);
  }
}

class Lengths : public ::testing::TestWithParam<LengthsCase> {};

TEST_P(Lengths, AreEachRowAlone) {
  for (const testing::TargetLevel& level : testing::all_target_levels()) {
    SCOPED_TRACE(level.text());
    const std::span<const Target* const> targets = all_targets();
    if (std::ranges::find(targets, &level.target()) == targets.end()) continue;  // of tests alone
    Model m("m");
    add_graphs(m, GetParam().apply);
    Session session(m, {.target = std::string(level.target().name),
                        .compile = level.options({}),
                        .seed = 3,
                        .announce = [](const std::string&) {}});
    const Literal lengths(std::span<const int32_t>(kLengths), {int64_t(kLengths.size())});
    const Outputs found = session("rows", padded(0.5), lengths);
    std::vector<Outputs> alone;
    for (size_t row = 0; row < kLengths.size(); ++row) {
      const Outputs outputs = session("alone", row_of(padded(0.5), row));
      std::vector<Tensor> copies;
      for (const Tensor& tensor : outputs) copies.emplace_back(tensor.copy());
      alone.emplace_back(copies, nullptr);
    }
    expect_rows(found[0].literal(), alone, 0, 2e-6);
    expect_rows(found[1].literal(), alone, 1, 1e-5);
    for (size_t result = 2; result < found.size(); ++result) {
      for (int64_t i = 0; i < found[result].literal().elements(); ++i) {
        double sum = 0;
        for (const Outputs& outputs : alone) sum += outputs[result].literal().element(i);
        ASSERT_NEAR(found[result].literal().element(i), sum, 5e-5) << "result " << result;
      }
    }
    std::vector<Literal> before;
    for (const Tensor& tensor : found) before.push_back(tensor.copy());
    for (const float padding : {kNan, 1e30f}) {
      const Outputs other = session("rows", padded(padding), lengths);
      for (size_t result = 0; result < before.size(); ++result)
        EXPECT_TRUE(std::ranges::equal(other[result].literal().bytes(), before[result].bytes()))
            << "result " << result << " with " << padding << " in the padding";
    }
  }
}

/// The loops of a graph that become one kernel each, and those that do not.
std::pair<int, int> loops(const GraphPtr& graph) {
  CompileReport report;
  std::pair<int, int> counts;
  const GraphPtr kernels = form_kernels_for(graph, {}, report);
  for (const Node& node : kernels->nodes()) {
    counts.first += is_kernel_of(node, Family::recurrent) ? 1 : 0;
    counts.second += node.is(ops::scan) ? 1 : 0;
  }
  return counts;
}

TEST_P(Lengths, StayOneKernelForwardAndOneBackward) {
  Model m("m");
  add_graphs(m, GetParam().apply);
  const Extents extents{{"steps", 20}, {"batch", 8}};
  const std::pair<int, int> found = loops(m.trace("rows", extents).graph);
  EXPECT_EQ(found, loops(m.trace("alone", extents).graph));
  const std::string name = GetParam().name;
  if (name == "cell_of_ranks") return;
  const int layers = name.starts_with("stacked") ? 4 : name.starts_with("bidirectional") ? 2 : 1;
  EXPECT_EQ(found, std::pair(2 * layers, 0));
}

TEST(LengthsOfRows, LeaveStatesAsTheyAreAtTheirEnds) {
  Model m("m");
  const Lstm lstm(m, "lstm", kInputsOfRows, kHiddenOfRows);
  m.graph("f", [&](Inputs& in) {
    const Value x = in("x", f32, {"steps", "batch", kInputsOfRows}), n = in("n", i64, {"batch"});
    State h(filled({x.shape()[1], kHiddenOfRows}, 0)), c(filled({x.shape()[1], kHiddenOfRows}, 0));
    const Value y = lstm.run(x, h, c, {.lengths = n});
    return Values{y, h};
  });
  Session session(m, {.target = "cpu"});
  const std::vector<int64_t> lengths = {5, 2, 0};
  const Outputs found = session("f", padded(kNan), Literal(std::span(lengths), {3}));
  for (int64_t row = 0; row < 3; ++row) {
    for (int64_t k = 0; k < kHiddenOfRows; ++k) {
      const int64_t last = (lengths[size_t(row)] - 1) * 3 * kHiddenOfRows;
      const double wanted = lengths[size_t(row)] == 0
                                ? 0
                                : found[0].literal().element(last + row * kHiddenOfRows + k);
      EXPECT_EQ(found[1].literal().element(row * kHiddenOfRows + k), wanted);
    }
  }
}

TEST(LengthsOfRows, OneForAllRowsIsAScalar) {
  Model m("m");
  const Gru gru(m, "gru", kInputsOfRows, kHiddenOfRows);
  m.graph("f", [&](Inputs& in) {
    const Value x = in("x", f32, {"steps", 2, kInputsOfRows});
    return Values{gru(x, {.lengths = in("n", i32, {})}), gru(x, {.lengths = in("all", i32, {2})})};
  });
  Session session(m, {.target = "cpu"});
  const int32_t three[] = {3, 3};
  const Outputs found = session("f", random_uniform({5, 2, kInputsOfRows}, 1), Literal::of(3),
                                Literal(std::span(three), {2}));
  EXPECT_TRUE(std::ranges::equal(found[0].literal().bytes(), found[1].literal().bytes()));
  EXPECT_NE(found[0].literal().element(2 * 2 * kHiddenOfRows), 0);
  EXPECT_EQ(found[0].literal().element(3 * 2 * kHiddenOfRows), 0);
}

TEST(LengthsOfRows, StreamsMayBeIntegersAndTruthValues) {
  Model m("m");
  m.graph("f", [&](Inputs& in) {
    const Value words = in("words", i32, {3, 2}), n = in("n", i32, {2});
    return scan({words, greater(words, 1)},
                [&](Value word, Value large) { return Values{word + 10, select(large, word, -1)}; },
                {.lengths = n});
  });
  const int32_t words[] = {1, 2, 3, 4, 5, 6}, n[] = {3, 1};
  for (const char* target : {"reference", "cpu"}) {
    Session session(m, {.target = target});
    const Outputs found =
        session("f", Literal(std::span(words), {3, 2}), Literal(std::span(n), {2}));
    const int32_t more[] = {11, 12, 13, 0, 15, 0}, chosen[] = {-1, 2, 3, 0, 5, 0};
    EXPECT_TRUE(std::ranges::equal(found[0].data<int32_t>(), more));
    EXPECT_TRUE(std::ranges::equal(found[1].data<int32_t>(), chosen));
  }
}

TEST(LengthsOfRows, MeanOverStepsCountsWhatIsThere) {
  Model m("m");
  m.graph("f", [&](Inputs& in) {
    const Value x = in("x", f32, {3, 2}), n = in("n", i32, {2}), wide = in("wide", f32, {3, 2, 2});
    const Value mean = mean_over_steps(x, n);
    return Values{mean, mean_over_steps(wide, n), gradients(mean, {x})[0]};
  });
  for (const char* target : {"reference", "cpu"}) {
    Session session(m, {.target = target});
    const float x[] = {1, 2, 3, kNan, 5, kNan};
    const float wide[] = {1, 3, 2, 2, 3, 5, kNan, 0, 5, 7, kNan, 0};
    const auto at = [&](int32_t first, int32_t second) {
      const int32_t n[] = {first, second};
      return session("f", Literal(std::span(x), {3, 2}), Literal(std::span(n), {2}),
                     Literal(std::span(wide), {3, 2, 2}));
    };
    const Outputs some = at(3, 1), none = at(0, 0);
    EXPECT_FLOAT_EQ(float(some[0].literal().element(0)), (1 + 2 + 3 + 5) / 4.0f);
    EXPECT_FLOAT_EQ(float(some[1].literal().element(0)), (2 + 2 + 4 + 6) / 4.0f);
    const double wanted[] = {0.25, 0.25, 0.25, 0, 0.25, 0};
    for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(some[2].literal().element(i), wanted[i]);
    EXPECT_EQ(none[0].literal().element(0), 0);
  }
}

TEST(LengthsOfRows, ErrorsSayWhatIsWanted) {
  using testing::error_of;
  Model m("m");
  const Rnn rnn(m, "rnn", kInputsOfRows, kHiddenOfRows);
  const auto traced = [&](const std::string& name, const GraphFunction& function) {
    m.graph(name, function);
    return error_of(ErrorKind::input, [&] { m.trace(name, Extents{}); });
  };
  const auto x = [](Inputs& in) { return in("x", f32, {5, 2, kInputsOfRows}); };
  EXPECT_EQ(traced("floats",
                   [&](Inputs& in) {
                     Value xs = x(in);
                     return rnn(xs, {.lengths = in("n", f32, {2})});
                   }),
            "scan: lengths are integers, one for each row: wanted i32[batch], found f32[2]");
  EXPECT_EQ(traced("rows",
                   [&](Inputs& in) {
                     Value xs = x(in);
                     return rnn(xs, {.lengths = in("n", i32, {3})});
                   }),
            "scan: lengths are i32[3]: a stream is [steps, 3, ...], found %x of f32[5,2,3]");
  EXPECT_EQ(traced("state",
                   [&](Inputs& in) {
                     Value xs = x(in);
                     State steps(filled({}, 0), "steps");
                     scan(xs, [&](Value) { steps = steps + 1; }, {.lengths = in("n", i32, {2})});
                     return Results(steps);
                   }),
            "scan: lengths are i32[2]: a state is [2, ...], found %steps of f32[]");
  EXPECT_EQ(traced("mean",
                   [&](Inputs& in) {
                     Value xs = x(in);
                     return mean_over_steps(xs, in("n", i32, {5}));
                   }),
            "mean_over_steps: lengths are i32[5]: wanted [steps, 5, ...], found %x of f32[5,2,3]");
}

TEST(LengthsOfRows, ALengthBeyondTheStepsIsAnErrorOfTheCall) {
  Model m("m");
  const Rnn rnn(m, "rnn", kInputsOfRows, kHiddenOfRows);
  int line = 0;
  m.graph("f", [&](Inputs& in) {
    const Value x = in("x", f32, {"steps", 2, kInputsOfRows}), n = in("n", i32, {2});
    line = __LINE__ + 1;
    return rnn(x, {.lengths = n});
  });
  for (const char* target : {"reference", "cpu"}) {
    Session session(m, {.target = target});
    for (const int32_t wrong : {6, -1}) {
      const int32_t n[] = {5, wrong};
      try {
        session("f", random_uniform({5, 2, kInputsOfRows}, 1), Literal(std::span(n), {2}));
        ADD_FAILURE() << "wanted an error";
      } catch (const Error& error) {
        EXPECT_EQ(error.message(),
                  fmt::format("lengths 'n': row 1 has {} steps: wanted 0 to 5", wrong));
        EXPECT_EQ(error.where().line, line);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, Lengths, ::testing::ValuesIn(lengths_cases()),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace graphc::core
