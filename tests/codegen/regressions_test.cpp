// SPDX-License-Identifier: Apache-2.0
// The graphs of tests/regressions, each of which was once compiled wrongly: in every variant on one
// thread and two, and for every target and CPU level in ways that take turns, on three too; on
// several inputs, each twice with the states that the first call left. The file's name says of what
// numbers they are: `exact_` of whole ones, `scaled_` of real ones of several sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ir/text.h"
#include "tests/codegen/variants.h"
#include "tests/testing/counts.h"
#include "tests/testing/samples.h"
#include "tests/testing/source_tree.h"

namespace graphc::core::testing {
namespace {

namespace filesystem = std::filesystem;

const filesystem::path folder = source_path("tests/regressions");

/// Names of the files, without `.graph`; none where the folder cannot be read.
std::vector<std::string> names() {
  std::vector<std::string> found;
  std::error_code unreadable;
  for (const auto& entry : filesystem::directory_iterator(folder, unreadable))
    found.push_back(entry.path().stem().string());
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

TEST(Regressions, AreThere) { EXPECT_GE(names().size(), 5u); }

class RegressionsCpu : public ::testing::TestWithParam<std::string> {};

TEST_P(RegressionsCpu, StayMended) {
  const std::string& name = GetParam();
  const Numbers numbers = name.starts_with("exact_")    ? Numbers::whole
                          : name.starts_with("scaled_") ? Numbers::scaled
                                                        : Numbers::real;
  const std::vector<GraphPtr> graphs = module_in(folder / (name + ".graph")).graphs;
  EXPECT_FALSE(graphs.empty());
  const std::vector<TargetLevel> levels = all_target_levels();
  for (const GraphPtr& graph : graphs) {
    SCOPED_TRACE("@" + graph->name());
    const auto difference = [&](unsigned seed, const std::vector<TargetLevel>& at, bool every) {
      return first_difference(graph, seed, numbers, at,
                              every ? every_way(seed, {1, 2}) : ways_of(seed, {1, 2, 3}, 1));
    };
    // What differs once has been seen: mutants are noticed as soon as they can be.
    ASSERT_EQ(difference(1, {levels.front()}, true), "");
    // Inputs take turns of the levels.
    unsigned turn = 0;
    for (unsigned seed : {2u, 14u}) {
      std::vector<TargetLevel> some = levels;
      unsigned number = turn++;
      std::erase_if(some, [&](const TargetLevel&) { return !is_sampled(number++, 3); });
      ASSERT_EQ(difference(seed, some, false), "");
    }
  }
  count("regressions", int64_t(graphs.size()));
}

INSTANTIATE_TEST_SUITE_P(Of, RegressionsCpu, ::testing::ValuesIn(names()),
                         [](const auto& file) { return file.param; });

}  // namespace
}  // namespace graphc::core::testing
