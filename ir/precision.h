// SPDX-License-Identifier: Apache-2.0
// Precisions: what the f32 of a graph may be computed in, and the one table of what each means.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/type.h"

namespace graphc::core {

/// What the f32 of a graph are computed in (f32, f64), or what the factors of their products are
/// rounded to (all others, whose sums and results stay f32). Which of them a target has, its record
/// says (codegen/target.h). In C++ it is written as an enumerator, so that a name that there is not
/// does not compile; words of a user become one once, by precision_of() (codegen/compile.h), which
/// says what a target has, or by precision_named().
enum class Precision : uint8_t {
  f32,
  f64,  ///< what is bf16 or f32 in the graph is stored as f64 too
  tf32,
  tf32x3,  ///< "3xtf32": Factors::split_tf32
  bf16,
  bf16x3,  ///< Factors::two_bf16
  bf16x6,  ///< Factors::three_bf16
  fp16,
};

/// What the operands of a product are rounded to before they are multiplied: types of fewer digits,
/// for which machines have faster products. What is stored and what is summed keeps its type.
enum class Factors : uint8_t {
  as_stored,
  tf32,
  split_tf32,  ///< each the sum of two tf32, of whose products the three largest count
  bf16,
  f16,
  two_bf16,    ///< each the sum of two bf16, of whose products the three largest count
  three_bf16,  ///< each the sum of three bf16, of whose products the six largest count
};

/// Every precision, in the order of the enumeration.
std::span<const Precision> all_precisions();

/// As users type it: "bf16", "3xtf32".
std::string_view name_of(Precision precision);
std::vector<std::string_view> names_of(std::span<const Precision> precisions);
/// That of the precision which rounds factors so; of factors as stored "f32".
std::string_view name_of(Factors factors);

/// The precision of that name, if there is one.
std::optional<Precision> precision_named(std::string_view name);

/// What the factors of products of f32 are rounded to.
Factors factors_of(Precision precision);

/// Of how many bf16 a factor is the sum: 1 of what is no sum of them.
int bf16_parts(Factors factors);

/// The type that a tensor of `type` is stored with: floating-point numbers are f64 under
/// Precision::f64, everything else is itself.
Type stored_type(const Type& type, Precision precision);

/// How far, relative to it, a number is rounded: a result, or a factor of a product where those
/// alone are rounded. 3xtf32 leaves the largest error of a product of two, halved; so does bf16x3,
/// and bf16x6 leaves what f32 does.
double unit_roundoff(Precision precision);

/// The precision of the evaluator, which rounds no factors, that results in `precision` are
/// compared with: f64 for f64, f32 for all others.
Precision evaluated_precision(Precision precision);

}  // namespace graphc::core
