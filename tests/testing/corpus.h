// SPDX-License-Identifier: Apache-2.0
// Where tests look for the public corpora, which are not part of the project.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace graphc::testing {

/// The folder `name` in GRAPHC_DATA, else in shared/data beside the source folder; nothing when it
/// is not there, and then a test that needs it is skipped.
std::optional<std::filesystem::path> find_corpus(std::string_view name);

}  // namespace graphc::testing
