// SPDX-License-Identifier: Apache-2.0
// Op: the definition of an operation. One constant record per op; everything else is derived from
// it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/scalar.h"

namespace graphc::core {

/// Operand types and attributes for generated tests: conformance, gradients, round trips, docs.
/// Integer operands used as indices are drawn from [0, index_limit).
struct Sample {
  std::vector<Type> operands;
  Attributes attributes;
  int64_t index_limit = 1;
};
using Samples = std::vector<Sample>;

/// The record of an op. All fields are literal types: records are `constinit`, and there is no
/// registration at run time.
struct Op {
  std::string_view name;  ///< a C++ identifier; the name in text
  std::string_view doc;   ///< one sentence: what it computes, shapes, attributes

  /// The result types for these operands, attributes and regions; throws ErrorKind::input naming
  /// what does not fit.
  std::vector<Type> (*infer)(const Node& node) = nullptr;

  /// Elementwise meaning: the result at one element, given the operands there (after broadcasting).
  /// Used by the evaluator and by LLVM and CUDA code generation. Null for ops that are not
  /// elementwise.
  Scalar (*scalar)(const Node& node, std::span<const Scalar> operands) = nullptr;

  /// The meaning of a composite in our own text: a graph whose parameters are the operands; `$name`
  /// stands for an attribute. Empty for primitives.
  std::string_view body = {};

  /// Vector-Jacobian product: from the cotangents of the results (or absent values) to the
  /// cotangents of the operands (absent: none). `node` and `dy` are values of one graph under
  /// construction, to which it adds its nodes. A cotangent may have the broadcast shape; the caller
  /// sums it to the operand's. Null: differentiate the body, or the op has no derivative.
  Values (*vjp)(const Node& node, std::span<const Value> dy) = nullptr;

  /// A composite that computes the cotangents of all operands from the operands, the first result
  /// and the cotangents of all results. Only used where a library implements both ops
  /// (passes/library_layers.h). Null: there is none.
  const Op* gradients = nullptr;

  Samples (*samples)() = nullptr;
};

/// All ops, in the order of ops.def.
std::span<const Op* const> all_ops();
/// The op called `name`, or null.
const Op* find_op(std::string_view name);
/// The name of the op closest to `name` in edit distance, or empty: for "did you mean".
std::string_view nearest_op(std::string_view name);

inline bool is_elementwise(const Op& op) { return op.scalar != nullptr; }
inline bool is_composite(const Op& op) { return !op.body.empty(); }

namespace ops {
#define GRAPHC_OP(name) extern const Op name;
#include "ir/ops.def"
#undef GRAPHC_OP
}  // namespace ops

/// Whether ranks exchange values: all of them do it, in one order.
inline bool is_collective(const Op& op) {
  return &op == &ops::all_reduce || &op == &ops::all_gather;
}

}  // namespace graphc::core
