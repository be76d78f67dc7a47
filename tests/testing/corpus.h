// SPDX-License-Identifier: Apache-2.0
// Where tests find corpora: the public ones, which are not part of the project, and our own.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace graphc::core::testing {

/// The folder `name` in GRAPHC_DATA, else in shared/data beside the source folder; nothing when it
/// is not there, and then a test that needs it is skipped.
std::optional<std::filesystem::path> find_corpus(std::string_view name);

/// The corpora of a few lines that are part of the project.
std::filesystem::path tiny_ptb();
std::filesystem::path tiny_wikitext2();

}  // namespace graphc::core::testing
