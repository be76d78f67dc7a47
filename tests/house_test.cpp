// SPDX-License-Identifier: Apache-2.0
// The house rules a program can check: licence line, a sentence of purpose, and bounded sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/source_tree.h"

namespace graphc::core::testing {
namespace {

const std::string licence = "SPDX-License-Identifier: Apache-2.0";
const std::map<std::string, size_t> limits = {{"lines", 400}, {"columns", 100}, {"function", 60}};

/// UTF-8 code points: bytes that do not continue another.
size_t columns_of(const std::string& line) {
  return size_t(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// Lines of the longest function, methods inside classes among them, from the line of its name to
/// its brace. Relies on the formatter: what is declared in a scope stands at the scope's
/// indentation, and a function ends there with a lone brace, a class with a brace and a semicolon.
size_t longest_function(const SourceFile& file) {
  static const std::regex scope(
      R"((namespace|struct|class|enum|union|extern|const|constexpr)\b.*)");
  static const std::regex opens_class(R"((struct|class|union)\b[^(]*\{)");
  std::vector<size_t> indents{0};  // of what is declared in the scopes around
  size_t longest = 0, start = 0;
  bool inside = false;
  for (size_t i = 0; i < file.lines.size(); ++i) {
    const size_t indent = file.lines[i].find_first_not_of(' ');
    if (indent == std::string::npos) continue;
    const std::string line = file.lines[i].substr(indent);
    if (line[0] == '#' || line.starts_with("//")) continue;
    if (indents.size() > 1 && indent + 2 == indents.back() && line[0] == '}') {
      indents.pop_back();
      inside = false;
    } else if (indent != indents.back()) {
      continue;
    } else if (line == "}" && inside) {
      longest = std::max(longest, i - start + 1);
      inside = false;
    } else if (std::regex_match(line, opens_class)) {
      indents.push_back(indent + 2);
      inside = false;
    } else if (line[0] != '}') {
      start = i;
      inside = !std::regex_match(line, scope) || line.find('(') != std::string::npos;
    }
  }
  return longest;
}

/// The largest value in a file of what each rule bounds.
std::map<std::string, size_t> measures(const SourceFile& file) {
  size_t columns = 0;
  for (const std::string& line : file.lines) columns = std::max(columns, columns_of(line));
  return {{"lines", file.lines.size()},
          {"columns", columns},
          {"function", file.is_cpp() ? longest_function(file) : 0}};
}

/// What the first lines of a file lack.
std::vector<std::string> heading_faults(const SourceFile& file) {
  std::vector<std::string> faults;
  const bool cpp = file.is_cpp() || file.has_suffix(".def") || file.has_suffix(".proto");
  const std::string comment = cpp ? "// " : "# ";
  const size_t first = file.is_script() ? 1 : 0;
  if (file.lines.size() <= first || file.lines[first] != comment + licence) {
    faults.push_back(file.path + ": does not start with '" + comment + licence + "'");
  }
  const bool needs_purpose = file.is_header() || file.is_script();
  if (needs_purpose &&
      (file.lines.size() <= first + 1 || !file.lines[first + 1].starts_with(comment))) {
    faults.push_back(file.path + ": the line after the licence does not say what the file is for");
  }
  if (file.is_header() &&
      std::find(file.lines.begin(), file.lines.end(), "#pragma once") == file.lines.end()) {
    faults.push_back(file.path + ": a header without '#pragma once'");
  }
  return faults;
}

/// Lines that do not belong: work put off, tests switched off or skipped for any other reason than
/// a missing GPU, libnvrtc, clang++, MPI or corpus.
std::vector<std::string> content_faults(const SourceFile& file) {
  static const std::regex put_off(R"(\b(TO)DO\b|\bFIX(ME)\b|\bDIS(ABLED)_)");
  static const std::regex skip(R"(\bGTEST_(SKIP)\b)");
  static const std::regex reason(
      R"lit(\(\) << "needs (a GPU|libnvrtc|clang|mpirun|MPICH|the corpus))lit");
  std::vector<std::string> faults;
  for (size_t i = 0; i < file.lines.size(); ++i) {
    const std::string& line = file.lines[i];
    // Regular expressions over every line of the tree take seconds.
    const auto in_line = [&](const char* part) { return line.find(part) != std::string::npos; };
    if (!std::ranges::any_of(std::array{"DO", "ME", "ABLED_", "SKIP"}, in_line)) continue;
    if (std::regex_search(line, put_off) ||
        (std::regex_search(line, skip) && !std::regex_search(line, reason))) {
      faults.push_back(file.path + ":" + std::to_string(i + 1) + ": " + line);
    }
  }
  return faults;
}

/// The nearest CMakeLists.txt above `path` that exists among `lists`.
const SourceFile& list_above(const std::string& path,
                             const std::map<std::string, SourceFile>& lists) {
  std::string folder = path;
  while (folder.find('/') != std::string::npos) {
    folder = folder.substr(0, folder.rfind('/'));
    const auto found = lists.find(folder + "/CMakeLists.txt");
    if (found != lists.end()) return found->second;
  }
  return lists.at("CMakeLists.txt");
}

/// Whether a CMake file names `path`, given from the repository root, from its own folder.
bool lists_source(const SourceFile& list, const std::string& path) {
  const size_t folder = list.path.size() - std::string("CMakeLists.txt").size();
  const std::string name = path.substr(folder);
  return std::any_of(list.lines.begin(), list.lines.end(), [&](const std::string& line) {
    const size_t at = line.find(name);
    if (at == std::string::npos) return false;
    const size_t end = at + name.size();
    return (at == 0 || line[at - 1] == ' ') &&
           (end == line.size() || line[end] == ' ' || line[end] == ')');
  });
}

struct Exception {
  std::string rule, path;
  size_t limit = 0;
  std::string reason;
};

std::vector<Exception> exceptions_in(const SourceFile& file) {
  std::vector<Exception> exceptions;
  for (const std::string& line : file.lines) {
    if (line.empty() || line[0] == '#') continue;
    Exception exception;
    std::istringstream stream(line);
    stream >> exception.rule >> exception.path >> exception.limit >> std::ws;
    std::getline(stream, exception.reason);
    exceptions.push_back(std::move(exception));
  }
  return exceptions;
}

TEST(House, FilesStartWithLicenceAndPurpose) {
  for (const SourceFile& file : source_files()) {
    for (const std::string& fault : heading_faults(file)) ADD_FAILURE() << fault;
  }
}

TEST(House, NothingIsPutOffOrSwitchedOff) {
  for (const SourceFile& file : source_files()) {
    for (const std::string& fault : content_faults(file)) ADD_FAILURE() << fault;
  }
}

TEST(House, EverySourceIsBuilt) {
  const std::vector<SourceFile> files = source_files();
  std::map<std::string, SourceFile> lists;
  for (const SourceFile& file : files) {
    if (file.has_suffix("CMakeLists.txt")) lists[file.path] = file;
  }
  for (const SourceFile& file : files) {
    if (!file.has_suffix(".cpp")) continue;
    const SourceFile& list = list_above(file.path, lists);
    EXPECT_TRUE(lists_source(list, file.path)) << list.path << " does not name " << file.path;
  }
}

TEST(House, SizesStayInBounds) {
  std::map<std::pair<std::string, std::string>, size_t> granted;
  for (const Exception& e : exceptions_in(read_source_file("tests/house_exceptions.txt"))) {
    granted[{e.rule, e.path}] = e.limit;
  }
  for (const SourceFile& file : source_files()) {
    for (const auto& [rule, value] : measures(file)) {
      const auto found = granted.find({rule, file.path});
      const size_t limit = found == granted.end() ? limits.at(rule) : found->second;
      EXPECT_LE(value, limit) << file.path << ": " << rule;
    }
  }
}

TEST(House, ExceptionsAreNeededAndHaveReasons) {
  for (const Exception& e : exceptions_in(read_source_file("tests/house_exceptions.txt"))) {
    ASSERT_TRUE(limits.contains(e.rule)) << "no such rule: " << e.rule;
    EXPECT_GE(e.reason.size(), 10u) << e.path << ": an exception needs a reason";
    EXPECT_GT(measures(read_source_file(e.path)).at(e.rule), limits.at(e.rule))
        << e.path << ": within the limit of " << e.rule << ", so the exception is not needed";
  }
}

TEST(House, EveryFolderHasAReadmeOfOnePage) {
  for (const char* folder : {"ir", "passes", "runtime", "runtime/cuda", "codegen", "frontend",
                             "models", "tools", "tests", "tests/cuda/mock"}) {
    const SourceFile readme = read_source_file(std::string(folder) + "/README.md");
    EXPECT_LE(readme.lines.size(), 60u) << readme.path;
    EXPECT_GE(readme.lines.size(), 5u) << readme.path;
  }
}

TEST(House, SourcesAreFound) {
  std::vector<std::string> paths;
  for (const SourceFile& file : source_files()) paths.push_back(file.path);
  for (const char* path : {".ci/run", "CMakeLists.txt", "cmake/graphc.cmake", "ir/type.h",
                           "tests/house_test.cpp", "tests/ir/CMakeLists.txt", "tools/test"}) {
    EXPECT_NE(std::find(paths.begin(), paths.end(), path), paths.end()) << path;
  }
}

TEST(House, HeadingFaultsAreFound) {
  const std::string good = "// " + licence + "\n// Purpose.\n#pragma once\n";
  EXPECT_EQ(heading_faults(source_file("ir/a.h", good)).size(), 0u);
  EXPECT_EQ(heading_faults(source_file("ir/a.h", "#pragma once\n")).size(), 2u);
  EXPECT_EQ(heading_faults(source_file("ir/a.h", "// " + licence + "\n// Purpose.\n")).size(), 1u);
  EXPECT_EQ(heading_faults(source_file("ir/a.cpp", "\n// " + licence + "\n")).size(), 1u);
  EXPECT_EQ(heading_faults(source_file("tools/a", "#!/bin/sh\n# " + licence + "\n# P.\n")).size(),
            0u);
  EXPECT_EQ(heading_faults(source_file("tools/a", "#!/bin/sh\necho\n")).size(), 2u);
  EXPECT_EQ(heading_faults(source_file("a.cmake", "")).size(), 1u);
}

TEST(House, ContentFaultsAreFound) {
  const auto faults = [](const std::string& line) {
    return content_faults(source_file("tests/a.cpp", line + "\n")).size();
  };
  const std::string skip = std::string("  if (!gpu()) GTEST") + "_SKIP()";
  EXPECT_EQ(faults(skip + " << \"needs a GPU\";"), 0u);
  EXPECT_EQ(faults(skip + " << \"needs clang++-19\";"), 0u);
  EXPECT_EQ(faults(skip + " << \"flaky\";"), 1u);
  EXPECT_EQ(faults(skip + ";"), 1u);
  EXPECT_EQ(faults(std::string("// TO") + "DO: later"), 1u);
  EXPECT_EQ(faults(std::string("TEST(A, DIS") + "ABLED_b) {"), 1u);
  EXPECT_EQ(faults("// what is to do"), 0u);
}

TEST(House, SourcesNotBuiltAreFound) {
  const SourceFile list = source_file("ir/CMakeLists.txt", "x(ir\n  SOURCES a.cpp\n  ops/b.cpp)\n");
  EXPECT_TRUE(lists_source(list, "ir/a.cpp"));
  EXPECT_TRUE(lists_source(list, "ir/ops/b.cpp"));
  EXPECT_FALSE(lists_source(list, "ir/b.cpp"));
  EXPECT_FALSE(lists_source(list, "ir/ops/a.cpp"));
  EXPECT_EQ(list_above("ir/ops/b.cpp", {{"ir/CMakeLists.txt", list}}).path, "ir/CMakeLists.txt");
}

TEST(House, SizesAreMeasured) {
  const std::string body = "int f(int a,\n      int b) {\n  if (a) {\n  }\n\n  return b;\n}\n";
  const auto small = measures(source_file("ir/a.cpp", "namespace n {\n" + body + "}\n"));
  EXPECT_EQ(small.at("function"), 7u);
  EXPECT_EQ(small.at("lines"), 9u);
  EXPECT_EQ(small.at("columns"), 14u);
  EXPECT_EQ(measures(source_file("ir/a.h", "struct A {\n  int a;\n};\n")).at("function"), 0u);
  const std::string methods =
      "class A {\n public:\n  void f() const {\n    g();\n  }\n\n  struct B {\n    int f(int a)\n"
      "        const {\n      return a;\n    }\n  };\n  int h();\n};\n";
  EXPECT_EQ(measures(source_file("ir/a.h", methods)).at("function"), 4u);
  EXPECT_EQ(measures(source_file("ir/a.h", "// \u00e9\u2192\n")).at("columns"), 5u);
}

TEST(House, ExceptionsAreRead) {
  const auto found =
      exceptions_in(source_file("e", "# about\n\nlines ir/a.cpp 500 one big table\n"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "lines");
  EXPECT_EQ(found[0].path, "ir/a.cpp");
  EXPECT_EQ(found[0].limit, 500u);
  EXPECT_EQ(found[0].reason, "one big table");
}

}  // namespace
}  // namespace graphc::core::testing
