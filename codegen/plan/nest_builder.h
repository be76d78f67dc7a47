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

/// A number as it is stored: the first size_of(dtype) bytes.
std::array<char, 8> stored_bytes(DType dtype, double value);
std::array<char, 8> stored_bytes(DType dtype, int64_t value);

/// Strides in bytes of a view along the rows' axes, 0 where it repeats. `drop_column`: its last
/// axis is that of the columns.
std::vector<int64_t> lead_strides(const View& view, const Shape& lead, bool drop_column);

/// A nest and its call; the call's program is set when a plan takes them.
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

  /// What was built; the builder is used up.
  Nest take() { return {std::move(program), std::move(call)}; }

  /// Appends an instruction to the body; returns its index.
  int add(NestInstruction in);

  /// The operand for a view; made on first use. `row_kind` says along what its address moves,
  /// `unit` how many columns a part has.
  int operand(OperandKind kind, const View& view, RowKind row_kind, int64_t unit);

  /// The operand for a number; made on first use.
  int literal(DType dtype, double value);
  int literal(DType dtype, int64_t value);

  /// A new operand for an iota node.
  int iota(const Node& node, RowKind kind, int64_t unit);

 private:
  int literal(DType dtype, const std::array<char, 8>& bytes);
  int append(NestOperand spec, CallOperand argument, OperandKind kind, const View& view);

  const Shape lead_;
  std::vector<View> views_;  // of each operand
  /// Operands by what can be compared quickly: kind, buffer and offset.
  std::map<std::tuple<OperandKind, int, int64_t>, std::vector<int>> with_place_;
  std::map<std::pair<DType, std::array<char, 8>>, int> literals_;
};

/// The extents and strides of a call with axes joined where every operand lies one after another.
/// With `flatten` elementwise rows that lie one after another become one long row.
void join_axes(NestCall& call, const NestProgram& program, const Shape& lead, bool flatten);

}  // namespace graphc::core
