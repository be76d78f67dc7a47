// SPDX-License-Identifier: Apache-2.0
// What words and numbers an option takes, refused with what was wanted and what was found.
#pragma once

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>

namespace graphc::core::commands {

/// A whole number from `least`, in decimal, that 63 bits hold.
CLI::Validator whole_number(uint64_t least);
/// A whole number from 0 that 64 bits hold: every seed there is.
CLI::Validator seed_number();
/// A number that is neither negative, nor infinite, nor a NaN, nor above `most`.
CLI::Validator number_from_zero(double most = HUGE_VAL);

/// Makes an empty word for an option an error: mostly it is a variable of the shell that is not
/// set, and a training would keep no checkpoint where one was asked for. Prompts may be empty.
void refuse_empty_words(CLI::App& app);

}  // namespace graphc::core::commands
