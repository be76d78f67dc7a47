// SPDX-License-Identifier: Apache-2.0
// cell-layer: the sizes of its cells, what it refuses, and its gradients.
#include "models/cell_layer.h"

#include <gmock/gmock.h>

#include <cmath>

#include "models/stream_cells.h"
#include "passes/pipeline.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

std::string full_name(const std::vector<std::string>& assignments) {
  std::string name;
  make_program("cell-layer", assignments, &name);
  return name;
}

TEST(CellLayer, HasTheSizesOfTheWorkload) {
  EXPECT_EQ(full_name({}),
            "cell-layer cell=gated-delta size=small steps=128 batch=1 heads=8 key=64 value=64 "
            "hidden=0 state=0 memory=0");
  EXPECT_EQ(full_name({"size=long", "cell=mlstm", "steps=5"}),
            "cell-layer cell=mlstm size=long steps=5 batch=1 heads=32 key=128 value=128 hidden=0 "
            "state=0 memory=0");
  EXPECT_EQ(full_name({"size=medium", "cell=selective-scan"}),
            "cell-layer cell=selective-scan size=medium steps=512 batch=4 heads=1 key=0 value=0 "
            "hidden=1024 state=16 memory=0");
  EXPECT_EQ(full_name({"size=medium", "cell=slstm", "heads=2"}),
            "cell-layer cell=slstm size=medium steps=512 batch=16 heads=2 key=0 value=0 hidden=512 "
            "state=0 memory=0");
  EXPECT_EQ(
      full_name({"size=medium", "cell=attention-decoder"}),
      "cell-layer cell=attention-decoder size=medium steps=512 batch=16 heads=1 key=0 value=0 "
      "hidden=512 state=0 memory=50");
  // Seven passes over a matrix of 64 by 64 in each of 8 heads and 128 steps.
  EXPECT_EQ(make_program("cell-layer", {})->work().forward_flop, 7.0 * 64 * 64 * 8 * 128);
}

TEST(CellLayer, RefusesWhatTheCellLacks) {
  const auto message = [](const std::vector<std::string>& assignments) {
    return error_of(ErrorKind::usage, [&] { make_program("cell-layer", assignments); });
  };
  EXPECT_EQ(message({"cell=min-gru", "heads=2"}),
            "cell-layer cell=min-gru: it has no parameter 'heads': found '2'");
  EXPECT_EQ(message({"hidden=64"}),
            "cell-layer cell=gated-delta: it has no parameter 'hidden': found '64'");
  EXPECT_EQ(message({"cell=slstm", "heads=3"}),
            "slstm: wanted heads that divide the 512 units: found 3");
  EXPECT_THAT(message({"cell=gated-delte"}), HasSubstr("gated-delta"));
  EXPECT_THAT(message({"key=0"}), HasSubstr("'key' is a whole number from 1"));
  const auto program = make_program("cell-layer", {"size=test"});
  Session session(program->model(), {.target = "reference"});
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { program->train(session, {}); }),
              HasSubstr("there is nothing to train: wanted graphc-bench"));
}

/// Every cell runs, and its loss is that of its outputs; goldens have the gradients of each
/// (stream_cells_test.cpp).
TEST(CellLayerCpu, TrainsOnTheMeanOfSquares) {
  for (const StreamCellRecord& cell : all_stream_cells()) {
    const auto program =
        make_program("cell-layer", {"size=test", fmt::format("cell={}", cell.name)});
    Session session(program->model(), {.target = "cpu", .seed = 2});
    const std::vector<Tensor> inputs = program->random_inputs("train", 7);
    const Literal y = session.run("forward", inputs)[0].literal();
    double squares = 0;
    for (int64_t i = 0; i < y.elements(); ++i) squares += y.element(i) * y.element(i);
    const Outputs trained = session.run("train", inputs);
    EXPECT_NEAR(trained["loss"].scalar(), squares / double(y.elements()), 1e-5) << cell.name;
    EXPECT_GT(squares, 0) << cell.name;
    for (const Param& param : program->model().params())
      EXPECT_EQ(trained["d." + param.name()].type().shape, param.shape()) << cell.name;
    EXPECT_EQ(trained[1].type(), inputs[0].type()) << cell.name;
  }
}

}  // namespace
}  // namespace graphc::core
