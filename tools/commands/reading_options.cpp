// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/reading_options.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <set>

#include "ir/utf8.h"
#include "runtime/streams.h"
#include "tools/commands/commands.h"

namespace graphc::core::commands {

void add_reading_options(CLI::App& verb, Reading& reading) {
  reading.remark = [said = std::set<std::string>()](const std::string& line) mutable {
    if (said.insert(line).second) write_message(printable_message(line));
  };
  verb.add_option("--encoding", reading.encoding,
                  "what texts and tables are written in: windows-1252, latin-1, utf-16le, or "
                  "another name that iconv knows; UTF-8 if absent");
  verb.add_option_function<std::string>(
      "--decimal",
      [&reading](const std::string& sign) {
        if (sign != "." && sign != ",") throw usage_error("--decimal is . or ,: found '{}'", sign);
        reading.decimal = sign[0];
      },
      "of a table: what stands before the fraction of its numbers, . or ,; as it shows if absent");
  verb.add_option_function<std::string>(
      "--names",
      [&reading](const std::string& answer) {
        if (answer != "yes" && answer != "no")
          throw usage_error("--names is yes or no: found '{}'", answer);
        reading.names = answer == "yes";
      },
      "of a table: whether its first line names the columns, yes or no; as it shows if absent");
}

void check_reading(const Reading& reading, DataKind kind, const std::string& what,
                   const std::string& data) {
  const bool array = kind == DataKind::table && std::filesystem::path(data).extension() == ".npy";
  const bool table = kind == DataKind::table && !array;
  const std::string reads = array ? fmt::format("'{}' is an array", data)
                            : kind == DataKind::nothing
                                ? fmt::format("'{}' reads no text and no table", what)
                                : fmt::format("'{}' reads a text and no table", what);
  const bool text = table || kind == DataKind::text || kind == DataKind::corpus;
  for (const auto& [option, given, taken] :
       {std::tuple{"--encoding", !reading.encoding.empty(), text},
        {"--decimal", reading.decimal != 0, table},
        {"--names", reading.names.has_value(), table}}) {
    if (given && !taken) throw usage_error("{} has no effect: {}", option, reads);
  }
}

}  // namespace graphc::core::commands
