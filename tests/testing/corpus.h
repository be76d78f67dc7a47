// SPDX-License-Identifier: Apache-2.0
// Where tests look for the public corpora, which are not part of the project.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

namespace graphc::testing {

/// The folder `name` in GRAPHC_DATA, else in shared/data beside the source folder; nothing when it
/// is not there, and then a test that needs it is skipped.
inline std::optional<std::filesystem::path> find_corpus(std::string_view name) {
  const char* data = std::getenv("GRAPHC_DATA");
  const std::filesystem::path folder =
      data != nullptr ? std::filesystem::path(data) / name
                      : std::filesystem::path(GRAPHC_SOURCE_DIR) / ".." / "shared" / "data" / name;
  if (!std::filesystem::is_directory(folder)) return std::nullopt;
  return folder;
}

}  // namespace graphc::testing
