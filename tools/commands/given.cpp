// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/given.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <optional>

#include "frontend/data.h"
#include "frontend/table.h"
#include "ir/numeral.h"
#include "ir/spelling.h"
#include "models/data/table_features.h"
#include "runtime/files/files.h"
#include "runtime/files/npy.h"
#include "tools/commands/commands.h"

namespace graphc::core::commands {

bool is_table(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending == ".csv" || ending == ".tsv" || ending == ".txt";
}

namespace {

/// A literal with every element equal to the given number.
Literal read_number(const std::string& name, const std::string& text, const Type& type) {
  const char* end = text.data() + text.size();
  if (type.dtype == DType::i64) {  // an f64 would round it
    int64_t whole = 0;
    if (const auto [rest, error] = std::from_chars(text.data(), end, whole);
        error == std::errc() && rest == end) {
      Literal value(type);
      std::ranges::fill(value.mutable_data<int64_t>(), whole);
      return value;
    }
  }
  double number = 0;
  if (const auto [rest, error] = std::from_chars(text.data(), end, number);
      error != std::errc() || rest != end)
    throw usage_error("--input: '{}' is @file.npy or a number: found '{}'", name, text);
  if (!holds(type.dtype, number)) {
    throw usage_error("--input: '{}' is {}: found '{}', which is no {}", name, to_string(type),
                      text, name_of(type.dtype));
  }
  return Literal::filled(type, number);
}

/// Windows over the table's last rows, [steps, batch, width].
Literal windows_value(const std::string& path, const std::string& name, const Type& type,
                      const Tensor& features) {
  const int64_t rows = features.shape()[0], width = features.shape()[1];
  const Shape& shape = type.shape;
  if (shape.rank() != 3 || shape[2] != width) {
    throw input_error({}, "{}: '{}' is {}: the model's note on tables makes {} features of a row",
                      path, name, to_string(type), width);
  }
  const int64_t steps = shape[0], batch = shape[1];
  if (rows < steps + batch - 1) {
    throw input_error({}, "{}: {} rows: wanted at least {}, for {} of {} rows", path, rows,
                      steps + batch - 1, batch == 1 ? "a window" : "windows", steps);
  }
  Literal value(Type{DType::f32, shape});
  float* to = value.mutable_data<float>().data();
  for (int64_t step = 0; step < steps; ++step) {
    for (int64_t row = 0; row < batch; ++row) {
      const int64_t from = rows - steps - batch + 1 + row + step;
      to = std::copy_n(features.data<float>().begin() + from * width, width, to);
    }
  }
  return value.converted(type.dtype);
}

/// The extents other than 1.
std::vector<int64_t> long_extents(const Shape& shape) {
  std::vector<int64_t> extents(shape.begin(), shape.end());
  std::erase(extents, 1);
  return extents;
}

Literal read_table_value(const std::string& name, const std::string& path, const Type& type,
                         const TableInput& how) {
  std::optional<TableFeatures> features;
  if (!how.note.empty()) features = TableFeatures::from_note(how.note);
  std::vector<std::string> columns;
  if (features) columns = features->options().columns;
  const Missing missing = features ? features->options().missing : Missing::refuse;
  const Table table =
      read_table(path, columns, table_options(how.reading, missing, OptionWords::trained_command));
  for (const std::string& remark : table.remarks) how.reading.say(remark);
  if (features) {
    for (const std::string& remark : features->remarks(table)) how.reading.say(remark);
  }
  if (features) return windows_value(path, name, type, (*features)(table));
  for (const TableColumn& column : table.columns) {
    if (column.kind == ColumnKind::number) continue;
    throw input_error({}, "{}: column '{}' is no column of numbers: wanted numbers alone", path,
                      column.name);
  }
  const Tensor numbers = table.f32();
  if (long_extents(numbers.shape()) != long_extents(type.shape) ||
      !Data::fits(DType::f32, type.dtype, true)) {
    throw input_error({}, "{}: '{}' is {}: found {}", path, name, to_string(type),
                      to_string(numbers.type()));
  }
  Literal value(Type{DType::f32, type.shape});
  std::ranges::copy(numbers.data<float>(), value.mutable_data<float>().begin());
  return value.converted(type.dtype);
}

}  // namespace

Given assignments(const std::vector<std::string>& texts, std::string_view option) {
  Given result;
  for (const std::string& text : texts) {
    const auto [name, value] = assignment(text, option);
    if (!result.emplace(name, value).second)
      throw usage_error("{}: '{}' is given twice", option, name);
  }
  return result;
}

Literal read_value(const std::string& name, const std::string& text, const Type& type,
                   const TableInput& table) {
  if (text.starts_with("@")) {
    const std::string path = text.substr(1);
    if (is_table(path)) return read_table_value(name, path, type, table);
    const Literal value = path == "-" ? parse_npy(read_stdin(), "<stdin>") : read_npy(path);
    if (value.shape() == type.shape && Data::fits(value.dtype(), type.dtype, true)) {
      try {
        return value.converted(type.dtype);
      } catch (const Error& error) {
        throw input_error({}, "{}: '{}' is {}: {}", path, name, to_string(type), error.message());
      }
    }
    throw input_error({}, "{}: '{}' is {}: found {}", path, name, to_string(type),
                      to_string(value.type()));
  }
  return read_number(name, text, type);
}

void check_given(const Given& given, const std::vector<GraphPtr>& graphs) {
  for (const auto& [name, text] : given) {
    std::vector<std::string> names;
    for (const GraphPtr& graph : graphs) {
      for (Value input : graph->inputs()) names.push_back(input.name());
      for (Value state : graph->states()) names.push_back(state.name());
    }
    if (std::ranges::find(names, name) != names.end()) continue;
    throw usage_error("--input: there is no input or state '{}'{}", name,
                      did_you_mean(name, names));
  }
}

}  // namespace graphc::core::commands
