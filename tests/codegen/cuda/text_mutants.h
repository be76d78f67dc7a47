// SPDX-License-Identifier: Apache-2.0
// Deliberate defects of CUDA text: one statement of a kernel changed at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace graphc::core::testing {

/// A way to damage text, wherever it matches.
struct TextRule {
  std::string_view name;
  std::string_view contains;     ///< what a line must have for the pattern to be tried
  std::string_view pattern;      ///< of a part of a line: a std::regex
  std::string_view replacement;  ///< as std::regex_replace has it
  bool before_nest = false;      ///< what is replaced goes to where the nest before it begins
};

/// All rules; the order of a sample.
const std::vector<TextRule>& text_rules();

/// A kernel's text with one place changed.
struct TextMutant {
  const TextRule* rule = nullptr;
  int line = 0;             ///< from 1
  std::string before, now;  ///< that line, without the space around it
  std::string text;
};

/// Every mutant of the text: every rule at every place it matches. What is a comment, a head of a
/// function or a pragma is left alone.
std::vector<TextMutant> mutants_of(const std::string& text);

/// Whether it is of a loop whose blocks own rows and columns.
bool is_placed(const TextMutant& mutant);

/// Mutants that no launch tells from the text, by a part of the line.
struct EqualPlace {
  std::string_view rule, part, reason;
};
const std::vector<EqualPlace>& equal_places();

/// How a kernel is launched, at most.
struct Launched {
  std::map<std::string, int64_t> numbers;  ///< its parameters
  int64_t blocks = 0;
  bool has_single_column = false;  ///< once the last block of columns is one column wide

  /// The largest parameter whose name begins so; 0 where there is none.
  int64_t largest(std::string_view beginning) const;
  /// Whether the blocks of a placed loop are in groups of rows.
  bool has_row_groups() const;
};

/// The names of the parameters of a text's kernel, in order.
std::vector<std::string> parameters_of(const std::string& text);

/// Why a mutant does what the text does in such launches; empty for one that must be found.
std::string_view why_equal(const TextMutant& mutant, const Launched& launched);

}  // namespace graphc::core::testing
