// SPDX-License-Identifier: Apache-2.0
// The computation of each primitive, one function per group of ops; evaluate.cpp sequences them.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "ir/evaluate_array.h"
#include "ir/scalar.h"

namespace graphc::core::evaluation {

using Arrays = std::vector<Array>;
using ArrayOperands = std::span<const Array>;

/// Elements of an array traversed in row-major order of `shape`, with one stride per axis (in
/// elements): a transposed, repeated or sliced view.
class StridedView {
 public:
  StridedView(const Array& array, const Shape& shape, std::span<const int64_t> strides);
  /// The array broadcast to `shape` by NumPy's rule.
  static StridedView broadcast(const Array& array, const Shape& shape);

  /// Copies elements start .. start + count - 1 of the traversal to `target`.
  void read(int64_t start, int64_t count, std::byte* target) const;

 private:
  const std::byte* source_;
  int rank_;
  std::array<int64_t, Shape::kMaxRank> extents_{}, strides_{};
};

/// Elements read by an instruction of a scalar program, stored as in an Array of `dtype`.
struct ScalarElements {
  DType dtype = DType::f32;
  const std::byte* values = nullptr;

  bool floating() const { return is_floating(dtype); }
  const double* floats() const { return reinterpret_cast<const double*>(values); }
  const int64_t* integers() const { return reinterpret_cast<const int64_t*>(values); }
};

/// The larger of two; NaN if either is.
inline double larger(double a, double b) { return a != a || b != b ? a + b : (a < b ? b : a); }

/// The meaning of every ScalarOp: applies `op`, which is not argument or constant, to `count`
/// elements of each operand. Writes elements of `dtype`, rounded or wrapped to it, to `result`,
/// which does not alias an operand.
void run_scalar(ScalarOp op, DType dtype, const std::array<ScalarElements, 3>& operands,
                int64_t count, Precision precision, std::byte* result);

/// An elementwise node, from its program and its operands; broadcasts to `type`.
Array elementwise(const ScalarCode& program, ArrayOperands operands, const Type& type,
                  Precision precision);

Array constant_of(const Node& node, Precision precision);
Array iota_of(const Node& node, Precision precision);
Array transpose_of(const Node& node, const Array& x);
Array broadcast_of(const Array& x, const Type& type);
/// Elements start <= i < start + extent along an axis.
Array slice_of(const Array& x, int axis, int64_t start, int64_t extent);
Array concat_of(ArrayOperands parts, int axis, const Type& type);

/// The operand padded with a number; the operand with axes reversed.
Array pad_of(const Node& node, const Array& x, Precision precision);
Array reverse_of(const Node& node, const Array& x);

Array product_of(const Node& node, const Array& x, Precision precision);
Array cumsum_of(const Node& node, const Array& x, Precision precision);
/// `sum` and `max`.
Array reduction_of(const Node& node, const Array& x, Precision precision);
Array size_of_axes(const Node& node, const Array& x, Precision precision);
Array matmul_of(const Node& node, const Array& a, const Array& b, Precision precision);
Array gather_of(const Node& node, const Array& table, const Array& indices);
Array scatter_add_of(const Node& node, const Array& base, const Array& indices, const Array& rows,
                     Precision precision);
Array scatter_of(const Node& node, const Array& base, const Array& indices, const Array& rows);
/// The distinct indices and the sums of their rows.
std::pair<Array, Array> merge_rows_of(const Node& node, const Array& indices, const Array& rows,
                                      Precision precision);
/// The results of `all_reduce` and `all_gather`; without `ranks` there is one rank.
Arrays collective_of(const Node& node, ArrayOperands operands, Precision precision,
                     RankExchange* ranks);
/// The labels, checked to be classes.
Array check_labels_of(const Node& node, const Array& labels);

}  // namespace graphc::core::evaluation
