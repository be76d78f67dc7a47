// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/interpreter/nest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "ir/evaluate_ops.h"

namespace graphc::core::testing {
namespace {

using evaluation::ScalarElements;
using Elements = std::vector<Element>;

ScalarElements elements_of(DType dtype, const Elements& values) {
  return {dtype, reinterpret_cast<const std::byte*>(values.data())};
}

void run(ScalarOp op, DType dtype, const std::array<ScalarElements, 3>& x, int64_t count,
         Precision precision, Elements& result) {
  evaluation::run_scalar(op, dtype, x, count, precision,
                         reinterpret_cast<std::byte*>(result.data()));
}

/// What a sum or a maximum is of nothing.
Element identity(OperandKind kind, DType dtype) {
  if (kind == OperandKind::reduce_sum)
    return is_floating(dtype) ? Element{.real = 0} : Element{.whole = 0};
  if (is_floating(dtype)) return {.real = -HUGE_VAL};
  return visit_dtype(dtype, []<DType stored>() -> Element {
    if constexpr (std::is_integral_v<Stored<stored>>)
      return {.whole = int64_t(std::numeric_limits<Stored<stored>>::min())};
    return {.whole = 0};
  });
}

class Nest {
 public:
  Nest(const NestProgram& program, const NestCall& call, const NestPlaces& places, int lanes)
      : program_(program),
        call_(call),
        places_(places),
        lanes_(lanes),
        outer_(call.outer.size(), 0),
        registers_(program.body.size(), Elements(size_t(lanes))),
        joined_(size_t(lanes)) {}

  void run_all(const NestPart& part) {
    if (std::ranges::count(call_.outer, 0) > 0) return;
    do {
      if (!outer_.empty() && !part.outer.contains(outer_[0])) continue;
      if (program_.kind == NestKind::column_wise) {
        column_wise(part.rows, part.columns);
      } else {
        row_by_row(part.rows, part.columns);
      }
    } while (next_outer());
  }

 private:
  using Key = std::pair<int, int>;  // operand, part

  bool next_outer() {
    for (size_t axis = outer_.size(); axis-- > 0;) {
      if (++outer_[axis] < call_.outer[axis]) return true;
      outer_[axis] = 0;
    }
    return false;
  }
  /// How far the axes around the rows move what has these strides.
  int64_t along_outer(const std::vector<int64_t>& strides) const {
    int64_t sum = 0;
    for (size_t axis = 0; axis < outer_.size(); ++axis) sum += outer_[axis] * strides[axis];
    return sum;
  }

  void row_by_row(const Range& rows, const Range& columns) {
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      begin_sums();
      for (int64_t c = columns.begin; c < columns.end; c += lanes_)
        body(row, {c, std::min(c + lanes_, columns.end)});
      end_row(row);
    }
  }

  void column_wise(const Range& rows, const Range& columns) {
    for (int64_t c = columns.begin; c < columns.end; c += lanes_) {
      const Range vector{c, std::min(c + lanes_, columns.end)};
      begin_sums();
      for (int64_t row = rows.begin; row < rows.end; ++row) body(row, vector);
      end_columns(vector);
    }
  }

  // --- the body ---

  void body(int64_t row, const Range& columns) {
    const int64_t count = columns.end - columns.begin;
    for (size_t i = 0; i < program_.body.size(); ++i) {
      const NestInstruction& in = program_.body[i];
      switch (in.kind) {
        case NestOp::load:
          load(in, row, columns, registers_[i]);
          break;
        case NestOp::product:
          product(in, row, columns, registers_[i]);
          break;
        case NestOp::store:
          store(in, row, columns);
          break;
        case NestOp::reduce:
          reduce(in, count);
          break;
        case NestOp::scalar:
          run(in.op, in.dtype, {value(in.a), value(in.b), value(in.c)}, count, Precision::f32,
              registers_[i]);
          break;
      }
    }
  }

  ScalarElements value(int index) const {
    if (index < 0) return {};
    return elements_of(program_.body[size_t(index)].dtype, registers_[size_t(index)]);
  }

  /// Bytes to the element of an operand at a row, a part and a column; indices for an iota.
  int64_t distance(int index, int64_t row, int64_t part, int64_t column) const {
    const NestOperand& form = program_.operands[size_t(index)];
    const CallOperand& operand = call_.operands[size_t(index)];
    const bool neighbours = form.column == ColumnStep::contiguous && form.kind != OperandKind::iota;
    const int64_t step = form.column == ColumnStep::none ? 0
                         : neighbours                    ? size_of(form.dtype)
                                                         : operand.column;
    return along_outer(operand.outer) + (form.by_row ? row * operand.row : 0) +
           part * operand.part + column * step;
  }
  CheckedPlace place(int index, int64_t row, int64_t part, int64_t column) const {
    return places_.operands[size_t(index)].moved(distance(index, row, part, column));
  }

  void load(const NestInstruction& in, int64_t row, const Range& columns, Elements& to) {
    const NestOperand& form = program_.operands[size_t(in.operand)];
    const CallOperand& operand = call_.operands[size_t(in.operand)];
    for (int64_t c = columns.begin; c < columns.end; ++c) {
      Element& element = to[size_t(c - columns.begin)];
      if (form.kind == OperandKind::literal) {
        element = read_element(form.dtype, {const_cast<char*>(operand.literal.data()),
                                            int64_t(sizeof(operand.literal))});
      } else if (form.kind == OperandKind::iota) {
        element.whole = operand.base + distance(in.operand, row, in.part, c);
      } else {
        element = read_element(form.dtype, place(in.operand, row, in.part, c));
      }
    }
    const DType from = form.kind == OperandKind::iota ? DType::i64 : form.dtype;
    convert(from, in.dtype, columns.end - columns.begin, to);
  }

  void convert(DType from, DType to, int64_t count, Elements& elements) {
    if (from == to) return;
    const Elements before = elements;
    run(ScalarOp::cast, to, {elements_of(from, before)}, count, Precision::f32, elements);
  }

  void store(const NestInstruction& in, int64_t row, const Range& columns) {
    const NestOperand& form = program_.operands[size_t(in.operand)];
    joined_ = registers_[size_t(in.a)];
    convert(program_.body[size_t(in.a)].dtype, form.dtype, columns.end - columns.begin, joined_);
    for (int64_t c = columns.begin; c < columns.end; ++c)
      write_element(form.dtype, joined_[size_t(c - columns.begin)],
                    place(in.operand, row, in.part, c));
  }

  void product(const NestInstruction& in, int64_t row, const Range& columns, Elements& to) {
    const NestProduct& form = program_.products[size_t(in.operand)];
    const CallProduct& product = call_.products[size_t(in.operand)];
    const CheckedPlace left =
        places_.left[size_t(in.operand)].moved(along_outer(product.outer) + row * product.a_row);
    const CheckedPlace right =
        places_.right[size_t(in.operand)].moved(along_outer(product.right_outer));
    const int64_t count = columns.end - columns.begin;
    for (int64_t i = 0; i < count; ++i) to[size_t(i)].real = 0;
    for (int64_t k = 0; k < product.panels.k; ++k) {
      const double x = read_element(form.left, left.moved(k * product.a_k)).real;
      for (int64_t i = 0; i < count; ++i) {
        const int64_t column = columns.begin + i;
        const MatrixStrides& lies = product.b_strides;
        const int64_t offset = product.in_panels
                                   ? offset_in_panels(product.panels, k, in.part, column)
                                   : k * lies.k + column * lies.column + in.part * lies.part;
        to[size_t(i)].real += x * read_element(form.right, right.moved(offset)).real;
      }
    }
    evaluation::round_floats(form.sum, Precision::f32, &to[0].real, count);
    convert(form.sum, in.dtype, count, to);
  }

  // --- sums and maxima ---

  /// In a row all parts are one sum.
  Key key_of(const NestInstruction& in) const {
    return {in.operand, program_.kind == NestKind::column_wise ? in.part : 0};
  }
  ScalarOp joining(int operand) const {
    return program_.operands[size_t(operand)].kind == OperandKind::reduce_max ? ScalarOp::maximum
                                                                              : ScalarOp::add;
  }

  void begin_sums() {
    for (const NestInstruction& in : program_.body) {
      if (in.kind != NestOp::reduce) continue;
      const NestOperand& operand = program_.operands[size_t(in.operand)];
      sums_[key_of(in)].assign(size_t(lanes_), identity(operand.kind, operand.dtype));
    }
  }

  void reduce(const NestInstruction& in, int64_t count) {
    const DType dtype = program_.operands[size_t(in.operand)].dtype;
    Elements& sum = sums_.at(key_of(in));
    joined_ = sum;
    run(joining(in.operand), dtype, {elements_of(dtype, sum), value(in.a)}, count, Precision::f64,
        joined_);
    std::swap(sum, joined_);
  }

  void end_row(int64_t row) {
    for (auto& [key, sum] : sums_) {
      const auto& [operand, part] = key;
      const DType dtype = program_.operands[size_t(operand)].dtype;
      Elements all{sum[0]}, next{sum[0]};
      for (size_t lane = 1; lane < sum.size(); ++lane) {
        const Elements one{sum[lane]};
        run(joining(operand), dtype, {elements_of(dtype, all), elements_of(dtype, one)}, 1,
            Precision::f64, next);
        std::swap(all, next);
      }
      write_element(dtype, all[0], place(operand, row, 0, 0));
    }
  }

  void end_columns(const Range& columns) {
    for (const auto& [key, sum] : sums_) {
      for (int64_t c = columns.begin; c < columns.end; ++c)
        write_element(program_.operands[size_t(key.first)].dtype, sum[size_t(c - columns.begin)],
                      place(key.first, 0, key.second, c));
    }
  }

  const NestProgram& program_;
  const NestCall& call_;
  const NestPlaces& places_;
  const int64_t lanes_;
  std::vector<int64_t> outer_;       ///< index along the axes around the rows
  std::vector<Elements> registers_;  ///< of each instruction, a vector
  std::map<Key, Elements> sums_;
  Elements joined_;
};

}  // namespace

void interpret_nest(const NestProgram& program, const NestCall& call, const NestPlaces& places,
                    const NestPart& part, int lanes) {
  Nest(program, call, places, lanes).run_all(part);
}

int64_t offset_in_panels(const PanelForm& form, int64_t k, int64_t part, int64_t column) {
  const int64_t group = (k / form.k_group * form.parts + part) * form.width + column % form.width;
  return column / form.width * form.block_bytes() +
         (group * form.k_group + k % form.k_group) * size_of(form.dtype);
}

}  // namespace graphc::core::testing
