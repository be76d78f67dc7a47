// SPDX-License-Identifier: Apache-2.0
// docs/ops.md is what `graphc ops --markdown` writes. GRAPHC_BLESS=1 rewrites it.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "ir/op.h"
#include "runtime/files/files.h"
#include "tests/testing/documents.h"
#include "tests/testing/source_tree.h"
#include "tests/tools/shell.h"

namespace graphc::core::testing {
namespace {

TEST(OpReference, IsInTheDocuments) {
  const Ran ran = run_bash("graphc ops --markdown", TemporaryFolder());
  ASSERT_EQ(ran.code, 0) << ran.err;
  if (std::getenv("GRAPHC_BLESS") != nullptr)
    write_file_atomically(source_path("docs/ops.md"), ran.out);
  EXPECT_TRUE(ran.out == document_text("docs/ops.md"))
      << "docs/ops.md is not what `graphc ops --markdown` writes: GRAPHC_BLESS=1 rewrites it";
}

TEST(OpReference, HasEveryOpWithWhatItsRecordHas) {
  const std::string text = document_text("docs/ops.md");
  for (const Op* op : all_ops()) {
    const size_t begin = text.find(fmt::format("### {}\n", op->name));
    ASSERT_NE(begin, text.npos) << op->name;
    const std::string section = text.substr(begin, text.find("\n### ", begin) - begin);
    EXPECT_THAT(section, ::testing::HasSubstr(std::string(op->doc)));
    EXPECT_EQ(section.find("```graph") != section.npos, op->samples != nullptr) << op->name;
    EXPECT_EQ(section.find("Defined as") != section.npos, is_composite(*op)) << op->name;
  }
}

}  // namespace
}  // namespace graphc::core::testing
