// SPDX-License-Identifier: Apache-2.0
// The public declarations of headers as one page: what docs/api.md has.
#pragma once

#include <string>
#include <string_view>

namespace graphc::core::testing {

/// What a user can name in a header, with its comments: no bodies, no private parts, nothing of
/// namespace detail.
std::string declarations_of(std::string_view header);

/// The page: a section a header of frontend/graphc.h, and of those that equations are written with.
std::string api_page();

}  // namespace graphc::core::testing
