// SPDX-License-Identifier: Apache-2.0
// Mutants: deliberate defects of the compiler, each of which the tests must notice.
//
// A mutant is a line of the product that does the wrong thing where `mutated` says so. In ordinary
// builds that is constant and false. Builds with -DGRAPHC_MUTANTS=ON, as the preset `dev` is, have
// the mutant named by $GRAPHC_MUTANT; `tools/mutants` runs the tests that kill it.
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
/// Whether the process has this defect. Throws ErrorKind::usage when $GRAPHC_MUTANT names none.
bool mutated(Mutant mutant);
#else
constexpr bool mutated(Mutant) { return false; }
#endif

}  // namespace graphc::core
