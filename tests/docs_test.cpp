// SPDX-License-Identifier: Apache-2.0
// The documents: every block marked `graph` parses, verifies and prints back.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ir/text.h"
#include "ir/verify.h"

namespace graphc::testing {
namespace {

struct Block {
  std::string text;
  int line = 0;
};

/// The blocks of a Markdown file between "```graph" and "```".
std::vector<Block> graph_blocks(std::istream& file) {
  std::vector<Block> blocks;
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.starts_with("```")) {
      if (!inside && line == "```graph") blocks.push_back({"", number});
      inside = !inside && line == "```graph";
    } else if (inside) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

TEST(Documents, HaveGraphsThatAreGraphs) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(GRAPHC_SOURCE_DIR "/docs")) {
    if (entry.path().extension() != ".md") continue;
    std::ifstream file(entry.path());
    for (const Block& block : graph_blocks(file)) {
      SCOPED_TRACE(entry.path().string() + ":" + std::to_string(block.line));
      const GraphPtr graph = parse_graph(block.text);
      verify(*graph);
      EXPECT_TRUE(equal(*parse_graph(print(*graph)), *graph));
      ++count;
    }
  }
  EXPECT_GE(count, 4);
}

TEST(Documents, AWrongGraphIsFound) {
  std::istringstream text("```graph\ngraph @f(%x: f32[2]) { return nothing(%x) }\n```\n");
  const std::vector<Block> blocks = graph_blocks(text);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_THROW(parse_graph(blocks[0].text), Error);
}

}  // namespace
}  // namespace graphc::testing
