// SPDX-License-Identifier: Apache-2.0
// Generates docs/api.md from the public declarations of headers.
#pragma once

#include <string>
#include <string_view>

namespace graphc::core::testing {

/// The declarations in a header that users can name, with their comments: no bodies, no private
/// parts, nothing in namespace detail.
std::string declarations_of(std::string_view header);

/// The page: one section per header of frontend/graphc.h and of those for writing equations.
std::string api_page();

}  // namespace graphc::core::testing
