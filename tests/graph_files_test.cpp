// SPDX-License-Identifier: Apache-2.0
// Every test of every `.graph` file under tests/, a case each.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ir/error.h"
#include "tests/testing/graph_runner.h"
#include "tests/testing/source_tree.h"

namespace graphc::core::testing {
namespace {

namespace filesystem = std::filesystem;

const filesystem::path root = testing::source_path("tests");

std::string content_of(const filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<GraphTest> tests_of(const std::string& file) {
  return graph_tests(content_of(root / file), "tests/" + file);
}

struct Case {
  std::string file;  ///< below tests/
  size_t index = 0;
};

/// For GoogleTest, which would print addresses: the name of a case must not change from run to run.
void PrintTo(const Case& c, std::ostream* out) { *out << c.file << " " << c.index; }

std::vector<Case> cases() {
  std::vector<std::string> files;
  for (const auto& entry : filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() == ".graph")
      files.push_back(entry.path().lexically_relative(root).generic_string());
  }
  std::sort(files.begin(), files.end());
  std::vector<Case> cases;
  for (const std::string& file : files) {
    const size_t count = tests_of(file).size();
    for (size_t i = 0; i < count; ++i) cases.push_back({file, i});
  }
  return cases;
}

std::string name_of_case(const ::testing::TestParamInfo<Case>& info) {
  std::string name = info.param.file.substr(0, info.param.file.rfind('.'));
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(uint8_t(c)); }, '_');
  return fmt::format("{}_{}", name, info.param.index + 1);
}

/// Rewrites the file with the corrections of one test, alone: the tests of a file may run at once.
void bless(const Case& blessed) {
  const std::string path = (root / blessed.file).string();
  const int lock = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(lock, 0) << path;
  flock(lock, LOCK_EX);
  const std::string content = content_of(path);
  const GraphTest test = graph_tests(content, "tests/" + blessed.file).at(blessed.index);
  const auto corrections = run_graph_test(test, (root / blessed.file).parent_path()).corrections;
  std::ofstream(path, std::ios::binary) << corrected(content, corrections);
  close(lock);
}

class GraphFile : public ::testing::TestWithParam<Case> {};

TEST_P(GraphFile, Holds) {
  const auto& [file, index] = GetParam();
  if (std::getenv("GRAPHC_BLESS") != nullptr) bless(GetParam());
  const GraphTest test = tests_of(file).at(index);
  for (const std::string& failure : run_graph_test(test, (root / file).parent_path()).failures)
    ADD_FAILURE() << failure;
}

INSTANTIATE_TEST_SUITE_P(Text, GraphFile, ::testing::ValuesIn(cases()), name_of_case);

TEST(GraphFiles, AreFound) { EXPECT_GE(cases().size(), 10u); }

}  // namespace
}  // namespace graphc::core::testing
