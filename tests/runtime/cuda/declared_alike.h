// SPDX-License-Identifier: Apache-2.0
// Whether a function that is declared here is the one that a library's own header declares.
#pragma once

#include <type_traits>

namespace graphc::core::cuda {

/// Whether two types are passed alike: pointers of equal depth, numbers of equal size.
template <typename Ours, typename Theirs>
constexpr bool alike() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using OurTarget = std::remove_pointer_t<Ours>;
    using TheirTarget = std::remove_pointer_t<Theirs>;
    if constexpr (std::is_pointer_v<OurTarget> || std::is_arithmetic_v<OurTarget>) {
      return std::is_const_v<OurTarget> == std::is_const_v<TheirTarget> &&
             alike<std::remove_const_t<OurTarget>, std::remove_const_t<TheirTarget>>();
    } else {
      return true;  // of their own types; both may be incomplete
    }
  } else {
    return !std::is_pointer_v<Ours> && !std::is_pointer_v<Theirs> &&
           sizeof(Ours) == sizeof(Theirs) &&
           std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;
  }
}

template <typename Ours, typename Theirs>
struct Same : std::false_type {};
template <typename A, typename... As, typename B, typename... Bs>
  requires(sizeof...(As) == sizeof...(Bs))
struct Same<A (*)(As...), B (*)(Bs...)>
    : std::bool_constant<alike<A, B>() && (alike<As, Bs>() && ...)> {};

static_assert(Same<int (*)(int*, const char*), unsigned (*)(unsigned*, const char*)>::value);
static_assert(!Same<int (*)(int*), int (*)(int)>::value);
static_assert(!Same<int (*)(int*), int (*)(const int*)>::value);
static_assert(!Same<int (*)(int*), int (*)(long*)>::value);
static_assert(!Same<int (*)(float), int (*)(int)>::value);
static_assert(!Same<int (*)(int), int (*)(int, int)>::value);

}  // namespace graphc::core::cuda
