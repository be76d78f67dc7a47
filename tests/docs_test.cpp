// SPDX-License-Identifier: Apache-2.0
// The documents: every block marked `graph` parses, verifies and prints back, and how transcripts
// are read. tests/tools/documents_test.cpp runs the commands.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "ir/verify.h"
#include "tests/testing/documents.h"

namespace graphc::core::testing {
namespace {

using Lines = std::vector<std::string>;

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
