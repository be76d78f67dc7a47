// SPDX-License-Identifier: Apache-2.0
// The bytes that kernels touch (codegen/plan/traffic.h), against what is counted by hand.
#include "codegen/plan/traffic.h"

#include <gtest/gtest.h>

#include <optional>

#include "codegen/compile.h"
#include "codegen/plan/walk.h"
#include "ir/text.h"
#include "passes/kernels/fuse.h"
#include "passes/passes.h"
#include "tests/codegen/variants.h"
#include "tests/testing/confused_graph.h"
#include "tests/testing/random_graph.h"

namespace graphc::core {
namespace {

/// The plan of a graph's text, and the bytes of its phases in their order.
struct Counted {
  Plan plan;
  std::vector<double> bytes;
};

void list(const std::vector<Record>& records, const std::map<const Record*, double>& bytes,
          std::vector<double>& all) {
  for (const Record& record : records) {
    if (const auto found = bytes.find(&record); found != bytes.end()) {
      all.push_back(found->second);
    } else {
      list(std::get<LoopCall>(record.call).body, bytes, all);
    }
  }
}

Counted counted(const std::string& text) {
  Counted counted{make_plan(*form_kernels(lower_reductions(parse_graph(text)), {}), {}), {}};
  list(counted.plan.records, bytes_of_phases(counted.plan), counted.bytes);
  return counted;
}

void expect_bytes(const std::string& text, const std::vector<double>& wanted) {
  const Counted found = counted(text);
  EXPECT_EQ(found.bytes, wanted) << print(found.plan);
}

constexpr double kMatrix = 6 * 8 * 4;

TEST(Traffic, OfAMapIsItsOperandsEachOnce) {
  expect_bytes("graph @f(%a: f32[6,8], %b: f32[6,8]) { return add(mul(%a, %b), %a) }",
               {3 * kMatrix});
  expect_bytes("graph @f(%a: f32[6,8], %b: f32[8]) { return add(%a, %b) }", {2 * kMatrix + 8 * 4});
  expect_bytes("graph @f(%a: i32[6,8]) { return cast(%a) {dtype = f32} }", {2 * kMatrix});
}

TEST(Traffic, OfSlicesIsWhatIsReadOfTheWhole) {
  expect_bytes("graph @f(%a: f32[6,8]) { return tanh(slice(%a) {axis = 1, start = 2, limit = 5}) }",
               {2 * 6 * 3 * 4});
  // Columns 0 to 5 and 2 to 7 of the same rows.
  expect_bytes(
      "graph @f(%a: f32[6,8]) { return mul(slice(%a) {axis = 1, start = 0, limit = 6}, "
      "slice(%a) {axis = 1, start = 2, limit = 8}) }",
      {kMatrix + 6 * 6 * 4});
}

TEST(Traffic, OfWhatIsChangedInPlaceIsOneRange) {
  expect_bytes("graph @f(%g: f32[6,8]) state (%w: f32[6,8]) { next %w = sub(%w, %g) }",
               {2 * kMatrix});
}

TEST(Traffic, OfAProductIsItsMatrices) {
  expect_bytes("graph @f(%a: f32[6,5], %b: f32[5,8]) { return matmul(%a, %b) }",
               {4 * (6 * 5 + 5 * 8) + kMatrix});
}

TEST(Traffic, OfALoopHasWhatMovesForEveryStepAndTheRestOnce) {
  // A stream and its results move; a carry that is emitted is its own history; %u and %a do not.
  const Counted found = counted(
      "graph @f(%x: f32[4,6,8], %u: f32[8,8], %a: f32[6,8]) { %y, %h.e = scan %t in %x "
      "carry %h = %a with %u { %n = tanh(add(%t, matmul(%h, %u))) next %h = %n emit %n } "
      "return %y }");
  ASSERT_EQ(found.plan.records.size(), found.bytes.size());
  double loops = 0, panels = 0;
  for (size_t i = 0; i < found.bytes.size(); ++i) {
    const auto* loop = std::get_if<LoopCall>(&found.plan.records[i].call);
    if (const auto* call = std::get_if<PanelCall>(&found.plan.records[i].call)) {
      panels = double(call->panels.bytes());
      EXPECT_EQ(found.bytes[i], 8 * 8 * 4 + panels);
    }
    if (loop != nullptr) loops = found.bytes[i];
  }
  EXPECT_GT(panels, 0) << print(found.plan);
  EXPECT_EQ(loops, 4 * kMatrix + 4 * kMatrix + kMatrix + panels) << print(found.plan);
}

TEST(Traffic, OfALoopInPiecesIsThatOfEveryCall) {
  // The sum along the rows makes every step phases of their own.
  const Counted found = counted(
      "graph @f(%x: f32[4,6,8], %a: f32[6,8]) { %y, %h.e = scan %t in %x carry %h = %a "
      "{ %n = mul(%t, sum(%h) {axes = [0], keep = true}) next %h = %n emit %n } return %y }");
  // Six rows of eight to eight sums; eight sums and the rows of the step to the next rows.
  const double sums = 8 * 4;
  EXPECT_EQ(found.bytes, (std::vector<double>{4 * (kMatrix + sums), 4 * (2 * kMatrix + sums)}))
      << print(found.plan);
}

TEST(Traffic, OfRowsByIndexIsAsIfAllIndicesDiffered) {
  expect_bytes("graph @f(%t: f32[10,8], %i: i32[6]) { return gather(%t, %i) }",
               {2 * kMatrix + 6 * 4});
  // Of two rows there are no six.
  expect_bytes("graph @f(%t: f32[2,8], %i: i32[6]) { return gather(%t, %i) }",
               {2 * 8 * 4 + kMatrix + 6 * 4});
}

/// Walks a plan and lists each byte that a call touches, element by element.
class EveryByte {
 public:
  explicit EveryByte(const Plan& plan) : plan_(plan), walk_(plan, 0, *this) {}

  /// By phase; none for those that look up rows.
  std::map<const Record*, double> bytes() {
    walk_.run();
    finish();
    return bytes_;
  }

  void begin(const Record& record) {
    finish();
    now_ = std::holds_alternative<TableCall>(record.call) ? nullptr : &record;
  }
  void meet() {}

  void nest(const NestCall& call, const Range& rows, const Range& columns) {
    std::vector<int64_t> index(call.outer.size(), 0);
    if (std::ranges::count(call.outer, 0) > 0) return;
    do {
      for (int64_t row = rows.begin; row < rows.end; ++row) {
        for (int64_t column = columns.begin; column < columns.end; ++column)
          element(call, index, row, column);
        if (columns.empty()) sums(call, index, row, 0);
      }
      for (int64_t column = columns.begin; column < columns.end && rows.empty(); ++column)
        sums(call, index, 0, column);
    } while (next(call, index));
  }

  void panels(const PanelCall& call, const Range&) {
    const PanelForm& form = call.panels;
    for (int64_t k = 0; k < form.k; ++k) {
      for (int64_t part = 0; part < form.parts; ++part) {
        for (int64_t column = 0; column < form.unit; ++column)
          touch(call.from,
                k * call.from_strides.k + part * call.from_strides.part +
                    column * call.from_strides.column,
                4);
      }
    }
    touch(call.to, 0, form.bytes());
  }

  void table(const TableCall&, const Range&) {}

 private:
  static bool next(const NestCall& call, std::vector<int64_t>& index) {
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < call.outer[axis]) return true;
      index[axis] = 0;
    }
    return false;
  }

  static int64_t along(const std::vector<int64_t>& strides, const std::vector<int64_t>& index) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < strides.size(); ++axis) offset += strides[axis] * index[axis];
    return offset;
  }

  void element(const NestCall& call, const std::vector<int64_t>& index, int64_t row,
               int64_t column) {
    const NestProgram& program = plan_.programs[size_t(call.program)];
    for (const NestInstruction& in : program.body) {
      if (in.kind == NestOp::load || in.kind == NestOp::store)
        operand(program, call, in, along(call.operands[size_t(in.operand)].outer, index), row,
                column);
    }
    sums(call, index, row, column);
    const int depth = walk_.depth();
    const bool first = depth > 0 && walk_.position()[size_t(depth - 1)].iteration == 0;
    for (size_t i = 0; i < call.products.size(); ++i) {
      if (!(first && call.products[i].zeros_at_first))
        product(call.products[i], program.products[i], index, row, column);
    }
  }

  /// What is written of nothing too: a sum is 0 then.
  void sums(const NestCall& call, const std::vector<int64_t>& index, int64_t row, int64_t column) {
    const NestProgram& program = plan_.programs[size_t(call.program)];
    const bool along_row = program.kind == NestKind::row_wise;
    for (const NestInstruction& in : program.body) {
      if (in.kind == NestOp::reduce)
        operand(program, call, in, along(call.operands[size_t(in.operand)].outer, index),
                along_row ? std::optional(row) : std::nullopt,
                along_row ? std::nullopt : std::optional(column));
    }
  }

  void operand(const NestProgram& program, const NestCall& call, const NestInstruction& in,
               int64_t offset, std::optional<int64_t> row, std::optional<int64_t> column) {
    const NestOperand& form = program.operands[size_t(in.operand)];
    const CallOperand& operand = call.operands[size_t(in.operand)];
    if (form.kind == OperandKind::iota || form.kind == OperandKind::literal) return;
    if (row && form.by_row) offset += *row * operand.row;
    if (column) offset += in.part * operand.part;
    if (column && form.column == ColumnStep::contiguous) offset += *column * size_of(form.dtype);
    if (column && form.column == ColumnStep::strided) offset += *column * operand.column;
    touch(operand.address, offset, size_of(form.dtype));
  }

  void product(const CallProduct& product, const NestProduct& form,
               const std::vector<int64_t>& index, int64_t row, int64_t column) {
    const MatrixStrides& right = product.b_strides;
    for (int64_t k = 0; k < product.panels.k; ++k) {
      touch(product.a, along(product.outer, index) + row * product.a_row + k * product.a_k,
            size_of(form.left));
      for (int64_t part = 0; part < form.parts && !product.in_panels; ++part)
        touch(product.b, k * right.k + part * right.part + column * right.column,
              size_of(form.right));
    }
    if (product.in_panels && row == 0 && column == 0) touch(product.b, 0, product.panels.bytes());
  }

  void touch(const Address& address, int64_t offset, int64_t size) {
    if (now_ == nullptr) return;
    const BufferPlace place = resolve(address, walk_.position());
    std::vector<bool>& bytes = touched_[place.buffer];
    bytes.resize(size_t(plan_.buffers[size_t(place.buffer)].bytes));
    for (int64_t i = 0; i < size; ++i) {
      const auto at = size_t(place.offset + offset + i);
      count_ += bytes.at(at) ? 0 : 1;
      bytes[at] = true;
    }
  }

  void finish() {
    if (now_ != nullptr) bytes_[now_] += count_;
    touched_.clear();
    count_ = 0;
  }

  const Plan& plan_;
  PlanWalk<EveryByte> walk_;
  const Record* now_ = nullptr;
  std::map<int, std::vector<bool>> touched_;  ///< of buffers, in the call that goes on
  double count_ = 0;
  std::map<const Record*, double> bytes_;
};

void expect_every_byte(const GraphPtr& graph, const std::string& name) {
  for (const char* variant : {"fused", "basic"}) {
    CompileReport report;
    const Plan plan = make_plan(*form_kernels_for(graph, {.variant = variant}, report), {});
    const std::map<const Record*, double> found = bytes_of_phases(plan);
    for (const auto& [record, bytes] : EveryByte(plan).bytes())
      ASSERT_EQ(found.at(record), bytes)
          << name << ", " << variant << ": "
          << std::visit([](const auto& call) { return call.name; }, record->call) << "\n"
          << print(plan);
  }
}

TEST(Traffic, IsEveryByteThatAWalkTouches) {
  for (unsigned seed = 1; seed <= 30 && !HasFailure(); ++seed) {
    expect_every_byte(testing::random_graph(seed, {.nodes = 5 + int(seed * 7 % 25),
                                                   .loop = seed % 2 == 1,
                                                   .gradient = seed % 3 == 2}),
                      fmt::format("random graph {}", seed));
    expect_every_byte(testing::confused_graph(seed, {}), fmt::format("confused graph {}", seed));
  }
}

}  // namespace
}  // namespace graphc::core
