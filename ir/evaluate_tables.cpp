// SPDX-License-Identifier: Apache-2.0
// Table ops of the evaluator: gather, scatter and sums by index.
#include <cstring>
#include <map>

#include "ir/evaluate.h"
#include "ir/evaluate_ops.h"
#include "ir/op.h"

namespace graphc::core::evaluation {
namespace {

/// Throws unless every index is a row of the table; `lowest` is 0, or -1 where -1 means no row.
void check_indices(const Node& node, const Array& indices, const Array& table, int64_t lowest = 0) {
  const int64_t rows = table.shape()[0];
  for (int64_t i = 0; i < indices.elements(); ++i) {
    const int64_t index = indices.integers()[i];
    if (index >= lowest && index < rows) continue;
    throw input_error(node.where, "{}: index {} (element {} of {}) is outside the {} rows of {}",
                      node.op.name, index, i, to_string(indices.type()), rows,
                      to_string(table.type()));
  }
}

int64_t row_elements(const Array& table) { return table.shape().with(0, 1).elements(); }

/// Adds row `source` of `rows` to row `target` of `sums`, without rounding.
void add_row(const Array& rows, int64_t source, Array& sums, int64_t target, int64_t width) {
  for (int64_t j = 0; j < width; ++j) {
    if (sums.floating()) {
      sums.floats()[target * width + j] += rows.floats()[source * width + j];
    } else {
      int64_t& sum = sums.integers()[target * width + j];
      sum = int64_t(uint64_t(sum) + uint64_t(rows.integers()[source * width + j]));
    }
  }
}

void round(Array& sums, Precision precision) {
  if (sums.floating()) {
    round_floats(sums.dtype(), precision, sums.floats(), sums.elements());
  } else {
    wrap_integers(sums.dtype(), sums.integers(), sums.elements());
  }
}

}  // namespace

Array gather_of(const Node& node, const Array& table, const Array& indices) {
  check_indices(node, indices, table);
  Array result(node.types[0]);
  const int64_t bytes = row_elements(table) * kElementBytes;
  for (int64_t i = 0; i < indices.elements(); ++i) {
    std::memcpy(result.bytes() + i * bytes, table.bytes() + indices.integers()[i] * bytes,
                size_t(bytes));
  }
  return result;
}

Array scatter_add_of(const Node& node, const Array& base, const Array& indices, const Array& rows,
                     Precision precision) {
  check_indices(node, indices, base);
  Array result(node.types[0]);
  std::memcpy(result.bytes(), base.bytes(), size_t(base.elements() * kElementBytes));
  for (int64_t i = 0; i < indices.elements(); ++i)
    add_row(rows, i, result, indices.integers()[i], row_elements(base));
  round(result, precision);
  return result;
}

Array scatter_of(const Node& node, const Array& base, const Array& indices, const Array& rows) {
  check_indices(node, indices, base, -1);
  Array result(node.types[0]);
  std::memcpy(result.bytes(), base.bytes(), size_t(base.elements() * kElementBytes));
  const int64_t bytes = row_elements(base) * kElementBytes;
  for (int64_t i = 0; i < indices.elements(); ++i) {
    if (indices.integers()[i] < 0) continue;
    std::memcpy(result.bytes() + indices.integers()[i] * bytes, rows.bytes() + i * bytes,
                size_t(bytes));
  }
  return result;
}

std::pair<Array, Array> merge_rows_of(const Node& node, const Array& indices, const Array& rows,
                                      Precision precision) {
  std::map<int64_t, int64_t> places;
  for (int64_t i = 0; i < indices.elements(); ++i) {
    const int64_t index = indices.integers()[i];
    if (index < 0) {
      throw input_error(node.where, "merge_rows: index {} (element {} of {}) is negative", index, i,
                        to_string(indices.type()));
    }
    places[index] = 0;
  }
  Array distinct(node.types[0]), sums(node.types[1]);
  for (int64_t i = 0; i < distinct.elements(); ++i) distinct.integers()[i] = -1;
  int64_t count = 0;
  for (auto& [index, place] : places) {
    place = count;
    distinct.integers()[count++] = index;
  }
  std::memset(sums.bytes(), 0, size_t(sums.elements() * kElementBytes));
  for (int64_t i = 0; i < indices.elements(); ++i)
    add_row(rows, i, sums, places.at(indices.integers()[i]), row_elements(sums));
  round(sums, precision);
  return {std::move(distinct), std::move(sums)};
}

Array check_labels_of(const Node& node, const Array& labels) {
  const int64_t classes = node.attributes.get_int("classes", 0);
  for (int64_t i = 0; i < labels.elements(); ++i) {
    const int64_t label = labels.integers()[i];
    if (label < 0 || label >= classes) throw label_error(node.where, label, i, classes);
  }
  return labels.view(node.types[0]);
}

}  // namespace graphc::core::evaluation

namespace graphc::core {

Error label_error(Where where, int64_t label, int64_t row, int64_t classes) {
  return input_error(where, "label {} of row {} is none of the {} classes: wanted 0 to {}", label,
                     row, classes, classes - 1);
}

}  // namespace graphc::core
