// SPDX-License-Identifier: Apache-2.0
#include "codegen/step/run_table.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "ir/error.h"
#include "ir/evaluate.h"
#include "ir/mutant.h"

namespace graphc::core {
namespace {

int64_t index_at(const char* indices, DType dtype, int64_t i) {
  switch (dtype) {
    case DType::i64:
      return reinterpret_cast<const int64_t*>(indices)[i];
    case DType::u32:
      return reinterpret_cast<const uint32_t*>(indices)[i];
    case DType::u8:
      return reinterpret_cast<const uint8_t*>(indices)[i];
    default:
      return reinterpret_cast<const int32_t*>(indices)[i];
  }
}

template <typename T>
void add(const char* from, char* to, int64_t bytes) {
  const T* x = reinterpret_cast<const T*>(from);
  T* sum = reinterpret_cast<T*>(to);
  for (int64_t j = 0; j < bytes / int64_t(sizeof(T)); ++j) sum[j] = T(sum[j] + x[j]);
}

void add_row(DType dtype, const char* from, char* to, int64_t bytes) {
  switch (dtype) {
    case DType::f32:
      return add<float>(from, to, bytes);
    case DType::f64:
      return add<double>(from, to, bytes);
    case DType::u8:
      return add<uint8_t>(from, to, bytes);
    case DType::i64:
      return add<uint64_t>(from, to, bytes);
    case DType::i32:
    case DType::u32:
      return add<uint32_t>(from, to, bytes);
    case DType::boolean:  // anything but 0 is true
      for (int64_t j = 0; j < bytes; ++j) to[j] = char(to[j] | from[j]);
      return;
    case DType::bf16:
      break;
  }
  GRAPHC_CHECK(false, "rows of {} are added", name_of(dtype));
}

/// One call's share: indices are read by all threads, rows belong to one.
class Rows {
 public:
  Rows(const TableCall& call, const TablePlaces& places, const Range& own)
      : call_(call), places_(places), own_(own) {}

  void gather() const {
    for (int64_t i = own_.begin; i < own_.end; ++i)
      std::memcpy(row(i), table_row(index(i, 0)), size_t(call_.row_bytes));
  }

  void check_labels() const {
    for (int64_t i = own_.begin; i < own_.end; ++i) {
      index(i, 0);
      std::memcpy(row(i), places_.indices + i * call_.row_bytes, size_t(call_.row_bytes));
    }
  }

  /// Each thread owns rows of the table and goes through all indices in order. The table may be a
  /// state in its place: every index is looked at before a row is written.
  void scatter(bool sums) const {
    for (int64_t i = 0; i < call_.count; ++i) index(i, sums ? 0 : -1);
    const bool own_order = sums && mutated(Mutant::sum_order_by_thread);
    const int64_t first =
        own_order ? own_.begin * call_.count / std::max<int64_t>(call_.table_rows, 1) : 0;
    for (int64_t k = 0; k < call_.count; ++k) {
      const int64_t i = (first + k) % call_.count;
      const int64_t target = index(i, sums ? 0 : -1);
      if (!own_.contains(target)) continue;
      if (sums && !mutated(Mutant::duplicate_rows_lost)) {
        add_row(call_.dtype, row(i), table_row(target), call_.row_bytes);
      } else {
        std::memcpy(table_row(target), row(i), size_t(call_.row_bytes));
      }
    }
  }

  /// Every thread sorts the indices, and sums the rows of its own of the distinct ones.
  void merge() const {
    std::vector<std::pair<int64_t, int64_t>> order;  // index, position
    for (int64_t i = 0; i < call_.count; ++i) {
      order.emplace_back(index_at(places_.indices, call_.index_dtype, i), i);
      if (order.back().first < 0) throw index_error(call_, order.back().first, i);
    }
    std::ranges::sort(order);
    if (mutated(Mutant::merged_rows_descend)) std::ranges::reverse(order);
    int64_t place = 0;
    for (size_t i = 0; i < order.size(); ++place) {
      const int64_t value = order[i].first;
      const size_t first = i;
      for (; i < order.size() && order[i].first == value; ++i) {
        if (!own_.contains(place)) continue;
        if (i == first) {
          std::memcpy(table_row(place), row(order[i].second), size_t(call_.row_bytes));
        } else {
          add_row(call_.dtype, row(order[i].second), table_row(place), call_.row_bytes);
        }
      }
      if (own_.contains(place)) set_distinct(place, value);
    }
    for (place = std::max(place, own_.begin); place < own_.end; ++place) {
      std::memset(table_row(place), 0, size_t(call_.row_bytes));
      set_distinct(place, -1);
    }
  }

 private:
  char* row(int64_t i) const { return places_.rows + i * call_.row_bytes; }
  char* table_row(int64_t i) const { return places_.table + i * call_.row_bytes; }

  int64_t index(int64_t i, int64_t lowest) const {
    const int64_t row = index_at(places_.indices, call_.index_dtype, i);
    if (row >= lowest && row < call_.table_rows) return row;
    throw index_error(call_, row, i);
  }

  void set_distinct(int64_t place, int64_t value) const {
    if (call_.distinct_dtype == DType::i64) {
      reinterpret_cast<int64_t*>(places_.distinct)[place] = value;
    } else {
      reinterpret_cast<int32_t*>(places_.distinct)[place] = int32_t(value);
    }
  }

  const TableCall& call_;
  const TablePlaces& places_;
  const Range own_;
};

}  // namespace

Error index_error(const TableCall& call, int64_t index, int64_t position) {
  if (call.op == TableOp::merge_rows)
    return input_error(call.where, "merge_rows: index {} at position {} is negative", index,
                       position);
  if (call.op == TableOp::check_labels)
    return label_error(call.where, index, position, call.table_rows);
  return input_error(call.where, "{}: index {} at position {} is outside a table of {} rows",
                     name_of(call.op), index, position, call.table_rows);
}

void run_table(const TableCall& call, const TablePlaces& places, const Range& own) {
  const Rows rows(call, places, own);
  switch (call.op) {
    case TableOp::gather:
      return rows.gather();
    case TableOp::scatter:
      return rows.scatter(false);
    case TableOp::scatter_add:
      return rows.scatter(true);
    case TableOp::merge_rows:
      return rows.merge();
    case TableOp::check_labels:
      return rows.check_labels();
  }
}

}  // namespace graphc::core
