// SPDX-License-Identifier: Apache-2.0
// The footprint of a record, against the bytes that a walk of the plan reads and writes.
#include "codegen/step/access.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/lower/lower.h"
#include "codegen/step/footprint.h"
#include "codegen/step/plan_walk.h"
#include "codegen/targets/cuda/machine.h"
#include "ir/text.h"
#include "passes/kernels/fuse.h"
#include "passes/passes.h"
#include "tests/codegen/recorded_bytes.h"
#include "tests/codegen/replay_plan.h"
#include "tests/passes/cells.h"
#include "tests/testing/confused_graph.h"
#include "tests/testing/random_graph.h"

namespace graphc::core {
namespace {

using ::testing::ElementsAre;
using BytesByBuffer = std::map<int, std::vector<uint8_t>>;

void paint(const Plan& plan, const PlacedAccess& access, size_t axis, int64_t offset,
           BytesByBuffer& all) {
  if (axis < access.axes.size()) {
    for (int64_t i = 0; i < access.axes[axis].count; ++i)
      paint(plan, access, axis + 1, offset + i * access.axes[axis].stride, all);
    return;
  }
  std::vector<uint8_t>& bytes = all[access.place.buffer];
  bytes.resize(size_t(plan.buffers[size_t(access.place.buffer)].bytes));
  for (int64_t i = 0; i < access.bytes; ++i)
    bytes.at(size_t(offset + i)) |= access.writes() ? testing::kBytesWritten : testing::kBytesRead;
}

/// How many calls of the plan have other bytes than their footprint; the first is a failure.
void expect_footprints(const GraphPtr& graph, const CompileOptions& options, const Machine& machine,
                       const std::string& name) {
  CompileReport report;
  const Plan plan = make_plan(*form_kernels_for(graph, options, report), machine);
  testing::record_bytes(plan, [&](const testing::RecordedCall& call) {
    if (call.has_indices || ::testing::Test::HasFailure()) return;
    BytesByBuffer found;
    for (const PlacedAccess& access : footprint_of(plan, *call.record, call.position, call.depth)) {
      EXPECT_EQ(access.selected, -1);
      paint(plan, access, 0, access.place.offset, found);
    }
    EXPECT_TRUE(found == call.bytes)
        << name << ", " << options.variant << " " << name_of(options.precision) << ": "
        << std::visit([](const auto& each) { return each.name; }, call.record->call) << "\n"
        << print(plan);
  });
}

void expect_footprints(const GraphPtr& graph, const std::string& name) {
  for (size_t kind = 0; kind < 3; ++kind) {
    expect_footprints(graph, {.variant = kind == 1 ? "basic" : "fused"},
                      testing::machine_like(kind, 1), name);
  }
  expect_footprints(graph, {}, cuda::gpu_machine(), name);
  expect_footprints(graph, {.precision = Precision::bf16}, cuda::gpu_machine(), name);
}

TEST(Footprints, AreTheBytesThatAWalkReadsAndWrites) {
  for (unsigned seed = 1; seed <= 30 && !HasFailure(); ++seed) {
    expect_footprints(testing::random_graph(seed, {.nodes = 5 + int(seed * 7 % 25),
                                                   .loop = seed % 2 == 1,
                                                   .gradient = seed % 3 == 2}),
                      fmt::format("random graph {}", seed));
    expect_footprints(testing::confused_graph(seed, {}), fmt::format("confused graph {}", seed));
  }
}

TEST(Footprints, OfEveryCellAreThoseOfItsWalk) {
  for (const testing::Cell& cell : testing::all_cells()) {
    if (HasFailure()) return;
    expect_footprints(testing::parse_cell(cell), std::string(cell.name));
  }
}

/// "read 24 of a": one access of a call whose buffers are named in `names`.
std::vector<std::string> texts_of(const std::vector<Access>& accesses,
                                  const std::vector<std::string>& names) {
  std::vector<std::string> texts;
  for (const Access& access : accesses)
    texts.push_back(fmt::format("{} {} of {}{}", access.writes() ? "writes" : "reads",
                                access.region.size(), names[size_t(access.address->buffer)],
                                access.selected >= 0 ? fmt::format(", {}", access.selected) : ""));
  return texts;
}

/// Ten rows of 16 bytes, six indices.
TableCall table_call(TableOp op) {
  TableCall call{.op = op, .table_rows = 10, .count = 6, .row_bytes = 16};
  call.table.buffer = 0;
  call.indices.buffer = 1;
  call.rows.buffer = 2;
  if (op == TableOp::merge_rows) call.distinct.buffer = 3;
  return call;
}

TEST(Accesses, OfATableAreTheRowsThatIndicesMaySelect) {
  const auto of = [](const TableCall& call) {
    return texts_of(accesses_of(call), {"table", "indices", "rows", "distinct"});
  };
  EXPECT_THAT(of(table_call(TableOp::gather)),
              ElementsAre("reads 24 of indices", "reads 160 of table, 96", "writes 96 of rows"));
  for (const TableOp op : {TableOp::scatter, TableOp::scatter_add})
    EXPECT_THAT(of(table_call(op)), ElementsAre("reads 24 of indices", "reads 160 of table, 96",
                                                "reads 96 of rows", "writes 160 of table, 96"));
  EXPECT_THAT(of(table_call(TableOp::merge_rows)),
              ElementsAre("reads 24 of indices", "reads 96 of rows", "writes 160 of table, 96",
                          "writes 24 of distinct"));
  // Of two rows there are no six.
  TableCall small = table_call(TableOp::gather);
  small.table_rows = 2;
  EXPECT_THAT(of(small),
              ElementsAre("reads 24 of indices", "reads 32 of table, 32", "writes 96 of rows"));
  TableCall labels = table_call(TableOp::check_labels);
  labels.table = {};
  EXPECT_THAT(of(labels), ElementsAre("reads 24 of indices", "writes 24 of rows"));
}

TEST(Accesses, OfAnExternalCallAreItsOperands) {
  Plan plan;
  ExternCall call{.function = "all_reduce"};
  call.operands.push_back({"from", {}, 120, false});
  call.operands.push_back({"to", {}, 120, true});
  for (int i = 0; i < 2; ++i) call.operands[size_t(i)].address.buffer = i;
  EXPECT_THAT(texts_of(accesses_of(plan, Record{.call = call}), {"gradient", "sum"}),
              ElementsAre("reads 120 of gradient", "writes 120 of sum"));
}

TEST(Accesses, OfSomePartsAreTheirRuns) {
  // Of four gates the first, the third and the fourth.
  NestProgram program{.operands = {{}}};
  for (const int part : {3, 0, 2, 2})
    program.body.push_back({.kind = NestOp::load, .operand = 0, .part = part});
  NestCall call{.operands = {{.row = 400, .part = 100}}, .rows = 2, .unit = 5};
  const std::vector<Access> found = accesses_of(program, call);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].region.extent(), (Extent{0, 420}));
  EXPECT_EQ(found[1].region.extent(), (Extent{200, 720}));
  EXPECT_EQ(found[0].size(), 40);
  EXPECT_EQ(found[1].size(), 80);
}

TEST(Regions, OfNoElementsHaveNoBytes) {
  Region region(4);
  EXPECT_FALSE(region.is_empty());
  EXPECT_EQ(region.along(AxisOf::row, -8, 3).extent(), (Extent{-16, 4}));
  EXPECT_EQ(region.along(AxisOf::column, 0, 7).size(), 12);
  EXPECT_TRUE(region.along(AxisOf::term, 16, 0).is_empty());
  EXPECT_EQ(region.extent(), (Extent{0, 0}));
  EXPECT_EQ(region.size(), 0);
}

/// A loop in a loop that keeps `steps` rows of 16 bytes.
TEST(Footprints, OfLoopsInLoopsHaveEveryStepAndSlot) {
  Plan plan;
  plan.loop_depth = 2;
  plan.programs.push_back({.kind = NestKind::row_wise,
                           .operands = {{.kind = OperandKind::store, .by_row = false}},
                           .body = {{.kind = NestOp::store, .operand = 0}}});
  plan.buffers.push_back({.name = "a", .place = Place::output, .bytes = 4096});
  NestCall store{.operands = {{}}, .rows = 1, .unit = 4};
  // Rows by the outer step, halves of them by turns of the inner iteration; first iterations of
  // the inner loop write to row 20.
  Address& address = store.operands[0].address;
  address.buffer = 0;
  address.terms = {{.loop = 0, .step = 64}, {.loop = 1, .parity = 32}};
  address.first_loop = 1;
  address.at_first = std::make_shared<Address>(Address{.buffer = 0, .offset = 20 * 64});
  LoopCall inner{.steps = 4, .private_rows = true, .rows = 1, .body = {{.call = store}}};
  LoopCall outer{.steps = 3, .reverse = true, .private_rows = true, .rows = 1};
  outer.body = {{.call = inner}};
  BytesByBuffer found;
  for (const PlacedAccess& access : footprint_of(plan, {.call = outer}, {}, 0))
    paint(plan, access, 0, access.place.offset, found);
  std::vector<int> rows;
  for (size_t at = 0; at < found[0].size(); at += 16) {
    if (found[0][at] != 0) rows.push_back(int(at / 16));
  }
  // Iterations 1 and 3 are odd, 2 is even.
  EXPECT_THAT(rows, ElementsAre(0, 2, 4, 6, 8, 10, 80));
}

}  // namespace
}  // namespace graphc::core
