// SPDX-License-Identifier: Apache-2.0
// A function for each alternative of a variant: one that has none does not compile.
#pragma once

namespace graphc::core {

/// `std::visit(Cases{[](const A&) {...}, [](const B&) {...}}, variant)`.
template <typename... Functions>
struct Cases : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Cases(Functions...) -> Cases<Functions...>;

}  // namespace graphc::core
