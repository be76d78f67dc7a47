// SPDX-License-Identifier: Apache-2.0
// Overloaded lambdas for std::visit; a missing alternative is a compile error.
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
