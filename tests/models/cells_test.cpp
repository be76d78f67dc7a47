// SPDX-License-Identifier: Apache-2.0
// Every cell against PyTorch on random weights: outputs, last states, and all derivatives.
#include "models/cells.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "frontend/graphc.h"
#include "passes/pipeline.h"
#include "runtime/files/safetensors.h"
#include "tests/testing/source_tree.h"

namespace graphc::core {
namespace {

struct Golden {
  const char* cell;
  const char* file;
};

Literal columns(const Literal& matrix, int64_t from, int64_t to) {
  const int64_t rows = matrix.shape()[0], width = matrix.shape()[1];
  Literal result({matrix.dtype(), {rows, to - from}});
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = from; c < to; ++c) {
      result.mutable_data<double>()[size_t(r * (to - from) + c - from)] =
          matrix.element(r * width + c);
    }
  }
  return result;
}

/// The array of a parameter: the file of gru-reset-before has all gates of u in one matrix.
Literal array_of(const Safetensors& file, const std::string& prefix, const std::string& name,
                 bool reset_before) {
  if (reset_before && name == "u") return columns(file.arrays.at(prefix + "u"), 0, 10);
  if (reset_before && name == "u_n") return columns(file.arrays.at(prefix + "u"), 10, 15);
  return file.arrays.at(prefix + name);
}

void expect_near(const Literal& found, const Literal& wanted) {
  ASSERT_EQ(found.shape(), wanted.shape());
  for (int64_t i = 0; i < wanted.elements(); ++i)
    ASSERT_NEAR(found.element(i), wanted.element(i), 1e-12) << "element " << i;
}

class CellTest : public ::testing::TestWithParam<Golden> {};

const CellRecord& record_of(std::string_view name) {
  for (const CellRecord& record : all_cells()) {
    if (record.name == name) return record;
  }
  throw input_error({}, "no cell {}", name);
}

TEST_P(CellTest, IsPyTorchs) {
  const Safetensors file = read_safetensors(
      testing::source_path(fmt::format("tests/golden/{}.safetensors", GetParam().file)));
  const bool reset_before = std::string_view(GetParam().cell) == "gru-reset-before";
  Model m("m");
  const Cell cell = record_of(GetParam().cell).make(m, 4, 5);
  const std::vector<std::string> names{"h0", "c0"}, ends{"h_end", "c_end"};
  m.graph("f", Mode::training, [&](Inputs& in) {
    Value xs = in("x", f32, {"steps", 3, 4}), r = in("r", f32, {"steps", 3, cell.widths[0]});
    std::vector<State> states;
    Values leaves{xs};
    for (size_t i = 0; i < cell.widths.size(); ++i) {
      leaves.push_back(in(names[i].c_str(), f32, {3, cell.widths[i]}));
      states.emplace_back(leaves.back(), names[i]);
    }
    Value y = scan(xs, [&](Value x) {
      cell.step(x, states);
      return states[0];
    });
    Values results{y};
    for (const State& state : states) results.push_back(state);
    for (const Param& param : m.params()) leaves.push_back(param);
    for (Value d : gradients(sum(y * r), leaves)) results.push_back(d);
    return Results(results);
  });
  SessionOptions options{.target = "reference"};
  options.compile.precision = Precision::f64;
  Session session(m, options);
  for (const Param& param : m.params())
    session.set_state(param.name(), array_of(file, "", param.name(), reset_before));
  std::vector<Tensor> inputs{file.arrays.at("x"), file.arrays.at("r")};
  for (size_t i = 0; i < cell.widths.size(); ++i) inputs.push_back(file.arrays.at(names[i]));
  const Outputs outputs = session.run("f", inputs);

  size_t result = 0;
  expect_near(outputs[result++].literal(), file.arrays.at("y"));
  for (size_t i = 0; i < cell.widths.size(); ++i)
    expect_near(outputs[result++].literal(), file.arrays.at(ends[i]));
  expect_near(outputs[result++].literal(), file.arrays.at("grad.x"));
  for (size_t i = 0; i < cell.widths.size(); ++i)
    expect_near(outputs[result++].literal(), file.arrays.at("grad." + names[i]));
  for (const Param& param : m.params()) {
    SCOPED_TRACE(param.name());
    expect_near(outputs[result++].literal(), array_of(file, "grad.", param.name(), reset_before));
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, CellTest,
                         ::testing::Values(Golden{"lstm", "lstm"}, Golden{"lstm", "lstm_one_step"},
                                           Golden{"layer-norm-lstm", "layer_norm_lstm"},
                                           Golden{"peephole-lstm", "peephole"},
                                           Golden{"projected-lstm", "projected"},
                                           Golden{"gru", "gru"},
                                           Golden{"gru-reset-before", "gru_reset_before"},
                                           Golden{"rnn", "rnn"}),
                         [](const auto& tested) { return std::string(tested.param.file); });

/// Cells that a library has are found in the equations, whatever else is around them.
TEST(Cells, AreFoundByOutlineIfALibraryHasThem) {
  for (const CellRecord& record : all_cells()) {
    Model m("m");
    const Cell cell = record.make(m, 4, 6);
    m.graph("f", [&](Inputs& in) {
      Value xs = in("x", f32, {"steps", 3, 4});
      std::vector<State> states = zero_states(cell, 3);
      Value y = scan(xs,
                     [&](Value x) {
                       cell.step(x, states);
                       return states[0];
                     },
                     {.reverse = true});
      return sum(y) + sum(states[0]);
    });
    const GraphPtr graph = m.trace("f", {{"steps", 5}}).graph;
    const Pipeline passes = parse_pipeline(
        "simplify,cse,pack-matmuls,simplify,cse,hoist,simplify,cse,outline{lstm,gru,rnn}");
    const GraphPtr found = run_pipeline(graph, passes).graph;
    const bool has = record.name == "lstm" || record.name == "gru" || record.name == "rnn";
    const auto is_it = [&](const Node& node) { return node.op.name == record.name; };
    EXPECT_EQ(std::ranges::count_if(found->nodes(), is_it), has ? 1 : 0) << record.name;
  }
}

}  // namespace
}  // namespace graphc::core
