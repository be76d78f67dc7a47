// SPDX-License-Identifier: Apache-2.0
// The project's documents for newcomers, as text.
#pragma once

#include <string>
#include <vector>

#include "tests/testing/transcript.h"

namespace graphc::core::testing {

/// The Markdown files of the root, docs/ and the tour, by path from the repository root, sorted.
std::vector<std::string> all_documents();
/// The text of one of them.
std::string document_text(const std::string& path);

}  // namespace graphc::core::testing
