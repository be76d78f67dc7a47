// SPDX-License-Identifier: Apache-2.0
#include "models/forecast_columns.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "models/data/table_windows.h"

namespace graphc::core {
namespace {

constexpr std::array<std::string_view, 3> kParts{"train", "valid", "test"};

Error forecast_error(std::string what) { return Error(ErrorKind::usage, {}, "forecast: " + what); }

/// Throws ErrorKind::usage for a column that a parameter names twice, with any kinds.
void refuse_twice(std::string_view parameter, const std::vector<std::string>& columns) {
  std::vector<std::string> names;
  for (const std::string& column : columns) {
    const std::string name = name_and_kind(column).first;
    if (std::ranges::find(names, name) != names.end())
      throw forecast_error(fmt::format("{}={}: column '{}' is named twice", parameter,
                                       fmt::join(columns, ","), name));
    names.push_back(name);
  }
}

/// Throws ErrorKind::usage for a target that is also a feature of another kind: a column is read
/// once.
void refuse_other_kinds(const std::vector<std::string>& targets,
                        const std::vector<std::string>& columns) {
  for (const std::string& column : columns) {
    const auto [name, kind] = name_and_kind(column);
    if (kind == ColumnKind::number || std::ranges::find(targets, name) == targets.end()) continue;
    throw forecast_error(
        fmt::format("columns={}: '{}' is a target too, which is a number: wanted '{}'",
                    fmt::join(columns, ","), column, name));
  }
}

}  // namespace

std::vector<std::string> names_in(const std::string& given) {
  std::vector<std::string> names;
  for (size_t at = 0; !given.empty() && at <= given.size();) {
    const size_t end = std::min(given.find(',', at), given.size());
    names.push_back(given.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

TableFeatures features_of(const Parameters& parameters, const std::vector<std::string>& targets) {
  std::vector<std::string> columns = names_in(parameters.text("columns"));
  if (columns.empty()) columns = targets;
  const auto empty = [](const std::string& name) { return name.empty(); };
  if (targets.empty() || std::ranges::any_of(targets, empty) ||
      std::ranges::any_of(columns, empty)) {
    throw Error(ErrorKind::usage, {},
                "forecast: a column without a name: wanted target=NAME and columns=NAME,NAME");
  }
  for (const std::string& target : targets) {
    if (name_and_kind(target).second == ColumnKind::number) continue;
    throw Error(ErrorKind::usage, {},
                fmt::format("forecast: target={}: only numbers are forecast", target));
  }
  refuse_twice("target", targets);
  refuse_twice("columns", columns);
  refuse_other_kinds(targets, columns);
  return TableFeatures({.columns = std::move(columns),
                        .missing = missing_of(parameters.text("missing")),
                        .categories = parameters.integer("categories", 2)});
}

std::optional<Error> without_effect(const Parameters& parameters, const TableFeatures& features) {
  for (const char* name : {"embedding", "categories"}) {
    if (features.categorical() > 0 || !parameters.is_given(name)) continue;
    return forecast_error(
        fmt::format("{}={}: no column is a category: wanted columns=NAME:category", name,
                    parameters.text(name)));
  }
  return std::nullopt;
}

bool is_of_these_columns(const Notes& notes, const FeatureOptions& mine, const Reading& reading) {
  const auto note = notes.find(kTableNote);
  if (note == notes.end()) return false;
  const FeatureOptions before = TableFeatures::from_note(note->second).options();
  if (before.columns == mine.columns && before.missing == mine.missing &&
      before.categories == mine.categories)
    return true;
  reading.say(fmt::format("--init: its columns are {}: scaling and categories are those of {}",
                          fmt::join(before.columns, ","), fmt::join(mine.columns, ",")));
  return false;
}

std::vector<PartOfData> parts_of(const Tensor& x, const Tensor& y) {
  const int64_t rows = x.shape()[0];
  const int64_t borders[] = {0, TableWindows::rows_of_train(rows), rows * 9 / 10, rows};
  const auto of_rows = [](const Tensor& all, int64_t begin, int64_t end) {
    const int64_t width = all.shape()[1];
    return Literal(all.data<float>().subspan(size_t(begin * width), size_t((end - begin) * width)),
                   Shape{end - begin, width});
  };
  std::vector<PartOfData> parts;
  for (size_t i = 0; i < 3; ++i) {
    const int64_t begin = borders[i], end = borders[i + 1];
    parts.push_back({.name = kParts[i],
                     .elements = end - begin,
                     .unit = "rows",
                     .values = {of_rows(x, begin, end), of_rows(y, begin, end)}});
  }
  return parts;
}

}  // namespace graphc::core
