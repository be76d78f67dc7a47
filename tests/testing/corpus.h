// SPDX-License-Identifier: Apache-2.0
// The corpora for tests: public ones, which are not part of the project, and our own.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace graphc::core::testing {

/// The folder `name` in GRAPHC_DATA, or in shared/data next to the source folder; empty if it does
/// not exist: then tests that need it are skipped.
std::optional<std::filesystem::path> find_corpus(std::string_view name);

/// The tiny corpora that are part of the project.
std::filesystem::path tiny_ptb();
std::filesystem::path tiny_wikitext2();

}  // namespace graphc::core::testing
