// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/recorded_bytes.h"

#include <algorithm>
#include <optional>

#include "codegen/step/plan_walk.h"

namespace graphc::core::testing {
namespace {

class Recorder {
 public:
  Recorder(const Plan& plan, const std::function<void(const RecordedCall&)>& visit)
      : plan_(plan), visit_(visit), walk_(plan, 0, *this) {}

  void run() {
    walk_.run();
    finish();
  }

  void begin(const Record& record) {
    finish();
    now_.record = &record;
    now_.has_indices = std::holds_alternative<TableCall>(record.call);
    now_.position = walk_.position();
    now_.depth = walk_.depth();
  }
  void barrier() {}

  void nest(const NestCall& call, const NestPart& part) {
    const auto& [outer, rows, columns] = part;
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
    for (int64_t matrix = 0; matrix < call.matrices; ++matrix) {
      for (int64_t k = 0; k < form.k; ++k) {
        for (int64_t part = 0; part < form.parts; ++part) {
          for (int64_t column = 0; column < form.unit; ++column)
            touch(call.from,
                  matrix * call.from_matrix + k * call.from_strides.k +
                      part * call.from_strides.part + column * call.from_strides.column,
                  size_of(form.from), kBytesRead);
        }
      }
    }
    touch(call.to, 0, call.bytes(), kBytesWritten);
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
    touch(operand.address, offset, size_of(form.dtype),
          in.kind == NestOp::load ? kBytesRead : kBytesWritten);
  }

  void product(const CallProduct& product, const NestProduct& form,
               const std::vector<int64_t>& index, int64_t row, int64_t column) {
    const MatrixStrides& right = product.b_strides;
    for (int64_t k = 0; k < product.panels.k; ++k) {
      touch(product.a, along(product.outer, index) + row * product.a_row + k * product.a_k,
            size_of(form.left), kBytesRead);
      for (int64_t part = 0; part < form.parts && !product.in_panels; ++part)
        touch(product.b,
              along(product.right_outer, index) + k * right.k + part * right.part +
                  column * right.column,
              size_of(form.right), kBytesRead);
    }
    if (product.in_panels && row == 0 && column == 0)
      touch(product.b, along(product.right_outer, index), product.panels.bytes(), kBytesRead);
  }

  void touch(const Address& address, int64_t offset, int64_t size, uint8_t how) {
    const BufferPlace place = resolve(address, walk_.position());
    std::vector<uint8_t>& bytes = now_.bytes[place.buffer];
    bytes.resize(size_t(plan_.buffers[size_t(place.buffer)].bytes));
    for (int64_t i = 0; i < size; ++i) bytes.at(size_t(place.offset + offset + i)) |= how;
  }

  void finish() {
    if (now_.record != nullptr) visit_(now_);
    now_ = {};
  }

  const Plan& plan_;
  const std::function<void(const RecordedCall&)>& visit_;
  PlanWalk<Recorder> walk_;
  RecordedCall now_;
};

}  // namespace

void record_bytes(const Plan& plan, const std::function<void(const RecordedCall&)>& visit) {
  Recorder(plan, visit).run();
}

}  // namespace graphc::core::testing
