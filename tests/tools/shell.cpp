// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/shell.h"

#include "runtime/files/files.h"

namespace graphc::core::testing {

Ran graphc(const std::string& arguments, const std::string& input) {
  return run_tool(GRAPHC_TOOL, arguments, input);
}

Ran run_bash(const std::string& script, const TemporaryFolder& folder, bool merged) {
  const std::string bin = std::filesystem::path(GRAPHC_TOOL).parent_path().string();
  // A project of a user's finds the package of this build.
  const auto file = folder.add(
      ".script", fmt::format("cd '{}'\nexport PATH='{}':$PATH graphc_DIR='{}' CXX='{}'\n{}\n",
                             folder.path().string(), bin, GRAPHC_BUILD, GRAPHC_COMPILER, script));
  const auto out = folder.add(".out", ""), err = folder.add(".err", "");
  const int status =
      run_shell(fmt::format("bash '{}' > '{}' 2>{} < /dev/null", file.string(), out.string(),
                            merged ? "&1" : fmt::format("'{}'", err.string())));
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(out), read_file(err)};
}

}  // namespace graphc::core::testing
