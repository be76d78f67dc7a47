// SPDX-License-Identifier: Apache-2.0
// Validators of option values; their errors say what was wanted and what was found.
#pragma once

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>

namespace graphc::core::commands {

/// A decimal integer from `least` that fits 63 bits.
CLI::Validator whole_number(uint64_t least);
/// An unsigned integer of 64 bits: any seed.
CLI::Validator seed_number();
/// A number in [0, `most`], not NaN.
CLI::Validator number_from_zero(double most = HUGE_VAL);

/// Makes an empty value of an option an error: usually it is an unset shell variable, and a
/// training would then keep no checkpoint although one was requested. Prompts may be empty.
void refuse_empty_words(CLI::App& app);

}  // namespace graphc::core::commands
