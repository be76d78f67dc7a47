// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/reading_options.h"

#include <CLI/CLI.hpp>

#include "ir/utf8.h"
#include "runtime/streams.h"
#include "tools/commands/commands.h"

namespace graphc::core::commands {

void add_reading_options(CLI::App& verb, Reading& reading) {
  reading.remark = [](const std::string& line) { write_message(printable_message(line)); };
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

}  // namespace graphc::core::commands
