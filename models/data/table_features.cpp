// SPDX-License-Identifier: Apache-2.0
#include "models/data/table_features.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "ir/error.h"
#include "models/data/unknown.h"

namespace graphc::core {
namespace {

constexpr int64_t kDateFeatures = 6;
constexpr double kDay = 86400;

size_t filled(const Missing missing) { return missing == Missing::mask ? 2 : 1; }

}  // namespace

std::pair<std::string, ColumnKind> name_and_kind(const std::string& column) {
  const size_t colon = column.rfind(':');
  const std::string kind = colon == column.npos ? "" : column.substr(colon + 1);
  if (kind == "category") return {column.substr(0, colon), ColumnKind::category};
  if (kind == "date" || kind == "date-dmy" || kind == "date-mdy")
    return {column.substr(0, colon), ColumnKind::date};
  return {kind == "number" ? column.substr(0, colon) : column, ColumnKind::number};
}

TableOptions table_options(const Reading& reading, Missing missing, OptionWords words) {
  // Fill values are known only once the training rows are.
  const bool kept = missing != Missing::refuse && missing != Missing::drop;
  return {.encoding = reading.encoding,
          .decimal = reading.decimal,
          .names = reading.names,
          .missing = kept ? Missing::mask : missing,
          .words = words};
}

TableFeatures::TableFeatures(FeatureOptions options) : options_(std::move(options)) {
  for (const std::string& column : options_.columns) {
    const auto [name, kind] = name_and_kind(column);
    if (name.empty())
      throw Error(ErrorKind::usage, {},
                  "a column without a name: wanted NAME, NAME:date or NAME:category");
    if (kind == ColumnKind::category) {
      ++categorical_;
    } else if (kind == ColumnKind::date) {
      is_number_.insert(is_number_.end(), kDateFeatures, false);
    } else {
      is_number_.push_back(true);
      if (options_.missing == Missing::mask) is_number_.push_back(false);
    }
  }
  plain_ = int64_t(is_number_.size());
}

std::string TableFeatures::note() const {
  return nlohmann::ordered_json{{"columns", options_.columns},
                                {"missing", name_of(options_.missing)},
                                {"most_categories", options_.categories},
                                {"means", means_},
                                {"categories", categories_}}
      .dump();
}

TableFeatures TableFeatures::from_note(const std::string& note) {
  try {
    const auto json = nlohmann::json::parse(note);
    TableFeatures features({.columns = json.at("columns"),
                            .missing = missing_of(json.at("missing").get<std::string>()),
                            .categories = json.at("most_categories")});
    features.means_ = json.at("means").get<std::map<std::string, double>>();
    features.categories_ =
        json.at("categories").get<std::map<std::string, std::vector<std::string>>>();
    return features;
  } catch (const nlohmann::json::exception& error) {
    throw input_error({}, "a note on a table is not what `graphc train` writes: {}", error.what());
  }
}

void TableFeatures::fit(const Table& table, int64_t rows) {
  for (const TableColumn& column : table.columns) {
    const auto end = column.values.begin() + std::min<long>(rows, long(column.values.size()));
    if (column.kind == ColumnKind::number) {
      double sum = 0, count = 0;
      for (auto value = column.values.begin(); value != end; ++value) {
        if (std::isnan(*value)) continue;
        sum += *value;
        ++count;
      }
      if (count == 0)
        throw input_error({}, "{}: column '{}' has no value in the rows to train on", table.file,
                          column.name);
      means_[column.name] = sum / count;
    } else if (column.kind == ColumnKind::category) {
      std::vector<std::pair<int64_t, size_t>> order;
      for (size_t i = 0; i < column.categories.size(); ++i)
        order.emplace_back(std::count(column.values.begin(), end, double(i)), i);
      std::ranges::stable_sort(order, std::greater(), &std::pair<int64_t, size_t>::first);
      std::vector<std::string>& kept = categories_[column.name];
      fitted_[column.name] =
          std::ranges::count_if(order, [](const auto& each) { return each.first > 0; });
      for (const auto& [count, i] : order) {
        if (count > 0 && int64_t(kept.size()) + 1 < options_.categories)
          kept.push_back(column.categories[i]);
      }
    }
  }
}

Tensor TableFeatures::operator()(const Table& table) const {
  Tensor result(Type{DType::f32, {table.rows(), width()}});
  const std::span<float> to = result.mutable_data<float>();
  size_t plain = 0, categorical = size_t(plain_);
  for (const std::string& text : options_.columns) {
    const auto [name, kind] = name_and_kind(text);
    const TableColumn& column = table[name];
    if (kind == ColumnKind::category) {
      add_category(column, to, categorical++);
    } else if (kind == ColumnKind::date) {
      add_date(column, to, plain);
      plain += kDateFeatures;
    } else {
      (void)table.f32({name});  // throws if f32 cannot distinguish the values
      add_number(column, to, plain);
      plain += filled(options_.missing);
    }
  }
  return result;
}

void TableFeatures::add_number(const TableColumn& column, std::span<float> to, size_t at) const {
  const auto stride = size_t(width());
  const bool by_mean = options_.missing == Missing::mean || options_.missing == Missing::mask;
  double filling = std::nan("");
  if (const auto mean = means_.find(column.name); by_mean && mean != means_.end())
    filling = mean->second;
  if (options_.missing == Missing::previous) {
    const auto first =
        std::ranges::find_if(column.values, [](double value) { return !std::isnan(value); });
    if (first != column.values.end()) filling = *first;
  }
  for (size_t row = 0; row < column.values.size(); ++row) {
    const double value = column.values[row];
    const bool known = !std::isnan(value);
    if (!known && std::isnan(filling))
      throw input_error({}, "column '{}' has nothing to fill a missing value with", column.name);
    to[row * stride + at] = float(known ? value : filling);
    if (options_.missing == Missing::mask) to[row * stride + at + 1] = known ? 1 : 0;
    if (options_.missing == Missing::previous && known) filling = value;
  }
}

void TableFeatures::add_date(const TableColumn& column, std::span<float> to, size_t at) const {
  const auto stride = size_t(width());
  double before = std::nan("");
  for (size_t row = 0; row < column.values.size(); ++row) {
    double seconds = column.values[row];
    if (std::isnan(seconds)) seconds = before;
    if (std::isnan(seconds))
      throw input_error({}, "column '{}' begins without a date: wanted one to go on from",
                        column.name);
    before = seconds;
    // 1970-01-01 was a Thursday; a year is the mean one of the Gregorian calendar.
    const double turns[] = {seconds / kDay, (seconds / kDay + 3) / 7, seconds / kDay / 365.2425};
    for (size_t i = 0; i < 3; ++i) {
      const double angle = 2 * std::numbers::pi * (turns[i] - std::floor(turns[i]));
      to[row * stride + at + 2 * i] = float(std::sin(angle));
      to[row * stride + at + 2 * i + 1] = float(std::cos(angle));
    }
  }
}

void TableFeatures::add_category(const TableColumn& column, std::span<float> to, size_t at) const {
  const auto found = categories_.find(column.name);
  if (found == categories_.end())
    throw input_error({}, "column '{}': no categories: wanted a checkpoint that has them",
                      column.name);
  const std::vector<std::string>& known = found->second;
  const auto others = float(options_.categories - 1);
  std::vector<float> ids;
  for (const std::string& category : column.categories) {
    const auto place = std::ranges::find(known, category);
    ids.push_back(place == known.end() ? others : float(place - known.begin()));
  }
  for (size_t row = 0; row < column.values.size(); ++row) {
    const double value = column.values[row];
    to[row * size_t(width()) + at] = std::isnan(value) ? others : ids[size_t(value)];
  }
}

std::vector<std::string> TableFeatures::remarks(const Table& table) const {
  std::vector<std::string> lines;
  for (const std::string& text : options_.columns) {
    const auto [name, kind] = name_and_kind(text);
    const auto found = categories_.find(name);
    if (kind != ColumnKind::category || found == categories_.end()) continue;
    const TableColumn& column = table[name];
    Unknown unknown;
    for (const double value : column.values) {
      if (std::isnan(value)) continue;
      ++unknown.all;
      const std::string& category = column.categories[size_t(value)];
      if (std::ranges::find(found->second, category) == found->second.end())
        ++unknown.counts[category];
    }
    if (unknown.counts.empty()) continue;
    const auto fitted = fitted_.find(name);
    const bool limited = fitted != fitted_.end() && fitted->second > int64_t(found->second.size());
    lines.push_back(
        fmt::format("{}: column '{}': {}: they count as one category{}", table.file, name,
                    unknown.to_text("cells"),
                    limited ? fmt::format("; categories={} has all {} of the rows to train on",
                                          fitted->second + 1, fitted->second)
                            : ""));
  }
  return lines;
}

}  // namespace graphc::core
