// SPDX-License-Identifier: Apache-2.0
#include "ir/mutant.h"

#ifdef GRAPHC_MUTANTS

#include <cstdlib>
#include <iterator>
#include <optional>
#include <string_view>

#include "ir/error.h"

namespace graphc::core {
namespace {

constexpr std::string_view mutant_names[] = {
#define GRAPHC_MUTANT(name, what) #name,
#include "ir/mutants.def"
#undef GRAPHC_MUTANT
};

std::optional<Mutant> chosen_mutant() {
  const char* wanted = std::getenv("GRAPHC_MUTANT");
  if (wanted == nullptr || *wanted == '\0') return std::nullopt;
  for (size_t i = 0; i < std::size(mutant_names); ++i) {
    if (mutant_names[i] == wanted) return Mutant(i);
  }
  throw Error(ErrorKind::usage, {}, fmt::format("GRAPHC_MUTANT: no mutant is called '{}'", wanted));
}

}  // namespace

bool mutated(Mutant mutant) {
  static const std::optional<Mutant> chosen = chosen_mutant();
  return chosen == mutant;
}

}  // namespace graphc::core

#endif
