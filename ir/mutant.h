// SPDX-License-Identifier: Apache-2.0
// Mutants: deliberate defects of the compiler, each of which the tests must notice.
//
// A mutant is a line of product code that does the wrong thing if `mutated` returns true. In
// ordinary builds `mutated` is constant false. Builds with -DGRAPHC_MUTANTS=ON, such as the preset
// `dev`, activate the mutant named by $GRAPHC_MUTANT; `tools/mutants` runs the tests that kill it.
#pragma once

#include <cstdint>

namespace graphc::core {

/// One for each line of ir/mutants.def.
enum class Mutant : uint8_t {
#define GRAPHC_MUTANT(name, what) name,
#include "ir/mutants.def"
#undef GRAPHC_MUTANT
};

#ifdef GRAPHC_MUTANTS
/// Whether this mutant is active. Throws ErrorKind::usage if $GRAPHC_MUTANT is not a mutant.
bool mutated(Mutant mutant);
#else
constexpr bool mutated(Mutant) { return false; }
#endif

}  // namespace graphc::core
