// SPDX-License-Identifier: Apache-2.0
// Builds nests: the program and the call of each, operand by operand.
#pragma once

#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "codegen/step/plan.h"
#include "passes/kernels/row_model.h"

namespace graphc::core {

/// A number in its stored form: the first size_of(dtype) bytes.
std::array<char, 8> stored_bytes(DType dtype, double value);
std::array<char, 8> stored_bytes(DType dtype, int64_t value);

/// Strides in bytes of a view along the rows' axes, 0 where it repeats. `drop_column`: its last
/// axis is the column axis.
std::vector<int64_t> lead_strides(const View& view, const Shape& lead, bool drop_column);

/// A nest and its call. The call's program index is set when the nest is added to a plan.
struct Nest {
  NestProgram program;
  NestCall call;
};

/// Builds the program and the call of one nest over rows of shape `lead`. Units are columns.
class NestBuilder {
 public:
  explicit NestBuilder(const Shape& lead) : lead_(lead) {}

  NestProgram program;
  NestCall call;  ///< with strides along all axes of `lead`, until join_axes()

  /// The finished nest; the builder must not be used afterwards.
  Nest take() { return {std::move(program), std::move(call)}; }

  /// Appends an instruction to the body; returns its index.
  int add(NestInstruction in);

  /// The operand for a view, created on first use. `row_kind` says along which axes its address
  /// moves, `unit` is the number of columns of a part.
  int operand(OperandKind kind, const View& view, RowKind row_kind, int64_t unit);

  /// The operand for a number, created on first use.
  int literal(DType dtype, double value);
  int literal(DType dtype, int64_t value);

  /// A new operand for an iota node.
  int iota(const Node& node, RowKind kind, int64_t unit);

 private:
  int literal(DType dtype, const std::array<char, 8>& bytes);
  int append(NestOperand spec, CallOperand argument, OperandKind kind, const View& view);

  const Shape lead_;
  std::vector<View> views_;  // of each operand
  /// Operands by a key that is cheap to compare: kind, buffer and offset.
  std::map<std::tuple<OperandKind, int, int64_t>, std::vector<int>> with_place_;
  std::map<std::pair<DType, std::array<char, 8>>, int> literals_;
};

/// Sets the extents and strides of a call, with neighbouring axes joined where every operand is
/// contiguous across them. With `flatten`, elementwise rows that are contiguous become one long
/// row. The first `row_axes` axes are not joined with those after them.
void join_axes(NestCall& call, NestProgram& program, const Shape& lead, bool flatten,
               int row_axes = 0);

}  // namespace graphc::core
