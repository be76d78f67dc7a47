// SPDX-License-Identifier: Apache-2.0
// The documents' commands print what the documents say. GRAPHC_BLESS=1 rewrites the documents.
#include "tests/testing/documents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "runtime/files/files.h"
#include "tests/testing/counts.h"
#include "tests/testing/mpirun.h"
#include "tests/testing/source_tree.h"
#include "tests/tools/shell.h"

namespace graphc::core::testing {
namespace {

/// Those that show commands.
std::vector<std::string> documents_with_commands() {
  std::vector<std::string> paths = all_documents();
  std::erase_if(paths, [](const std::string& path) {
    return read_document(document_text(path)).transcripts.empty();
  });
  return paths;
}

/// What was printed, with the lines of `expected` where they say the same: they may have "...".
std::vector<std::string> blessed(const std::vector<std::string>& expected,
                                 std::vector<std::string> found) {
  for (size_t i = 0; i < std::min(expected.size(), found.size()); ++i) {
    if (matches({expected[i]}, {found[i]})) found[i] = expected[i];
  }
  return found;
}

class DocumentsCpu : public ::testing::TestWithParam<std::string> {};

TEST_P(DocumentsCpu, ShowWhatTheirCommandsPrint) {
  const Document document = read_document(document_text(GetParam()));
  const bool has_ranks = document_text(GetParam()).find("$ mpirun ") != std::string::npos;
  if (has_ranks) GRAPHC_NEEDS_MPIRUN();
  const TemporaryFolder folder;
  for (const GraphBlock& graph : document.graphs) {
    if (!graph.name.empty()) folder.add(graph.name, graph.text);
  }
  for (const GraphBlock& file : document.files) folder.add(file.name, file.text);
  const bool bless = std::getenv("GRAPHC_BLESS") != nullptr;
  std::vector<std::vector<std::string>> outputs;
  for (const Transcript& transcript : document.transcripts) {
    const std::string script =
        (has_ranks ? fmt::format("export {}\n", mpi_variables()) : "") + transcript.command;
    const std::vector<std::string> found = lines_of(run_bash(script, folder, true).out);
    const bool same = matches(transcript.expected, found);
    outputs.push_back(same ? transcript.expected : blessed(transcript.expected, found));
    if (same || bless) continue;
    ADD_FAILURE() << GetParam() << ":" << transcript.line << ": $ " << transcript.command
                  << "\nprinted:\n"
                  << fmt::format("{}", fmt::join(found, "\n"));
  }
  count("commands of documents", int64_t(document.transcripts.size()));
  if (bless) {
    const std::string path = source_path(GetParam());
    write_file_atomically(path, with_outputs(document, outputs));
  }
}

/// `docs/ops.md` as a name of a test.
std::string test_name(const ::testing::TestParamInfo<std::string>& document) {
  std::string name = document.param;
  std::ranges::replace_if(name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, DocumentsCpu, ::testing::ValuesIn(documents_with_commands()),
                         test_name);

TEST(DocumentsThatRun, AreWhatANewcomerReads) {
  const std::vector<std::string> paths = documents_with_commands();
  for (const char* path :
       {"README.md", "docs/dumps.md", "docs/errors.md", "docs/first-program.md", "docs/limits.md",
        "docs/looking-inside.md", "docs/memory-threads-determinism.md", "docs/several-machines.md",
        "models/examples/README.md", "models/tour/README.md"})
    EXPECT_NE(std::ranges::find(paths, path), paths.end()) << path;
}

}  // namespace
}  // namespace graphc::core::testing
