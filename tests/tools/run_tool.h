// SPDX-License-Identifier: Apache-2.0
// Runs a command-line tool as a shell does, for tests of what it prints and of its exit code.
#pragma once

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/testing/samples.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core::testing {

/// What came of a command; `code` is -1 when a signal ended it.
struct Ran {
  int code;
  std::string out, err;
};

inline std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// std::system(). The programs of one command in four look for leaks when they end, as samples do:
/// it takes as long as all that most of them do.
inline int run_shell(const std::string& command) {
  static size_t number = 0;
  return std::system(
      is_sampled(number++, 4)
          ? command.c_str()
          : ("export ASAN_OPTIONS=detect_leaks=0:$ASAN_OPTIONS; " + command).c_str());
}

/// Runs `tool` with arguments as a shell reads them; `input` is its stdin.
inline Ran run_tool(const std::string& tool, const std::string& arguments,
                    const std::string& input = "") {
  const TemporaryFolder folder;
  const auto in = folder.add("in", input), out = folder.path() / "out", err = folder.path() / "err";
  const std::string command = fmt::format("'{}' {} < {} > {} 2> {}", tool, arguments, in.string(),
                                          out.string(), err.string());
  const int status = run_shell(command);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(out), content(err)};
}

/// Runs `tool` until its stdout begins, sends it the signal ("TERM"), and waits. What it said on
/// stderr is lost.
inline Ran run_tool_until_signal(const std::string& tool, const std::string& arguments,
                                 const std::string& signal) {
  const TemporaryFolder folder;
  const std::string out = (folder.path() / "out").string();
  const std::string command = fmt::format(
      "env --default-signal \"{}\" {} > {} 2> /dev/null & pid=$!; while ! [ -s {} ]; do sleep "
      "0.05; done; "
      "kill -{} $pid; wait $pid 2> /dev/null",
      tool, arguments, out, out, signal);
  // A shell without job control starts background commands with SIGINT ignored, and a signal that
  // is ignored where the tests run (nohup) is ignored in the tool.
  const int status = std::system(fmt::format("bash -c 'set -m; {}' 2> /dev/null", command).c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(out), ""};
}

}  // namespace graphc::core::testing
