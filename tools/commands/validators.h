// SPDX-License-Identifier: Apache-2.0
// What numbers an option takes, refused with what was wanted and what was found.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace graphc::commands {

/// A whole number from `least`, in decimal, that 63 bits hold.
CLI::Validator whole_number(uint64_t least);
/// A whole number from 0 that 64 bits hold: every seed there is.
CLI::Validator seed_number();
/// A number that is neither negative, nor infinite, nor a NaN.
CLI::Validator number_from_zero();

}  // namespace graphc::commands
