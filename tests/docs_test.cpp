// SPDX-License-Identifier: Apache-2.0
// The documents: every block marked `graph` parses, verifies and prints back, links and the names
// of documents lead somewhere, and how transcripts are read. tests/tools/documents_test.cpp runs
// the commands.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>
#include <set>

#include "ir/text.h"
#include "ir/verify.h"
#include "tests/testing/documents.h"
#include "tests/testing/source_tree.h"

namespace graphc::core::testing {
namespace {

namespace filesystem = std::filesystem;

using Lines = std::vector<std::string>;

/// all_documents(), and the README of every folder of sources.
std::vector<std::string> all_pages() {
  const filesystem::path root = source_path("");
  std::vector<std::string> paths = all_documents();
  for (const char* folder :
       {"cmake", "codegen", "frontend", "ir", "models", "passes", "runtime", "tests", "tools"}) {
    for (const auto& entry : filesystem::recursive_directory_iterator(root / folder)) {
      if (entry.path().filename() == "README.md")
        paths.push_back(entry.path().lexically_relative(root).generic_string());
    }
  }
  std::ranges::sort(paths);
  paths.erase(std::ranges::unique(paths).begin(), paths.end());
  return paths;
}

/// The lines of a page outside its "```" blocks.
Lines prose_of(const std::string& text) {
  Lines prose;
  bool inside = false;
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with("```")) inside = !inside;
    if (!inside) prose.push_back(line);
  }
  return prose;
}

/// What follows '#' in links to the headings of a page, as GitHub makes it.
std::set<std::string> anchors_of(const std::string& text) {
  std::set<std::string> anchors;
  for (const std::string& line : prose_of(text)) {
    const size_t begin = line.find_first_not_of('#');
    if (begin == 0 || begin == std::string::npos || line[begin] != ' ') continue;
    std::string anchor;
    for (const unsigned char c : line.substr(begin + 1)) {
      if (std::isalnum(c) != 0 || c == '_' || c == '-') anchor += char(std::tolower(c));
      if (c == ' ') anchor += '-';
    }
    anchors.insert(anchor);
  }
  return anchors;
}

/// The relative links of a page at `path` that lead to no file or no heading.
Lines dead_links(const std::string& path, const std::string& text, int* count = nullptr) {
  static const std::regex link(R"(\]\(([^()\s#]*)(#[^()\s]+)?\))");
  Lines dead;
  for (const std::string& line : prose_of(text)) {
    if (line.find("](") == line.npos) continue;  // regular expressions take their time
    for (std::sregex_iterator at(line.begin(), line.end(), link), end; at != end; ++at) {
      const std::string target = (*at)[1], anchor = (*at)[2];
      if (target.find(':') != std::string::npos) continue;
      if (count != nullptr) ++*count;
      const filesystem::path beside = filesystem::path(path).parent_path() / target;
      const std::string leads_to =
          target.empty() ? path : beside.lexically_normal().generic_string();
      if (!filesystem::exists(source_path(leads_to)) ||
          (!anchor.empty() && !anchors_of(target.empty() ? text : document_text(leads_to))
                                   .contains(anchor.substr(1)))) {
        dead.push_back(target + anchor);
      }
    }
  }
  return dead;
}

/// The documents below docs/ that a text names by their path and that are not there.
Lines missing_documents(const std::string& text) {
  const std::string in_names = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./";
  Lines missing;
  for (size_t at = text.find("docs/"); at != text.npos; at = text.find("docs/", at + 1)) {
    if (at > 0 && in_names.find(text[at - 1]) != in_names.npos) continue;  // of another path
    std::string name = text.substr(at, text.find_first_not_of(in_names, at) - at);
    while (name.ends_with('.')) name.pop_back();
    if (name.ends_with(".md") && !filesystem::exists(source_path(name))) missing.push_back(name);
  }
  return missing;
}

TEST(Documents, HaveLinksThatLeadToFilesAndHeadings) {
  int count = 0;
  for (const std::string& path : all_pages()) {
    for (const std::string& link : dead_links(path, document_text(path), &count)) {
      ADD_FAILURE() << path << ": the link " << link << " leads nowhere";
    }
  }
  EXPECT_GE(count, 100);
}

TEST(Documents, AreThereWhereSourcesAndPagesNameThem) {
  const std::string self = "tests/docs_test.cpp";
  for (const SourceFile& file : source_files()) {
    if (file.path == self) continue;
    for (const std::string& name : missing_documents(document_text(file.path))) {
      ADD_FAILURE() << file.path << " names " << name << ", which is not there";
    }
  }
  for (const std::string& path : all_pages()) {
    for (const std::string& name : missing_documents(document_text(path))) {
      ADD_FAILURE() << path << " names " << name << ", which is not there";
    }
  }
}

TEST(Documents, DeadLinksAreFound) {
  const std::string page =
      "# A heading, of `two`\n[a](other.md) [b](../README.md) [c](#a-heading-of-two) [d](#none)\n"
      "[e](performance.md#no-such-heading) [f](https://nowhere)\n```\n# none\n[g](h.md)\n```\n";
  EXPECT_EQ(dead_links("docs/limits.md", page),
            (Lines{"other.md", "#none", "performance.md#no-such-heading"}));
  EXPECT_EQ(missing_documents("docs/ops.md, `docs/not/there.md`."), Lines{"docs/not/there.md"});
}

TEST(Documents, HaveGraphsThatAreGraphs) {
  int count = 0;
  for (const std::string& path : all_documents()) {
    for (const GraphBlock& block : read_document(document_text(path)).graphs) {
      SCOPED_TRACE(path + ":" + std::to_string(block.line));
      const GraphPtr graph = parse_graph(block.text);
      verify(*graph);
      EXPECT_TRUE(equal(*parse_graph(print(*graph)), *graph));
      ++count;
    }
  }
  EXPECT_GE(count, 4);
}

TEST(Documents, AWrongGraphIsFound) {
  const Document document =
      read_document("```graph\ngraph @f(%x: f32[2]) { return nothing(%x) }\n```\n");
  ASSERT_EQ(document.graphs.size(), 1u);
  EXPECT_EQ(document.graphs[0].line, 1);
  EXPECT_THROW(parse_graph(document.graphs[0].text), Error);
}

TEST(Documents, TranscriptsAreRead) {
  const Document document = read_document(
      "text\n```graph a.graph\nA\n```\n```sh\n$ one\n> more\nout\n\nput\n$ two\n```\n"
      "```sh\nnot run\n```\n```\n$ three\nx\n```\n");
  ASSERT_EQ(document.graphs.size(), 1u);
  EXPECT_EQ(document.graphs[0].name, "a.graph");
  EXPECT_EQ(document.graphs[0].text, "A\n");
  ASSERT_EQ(document.transcripts.size(), 3u);
  EXPECT_EQ(document.transcripts[0].command, "one\nmore");
  EXPECT_EQ(document.transcripts[0].line, 6);
  EXPECT_EQ(document.transcripts[0].expected, (Lines{"out", "", "put"}));
  EXPECT_EQ(document.transcripts[1].command, "two");
  EXPECT_EQ(document.transcripts[1].expected, Lines{});
  EXPECT_EQ(document.transcripts[2].expected, Lines{"x"});
}

TEST(Documents, OutputsAreComparedAndDotsStandForAnything) {
  EXPECT_TRUE(matches({"a", "b"}, {"a", "b"}));
  EXPECT_FALSE(matches({"a", "b"}, {"a"}));
  EXPECT_FALSE(matches({"a"}, {"a", "b"}));
  EXPECT_FALSE(matches({"a"}, {"b"}));
  EXPECT_TRUE(matches({"...", "b"}, {"a", "a", "b"}));
  EXPECT_TRUE(matches({"..."}, {}));
  EXPECT_FALSE(matches({"...", "b"}, {"b", "a"}));
  EXPECT_TRUE(matches({"a", "...", "b", "...", "c"}, {"a", "x", "b", "b", "y", "c"}));
  EXPECT_TRUE(matches({"in ... s, ... ms"}, {"in 0.1 s, 5 ms"}));
  EXPECT_FALSE(matches({"in ... s"}, {"in 0.1 ms"}));
  EXPECT_FALSE(matches({"in ... s"}, {"x in 0.1 s"}));
}

TEST(Documents, OutputsAreReplaced) {
  const Document document = read_document("a\n```\n$ one\nold\n$ two\n```\nb\n");
  EXPECT_EQ(with_outputs(document, {{"new", "er"}, {"2"}}),
            "a\n```\n$ one\nnew\ner\n$ two\n2\n```\nb\n");
}

}  // namespace
}  // namespace graphc::core::testing
