// SPDX-License-Identifier: Apache-2.0
#include "ir/precision.h"

#include <algorithm>
#include <array>

#include "ir/error.h"

namespace graphc::core {
namespace {

/// What there is to know of a precision.
struct PrecisionFacts {
  Precision precision;
  std::string_view name;
  Factors factors;
  double roundoff;
};

constexpr std::array kPrecisionFacts{
    PrecisionFacts{Precision::f32, "f32", Factors::as_stored, 0x1p-24},
    PrecisionFacts{Precision::f64, "f64", Factors::as_stored, 0x1p-53},
    PrecisionFacts{Precision::tf32, "tf32", Factors::tf32, 0x1p-11},
    PrecisionFacts{Precision::tf32x3, "3xtf32", Factors::split_tf32, 0x1.8p-22},
    PrecisionFacts{Precision::bf16, "bf16", Factors::bf16, 0x1p-8},
    PrecisionFacts{Precision::bf16x3, "bf16x3", Factors::two_bf16, 0x1.8p-16},
    PrecisionFacts{Precision::bf16x6, "bf16x6", Factors::three_bf16, 0x1p-24},
    PrecisionFacts{Precision::fp16, "fp16", Factors::f16, 0x1p-11},
};

constexpr auto kAllPrecisions = [] {
  std::array<Precision, kPrecisionFacts.size()> all{};
  for (size_t i = 0; i < all.size(); ++i) all[i] = kPrecisionFacts[i].precision;
  return all;
}();

constexpr bool has_a_row_for_each_precision() {
  for (size_t i = 0; i < kAllPrecisions.size(); ++i) {
    if (size_t(kAllPrecisions[i]) != i) return false;
  }
  return kAllPrecisions.size() == size_t(Precision::fp16) + 1;
}
static_assert(has_a_row_for_each_precision(),
              "a row for each precision, in the order of the enumeration");

const PrecisionFacts& facts_of(Precision precision) { return kPrecisionFacts[size_t(precision)]; }

}  // namespace

std::span<const Precision> all_precisions() { return kAllPrecisions; }

std::string_view name_of(Precision precision) { return facts_of(precision).name; }

std::vector<std::string_view> names_of(std::span<const Precision> precisions) {
  std::vector<std::string_view> names;
  for (const Precision precision : precisions) names.push_back(name_of(precision));
  return names;
}

std::string_view name_of(Factors factors) {
  const auto found = std::ranges::find(kPrecisionFacts, factors, &PrecisionFacts::factors);
  GRAPHC_CHECK(found != kPrecisionFacts.end(), "no precision rounds factors so: {}", int(factors));
  return found->name;
}

std::optional<Precision> precision_named(std::string_view name) {
  const auto found = std::ranges::find(kPrecisionFacts, name, &PrecisionFacts::name);
  if (found == kPrecisionFacts.end()) return std::nullopt;
  return found->precision;
}

Factors factors_of(Precision precision) { return facts_of(precision).factors; }

int bf16_parts(Factors factors) {
  return factors == Factors::two_bf16 ? 2 : factors == Factors::three_bf16 ? 3 : 1;
}

Type stored_type(const Type& type, Precision precision) {
  const bool widened = precision == Precision::f64 && is_floating(type.dtype);
  return widened ? Type{DType::f64, type.shape} : type;
}

double unit_roundoff(Precision precision) { return facts_of(precision).roundoff; }

Precision evaluated_precision(Precision precision) {
  return precision == Precision::f64 ? Precision::f64 : Precision::f32;
}

}  // namespace graphc::core
