// SPDX-License-Identifier: Apache-2.0
// The graphs of tests/regressions, each of which was once compiled wrongly: in every variant, for
// every CPU level, on one thread, two and three, on several inputs, each twice with the states that
// the first call left. The file's name says of what numbers they are: `exact_` of whole ones,
// `scaled_` of real ones of several sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ir/text.h"
#include "tests/codegen/cpu/variants.h"
#include "tests/testing/counts.h"

namespace graphc::testing {
namespace {

namespace filesystem = std::filesystem;

std::vector<filesystem::path> files() {
  std::vector<filesystem::path> found;
  for (const auto& entry :
       filesystem::directory_iterator(filesystem::path(GRAPHC_SOURCE_DIR) / "tests/regressions"))
    found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

/// The graphs of the file: what stands behind its verb.
Module module_in(const filesystem::path& path) {
  std::ifstream stream(path);
  std::ostringstream content;
  content << stream.rdbuf();
  const std::string text = content.str(), verb = "test verify\n";
  const size_t at = text.find(verb);
  EXPECT_NE(at, std::string::npos) << path << " has no line 'test verify'";
  return parse(text.substr(at == std::string::npos ? 0 : at + verb.size()), path.string());
}

TEST(RegressionsCpu, StayMended) {
  int64_t graphs = 0;
  for (const filesystem::path& path : files()) {
    const std::string name = path.filename().string();
    const Numbers numbers = name.starts_with("exact_")    ? Numbers::whole
                            : name.starts_with("scaled_") ? Numbers::scaled
                                                          : Numbers::real;
    for (const GraphPtr& graph : module_in(path).graphs) {
      ++graphs;
      for (unsigned seed : {1u, 2u}) {
        EXPECT_EQ(first_difference(graph, seed, numbers, all_levels(), {1, 2, 3}), "")
            << path << " @" << graph->name() << " seed " << seed;
      }
    }
  }
  EXPECT_GE(graphs, 5);
  count("regressions", graphs);
}

}  // namespace
}  // namespace graphc::testing
