// SPDX-License-Identifier: Apache-2.0
// Blocks: a sequence at once and step by step, rows of different lengths, and what is refused.
// Their gradients are in layer_gradients_test.cpp, their cells' goldens in
// tests/models/stream_cells_test.cpp.
#include "frontend/blocks.h"

#include <gmock/gmock.h>

#include <cmath>

#include "frontend/graphc.h"
#include "models/language_layer.h"
#include "models/random_inputs.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

constexpr int64_t kBlockSteps = 6, kBlockRows = 3, kBlockIn = 4, kBlockUnits = 6;

struct BlockCase {
  const char* name;
  std::unique_ptr<RecurrentBlock> (*make)(Model& m);
};

template <typename Block>
std::unique_ptr<RecurrentBlock> of_two_heads(Model& m) {
  return std::make_unique<Block>(m, "b", kBlockIn, kBlockUnits, HeadOptions{.heads = 2});
}
template <typename Block>
std::unique_ptr<RecurrentBlock> of_no_heads(Model& m) {
  return std::make_unique<Block>(m, "b", kBlockIn, kBlockUnits);
}

const BlockCase kBlockCases[] = {
    {"gated_delta", of_two_heads<GatedDelta>},
    {"mlstm", of_two_heads<Mlstm>},
    {"slstm", of_two_heads<Slstm>},
    {"selective_scan", of_no_heads<SelectiveScan>},
    {"rwkv7", of_two_heads<Rwkv7>},
    {"rg_lru", of_no_heads<RgLru>},
    {"min_gru", of_no_heads<MinGru>},
};

class Blocks : public ::testing::TestWithParam<BlockCase> {};
class BlocksCpu : public Blocks {};

/// x [steps, rows, in], or one step of it, centred.
Tensor block_input(int64_t steps, uint64_t seed) {
  Tensor x = random_uniform({steps, kBlockRows, kBlockIn}, seed);
  for (float& element : x.mutable_data<float>()) element = 2 * element - 1;
  return x;
}

Tensor step_of(const Tensor& xs, int64_t step) {
  Tensor x(Type{DType::f32, {kBlockRows, kBlockIn}});
  const auto all = xs.data<float>();
  const size_t width = size_t(kBlockRows * kBlockIn);
  std::copy_n(all.begin() + long(size_t(step) * width), width, x.mutable_data<float>().begin());
  return x;
}

TEST_P(BlocksCpu, GoOnStepByStepAsOverTheSequence) {
  for (const char* target : {"reference", "cpu"}) {
    Model m("m");
    const auto block = GetParam().make(m);
    m.graph("whole",
            [&](Inputs& in) { return (*block)(in("xs", f32, {"steps", kBlockRows, kBlockIn})); });
    m.graph("one", [&](Inputs& in) {
      std::vector<State> states = block->carried(in, "generate.", kBlockRows);
      return block->step(in("x", f32, {kBlockRows, kBlockIn}), states);
    });
    Session session(m, {.target = target, .seed = 3});
    const Tensor xs = block_input(kBlockSteps, 1);
    const Literal whole = session("whole", xs)[0].literal();
    ASSERT_EQ(whole.shape(), Shape({kBlockSteps, kBlockRows, kBlockUnits}));
    const int64_t width = kBlockRows * kBlockUnits;
    double largest = 0;
    for (int64_t step = 0; step < kBlockSteps; ++step) {
      const Literal one = session("one", step_of(xs, step))[0].literal();
      for (int64_t k = 0; k < width; ++k) {
        EXPECT_NEAR(one.element(k), whole.element(step * width + k), 2e-6) << target << step;
        largest = std::max(largest, std::abs(one.element(k)));
      }
    }
    EXPECT_GT(largest, 1e-2);
  }
}

/// A row that ends early is as if it were alone, and what stands in its padding does not matter.
TEST_P(BlocksCpu, RowsEndWhereTheirLengthsSay) {
  Model m("m");
  const auto block = GetParam().make(m);
  m.graph("padded", [&](Inputs& in) {
    const Value lengths = in("lengths", i32, {kBlockRows});
    return (*block)(in("xs", f32, {"steps", kBlockRows, kBlockIn}), {.lengths = lengths});
  });
  m.graph("whole",
          [&](Inputs& in) { return (*block)(in("xs", f32, {"steps", kBlockRows, kBlockIn})); });
  Session session(m, {.target = "cpu", .seed = 3});
  const int32_t lengths[] = {2, 6, 0};
  Literal given(Type{DType::i32, {kBlockRows}});
  std::copy_n(lengths, 3, given.mutable_data<int32_t>().begin());
  Tensor xs = block_input(kBlockSteps, 2);
  const Literal whole = session("whole", xs)[0].literal();
  for (int64_t i = 0; i < xs.type().shape.elements(); ++i) {
    const int64_t step = i / (kBlockRows * kBlockIn), row = i / kBlockIn % kBlockRows;
    if (step >= lengths[row]) xs.mutable_data<float>()[size_t(i)] = NAN;
  }
  const Literal padded = session("padded", given, xs)[0].literal();
  for (int64_t i = 0; i < padded.elements(); ++i) {
    const int64_t step = i / (kBlockRows * kBlockUnits), row = i / kBlockUnits % kBlockRows;
    EXPECT_NEAR(padded.element(i), step < lengths[row] ? whole.element(i) : 0, 2e-6) << i;
  }
}

TEST_P(Blocks, RefuseWhatIsNotTheirs) {
  Model m("m");
  const auto block = GetParam().make(m);
  const auto message = [&](const char* name, auto&& use) {
    m.graph(name, [&](Inputs& in) { return use(in); });
    return error_of(ErrorKind::input, [&] { m.trace(name, Extents{}); });
  };
  EXPECT_THAT(message("wide",
                      [&](Inputs& in) {
                        std::vector<State> states = block->carried(in, "wide.", 2);
                        return block->step(in("x", f32, {2, kBlockIn + 1}), states);
                      }),
              HasSubstr("a step takes [batch, 4]: found f32[2,5]"));
  EXPECT_THAT(message("rows",
                      [&](Inputs& in) {
                        std::vector<State> states = block->carried(in, "rows.", 2);
                        return block->step(in("x", f32, {3, kBlockIn}), states);
                      }),
              HasSubstr("for these rows: found [2,"));
  EXPECT_THAT(message("states",
                      [&](Inputs& in) {
                        std::vector<State> none;
                        return block->step(in("x", f32, {3, kBlockIn}), none);
                      }),
              HasSubstr("wanted: found 0"));
  EXPECT_THAT(message("flat", [&](Inputs& in) { return (*block)(in("x", f32, {3, kBlockIn})); }),
              HasSubstr("takes [steps, batch, width]: found f32[3,4]"));
}

std::string block_name(const ::testing::TestParamInfo<BlockCase>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(All, Blocks, ::testing::ValuesIn(kBlockCases), block_name);
INSTANTIATE_TEST_SUITE_P(All, BlocksCpu, ::testing::ValuesIn(kBlockCases), block_name);

TEST(Blocks, HaveHeadsThatDivideTheUnits) {
  Model m("m");
  EXPECT_EQ(error_of(ErrorKind::input, [&] { GatedDelta(m, "g", 4, 6, {.heads = 4}); }),
            "GatedDelta: wanted at least one input and one unit, and heads that divide the units: "
            "found 4 inputs, 6 units, 4 heads");
  EXPECT_EQ(error_of(ErrorKind::input, [&] { SelectiveScan(m, "s", 4, 6, {.state = 0}); }),
            "SelectiveScan: a state has at least one number: found 0");
}

TEST(CellSteps, NameTheOperandThatDoesNotFitTheState) {
  Model m("m");
  m.graph("f", [](Inputs& in) {
    State s = in.state("s", {2, 5, 3});
    const Value k = in("k", f32, {2, 5}), v = in("v", f32, {2, 4}), g = in("g", f32, {2});
    return gated_delta(k, k, v, g, g, s);
  });
  EXPECT_EQ(error_of(ErrorKind::input, [&] { m.trace("f", Extents{}); }),
            "gated_delta: 'v' is [2,3] with this state: found [2,4]");
}

}  // namespace
}  // namespace graphc::core
