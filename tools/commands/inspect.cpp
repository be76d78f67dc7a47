// SPDX-License-Identifier: Apache-2.0
// graphc inspect: shows the contents of any file of arrays.
#include <CLI/CLI.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ir/utf8.h"
#include "models/checkpoint_folder.h"
#include "runtime/files/files.h"
#include "runtime/files/foreign.h"
#include "runtime/files/npy.h"
#include "tools/commands/commands.h"

namespace graphc::core::commands {
namespace {

using Json = nlohmann::ordered_json;
namespace filesystem = std::filesystem;

constexpr std::string_view kNpyMagic = "\x93NUMPY";
/// Texts in the metadata are cut to one line; --json shows them whole.
constexpr size_t kShownText = 60;

struct InspectCommand {
  std::string file;
  bool json = false;
};

/// Statistics of an array: the smallest, the largest and the mean of its finite numbers.
struct ArrayFigures {
  double least = 0, most = 0, mean = 0;
  int64_t finite = 0, nan = 0, infinite = 0;
};

ArrayFigures figures_of(const Literal& array) {
  ArrayFigures figures;
  double sum = 0;
  for (int64_t i = 0; i < array.elements(); ++i) {
    const double value = array.element(i);
    if (std::isnan(value)) {
      ++figures.nan;
    } else if (std::isinf(value)) {
      ++figures.infinite;
    } else {
      figures.least = figures.finite == 0 ? value : std::min(figures.least, value);
      figures.most = figures.finite == 0 ? value : std::max(figures.most, value);
      ++figures.finite;
      sum += value;
    }
  }
  if (figures.finite > 0) figures.mean = sum / double(figures.finite);
  return figures;
}

Json describe(const std::string& name, const Literal& array) {
  const ArrayFigures figures = figures_of(array);
  Json row{{"name", name},
           {"dtype", std::string(name_of(array.dtype()))},
           {"shape", array.shape()},
           {"elements", array.elements()}};
  if (figures.finite > 0) {
    row["least"] = figures.least;
    row["most"] = figures.most;
    row["mean"] = figures.mean;
  }
  row["nan"] = figures.nan;
  row["infinite"] = figures.infinite;
  return row;
}

const char* name_of(Integrity integrity) {
  switch (integrity) {
    case Integrity::whole:
      return "whole";
    case Integrity::damaged:
      return "damaged";
    case Integrity::unknown:
      return "none";
  }
  return "";
}

Json inspect_npy(const std::string& bytes, const std::string& file) {
  return {{"format", "npy"}, {"arrays", {describe("", parse_npy(bytes, file))}}};
}

Json inspect_safetensors(const std::string& bytes, const std::string& file) {
  const Safetensors content = parse_safetensors(bytes, file);
  const auto format = content.metadata.find("format");
  Json result{{"format", "safetensors"}};
  // Only formats of graphc have a name.
  if (format != content.metadata.end() && format->second.starts_with("graphc "))
    result["format"] = format->second;
  result["checksum"] = name_of(integrity_of(content));
  result["metadata"] = content.metadata;
  result["arrays"] = Json::array();
  for (const auto& [name, array] : content.arrays)
    result["arrays"].push_back(describe(name, array));
  return result;
}

std::string number_of(const Json& row, const char* key) {
  return row.contains(key) ? fmt::format("{:.4g}", row[key].get<double>()) : "-";
}

void show(const Json& found) {
  write_stdout(fmt::format("format: {}\nbytes: {}\n",
                           printable(found["format"].get<std::string>(), kShownText),
                           found["bytes"].get<int64_t>()));
  if (found.contains("checksum"))
    write_stdout(fmt::format("checksum: {}\n", found["checksum"].get<std::string>()));
  const Json metadata = found.value("metadata", Json::object());
  for (const auto& [key, text] : metadata.items()) {
    if (key == "format" || key == "checksum") continue;
    write_stdout(fmt::format("{}: {}\n", printable(key, kShownText),
                             printable(text.get<std::string>(), kShownText)));
  }
  size_t width = 4;
  for (const Json& row : found["arrays"])
    width = std::max(width, printable(row["name"].get<std::string>()).size());
  write_stdout(fmt::format("\n{:<{}}  {:<18} {:>10} {:>10} {:>10} {:>6} {:>8}\n", "name", width,
                           "type", "least", "most", "mean", "nan", "infinite"));
  for (const Json& row : found["arrays"]) {
    const std::string type = fmt::format("{}[{}]", row["dtype"].get<std::string>(),
                                         fmt::join(row["shape"].get<std::vector<int64_t>>(), ","));
    write_stdout(fmt::format("{:<{}}  {:<18} {:>10} {:>10} {:>10} {:>6} {:>8}\n",
                             printable(row["name"].get<std::string>()), width, type,
                             number_of(row, "least"), number_of(row, "most"),
                             number_of(row, "mean"), row["nan"].get<int64_t>(),
                             row["infinite"].get<int64_t>()));
  }
}

/// In a folder, the newest checkpoint, damaged or not.
filesystem::path file_of(const std::string& path) {
  std::error_code ignored;
  if (!filesystem::is_directory(path, ignored)) return path;
  const std::vector<filesystem::path> files = checkpoint_files(path);
  if (files.empty())
    throw input_error({}, "'{}' is a folder without a checkpoint: wanted a file", path);
  return files[0];
}

int inspect(const InspectCommand& options) {
  const filesystem::path file = file_of(options.file);
  const std::string bytes = read_file(file);
  if (bytes.empty()) throw input_error({}, "{}: the file is empty", file.string());
  const bool npy = bytes.starts_with(kNpyMagic);
  if (!npy) refuse_foreign(bytes, file, Wanted::arrays);
  const Json content =
      npy ? inspect_npy(bytes, file.string()) : inspect_safetensors(bytes, file.string());
  Json found{{"file", file.string()}, {"bytes", int64_t(bytes.size())}};
  found.update(content);
  if (options.json) {
    write_stdout(found.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  } else {
    show(found);
  }
  if (found.value("checksum", "") == name_of(Integrity::damaged)) {
    throw damaged_error(file.string());
  }
  return 0;
}

}  // namespace

void add_inspect(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand(
      "inspect",
      "What is in a checkpoint, or another file of arrays: safetensors, .graphc or .npy");
  auto options = std::make_shared<InspectCommand>();
  verb->add_option("FILE", options->file, "the file; of a folder, its newest checkpoint")
      ->required();
  verb->add_flag("--json", options->json, "as JSON, with all texts whole");
  verb->callback([=, &action] { action = [=] { return inspect(*options); }; });
}

}  // namespace graphc::core::commands
