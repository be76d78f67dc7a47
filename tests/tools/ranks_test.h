// SPDX-License-Identifier: Apache-2.0
// A folder with corpora, and scripts that start ranks in it.
#pragma once

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/files/files.h"
#include "tests/testing/counts.h"
#include "tests/testing/mpirun.h"
#include "tests/testing/temporary_folder.h"
#include "tests/testing/transcript.h"
#include "tests/tools/shell.h"

namespace graphc::core::testing {

using Json = nlohmann::json;

inline constexpr const char* kCharLm =
    "graphc train char-lm hidden=8 steps=6 batch=12 vocabulary=20 --data numbers --threads 1 ";

inline int64_t occurrences(const std::string& text, const std::string& part) {
  int64_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class RanksCpu : public ::testing::Test {
 protected:
  void SetUp() override {
    GRAPHC_NEEDS_MPIRUN();
    const std::string text = counted(400);
    folder_.add("numbers", text);
    for (const char* part : {"train", "valid", "test"}) {
      folder_.add(fmt::format("corpus/ptb.{}.txt", part), text);
      folder_.add(fmt::format("corpus/{}.txt", part), text);
    }
  }

  /// Lines of words, of which there are about 150.
  static std::string counted(int lines) {
    std::string text;
    for (int i = 0; i < lines; ++i)
      text += fmt::format(" w{} comes before w{} \n", i * i % 149, i % 149);
    return text;
  }

  /// `ranks N command...` in the script is mpirun; `rank_of R` is the process of a rank of this
  /// script, once it is there; nothing if it does not come.
  Ran bash(const std::string& script) const {
    return run_bash(
        fmt::format("export GRAPHC_TEST_RUN={}\n"
                    "ranks() {{ local n=$1; shift; {}$n \"$@\"; }}\n"
                    "rank_of() {{ local p i; for i in $(seq 100); do for p in /proc/[0-9]*; do\n"
                    "  if tr '\\0' '\\n' 2> /dev/null < $p/environ | grep -cxE \"GRAPHC_TEST_RUN="
                    "$GRAPHC_TEST_RUN|OMPI_COMM_WORLD_RANK=$1\" | grep -q 2; then\n"
                    "    echo ${{p#/proc/}}; return; fi\n"
                    "done; sleep 0.01; done; }}\n{}",
                    folder_.path().string(), mpirun(), script),
        folder_);
  }

  /// The events of a log.
  std::vector<Json> log(const std::string& name) const {
    std::vector<Json> events;
    for (const std::string& line : lines_of(read_file(folder_.path() / name)))
      if (!line.empty()) events.push_back(Json::parse(line));
    return events;
  }

  const TemporaryFolder folder_;
};

}  // namespace graphc::core::testing
