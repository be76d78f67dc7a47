// SPDX-License-Identifier: Apache-2.0
// The documents of the project: what a newcomer reads, as text.
#pragma once

#include <string>
#include <vector>

#include "tests/testing/transcript.h"

namespace graphc::core::testing {

/// The Markdown files of the root, of docs/ and of the tour, from the repository root, sorted.
std::vector<std::string> all_documents();
/// The text of one of them.
std::string document_text(const std::string& path);

}  // namespace graphc::core::testing
