// SPDX-License-Identifier: Apache-2.0
// The columns of a table as tensors, and the treatment of missing cells.
#include "frontend/table.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "frontend/table_rows.h"
#include "ir/error.h"
#include "ir/spelling.h"

namespace graphc::core {
namespace {

constexpr std::array<std::string_view, 5> kMissingWords{"refuse", "mean", "previous", "drop",
                                                        "mask"};

/// Throws if the values are so far from 0 that f32 cannot tell them apart.
void check_f32(const TableColumn& column, const std::string& file) {
  constexpr double kMostRounding = 1e-3;  // relative to the standard deviation
  double count = 0, sum = 0, squares = 0, rounding = 0, first = 0;
  for (const double value : column.values) {
    if (std::isnan(value)) continue;
    if (count == 0) first = value;
    const double difference = value - first;
    ++count;
    sum += difference;
    squares += difference * difference;
    rounding = std::max(rounding, std::abs(value - double(float(value))));
  }
  if (count == 0) return;
  const double mean = sum / count;
  const double deviation = std::sqrt(std::max(0.0, squares / count - mean * mean));
  if (rounding <= kMostRounding * deviation || deviation == 0) return;
  throw input_error({},
                    "{}: column '{}': f32 rounds its numbers by up to {:.3g}, and their standard "
                    "deviation is {:.3g}: wanted them without an offset as large as {:.3g}",
                    file, column.name, rounding, deviation, first);
}

}  // namespace

Missing missing_of(std::string_view word) {
  const auto found = std::ranges::find(kMissingWords, word);
  if (found != kMissingWords.end()) return Missing(found - kMissingWords.begin());
  throw Error(
      ErrorKind::usage, {},
      fmt::format("missing is one of {}: found '{}'", fmt::join(kMissingWords, ", "), word));
}

std::string_view name_of(Missing missing) { return kMissingWords[size_t(missing)]; }

const TableColumn& Table::operator[](std::string_view name) const {
  const auto found = std::ranges::find(columns, name, &TableColumn::name);
  if (found != columns.end()) {
    if (std::find_if(found + 1, columns.end(), [&](const TableColumn& column) {
          return column.name == name;
        }) == columns.end())
      return *found;
    throw input_error({},
                      "{}: two columns are called '{}': wanted names that differ, or a place "
                      "in `columns`",
                      file, name);
  }
  std::vector<std::string> names;
  for (const TableColumn& column : columns) names.push_back(column.name);
  const std::string near = did_you_mean(name, names);
  throw input_error({}, "{}: no column '{}' was read{}", file, name,
                    near.empty() ? fmt::format(": there are {}", fmt::join(names, ", ")) : near);
}

std::vector<const TableColumn*> Table::chosen(const std::vector<std::string>& names) const {
  std::vector<const TableColumn*> result;
  for (const std::string& name : names) result.push_back(&(*this)[name]);
  if (!names.empty()) return result;
  for (const TableColumn& column : columns) result.push_back(&column);
  return result;
}

Tensor Table::f32(const std::vector<std::string>& names) const {
  const std::vector<const TableColumn*> wanted = chosen(names);
  for (const TableColumn* column : wanted) {
    if (!names.empty() || column->kind == ColumnKind::number) continue;
    throw input_error({},
                      "{}: column '{}' is one of {}: wanted numbers alone, or the names of the "
                      "columns, f32({{\"{}\"}})",
                      file, column->name, column->kind == ColumnKind::date ? "dates" : "categories",
                      column->name);
  }
  Tensor result(Type{DType::f32, {rows(), int64_t(wanted.size())}});
  const std::span<float> to = result.mutable_data<float>();
  for (size_t i = 0; i < wanted.size(); ++i) {
    check_f32(*wanted[i], file);
    for (size_t row = 0; row < wanted[i]->values.size(); ++row)
      to[row * wanted.size() + i] = float(wanted[i]->values[row]);
  }
  return result;
}

Tensor Table::known(const std::vector<std::string>& names) const {
  const std::vector<const TableColumn*> wanted = chosen(names);
  Tensor result(Type{DType::f32, {rows(), int64_t(wanted.size())}});
  const std::span<float> to = result.mutable_data<float>();
  for (size_t i = 0; i < wanted.size(); ++i) {
    for (size_t row = 0; row < wanted[i]->values.size(); ++row)
      to[row * wanted.size() + i] = std::isnan(wanted[i]->values[row]) ? 0 : 1;
  }
  return result;
}

void TableRows::begin(size_t columns) {
  table_.columns.resize(columns);
  gaps_.resize(columns);
}

void TableRows::add(std::vector<double> values) {
  ++read_;
  bool complete = true;
  for (size_t i = 0; i < values.size(); ++i) {
    gaps_[i] += std::isnan(values[i]);
    complete &= !std::isnan(values[i]);
  }
  if (!complete && missing_ == Missing::drop) return;
  for (size_t i = 0; i < values.size(); ++i) table_.columns[i].values.push_back(values[i]);
}

Table TableRows::end(std::vector<std::string> remarks) {
  table_.file = file_;
  table_.remarks = std::move(remarks);
  for (size_t i = 0; i < gaps_.size(); ++i) {
    if (gaps_[i] == 0) continue;
    table_.remarks.push_back(fmt::format("{}: column '{}': {} of {} cells are missing", file_,
                                         table_.columns[i].name, gaps_[i], read_));
    fill(table_.columns[i]);
  }
  if (table_.rows() > 0 || table_.columns.empty()) return std::move(table_);
  throw input_error({}, "{}: it has no row{}", file_, read_ > 0 ? " without a missing cell" : "");
}

void TableRows::fill(TableColumn& column) const {
  if (missing_ != Missing::mean && missing_ != Missing::previous) return;
  const auto first =
      std::ranges::find_if(column.values, [](double value) { return !std::isnan(value); });
  if (first == column.values.end())
    throw input_error({}, "{}: column '{}' has no value to fill it with", file_, column.name);
  if (missing_ == Missing::mean && column.kind != ColumnKind::number) {
    throw input_error({},
                      "{}: column '{}': a {} has no mean: wanted Missing::previous, drop or mask",
                      file_, column.name, column.kind == ColumnKind::date ? "date" : "category");
  }
  double filling = *first;
  if (missing_ == Missing::mean) {
    double sum = 0, count = 0;
    for (const double value : column.values) {
      if (std::isnan(value)) continue;
      sum += value;
      ++count;
    }
    filling = sum / count;
  }
  for (double& value : column.values) {
    if (std::isnan(value)) {
      value = filling;
    } else if (missing_ == Missing::previous) {
      filling = value;
    }
  }
}

}  // namespace graphc::core
