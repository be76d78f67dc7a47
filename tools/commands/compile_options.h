// SPDX-License-Identifier: Apache-2.0
// Options shared by several verbs: compile options, which are checked against the target, and the
// options for drawing arguments.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/target.h"
#include "tools/commands/rank_arguments.h"

namespace graphc::core::commands {

/// Tracks which fields of CompileOptions the command line sets, and holds the words typed for those
/// that are enumerations. Its address must stay the same while the command line is parsed.
class GivenOptions {
 public:
  /// `option` is the command-line option for the field `name`, as spelled in Target::options, or
  /// "precision", which every target takes.
  void watch(std::string_view name, CLI::Option* option);

  /// Converts the words and stores them in `compile`. Throws ErrorKind::usage if a given option
  /// would be ignored by `on` or has an unknown value, whether or not anything is compiled.
  void apply(const Target& on, CompileOptions& compile) const;

  /// The word typed for the option `name`; its default until the command line is parsed.
  std::string& word(std::string_view name) { return words_[std::string(name)]; }

 private:
  bool has(std::string_view name) const;

  std::vector<std::string_view> names_;
  std::map<std::string, std::string, std::less<>> words_;
};

/// The target named by `typed`, with or without an architecture (target() of codegen/target.h),
/// after apply() of the given options.
const Target& chosen_target(const std::string& typed, CompileOptions& compile,
                            const GivenOptions& given);

/// Adds options to `app` that set the fields `names` of `compile`, tracked by `given`: "precision",
/// "threads", "variant", "unroll", "remat", "recurrence", "memory", "placement", "products", "cpu".
void add_compile_options(CLI::App& app, CompileOptions& compile, GivenOptions& given,
                         std::initializer_list<std::string_view> names);

/// Adds --gradients, the type in which ranks send them: f32 or bf16.
void add_gradients_option(CLI::App& app, DType& gradients);

/// Adds --ranks, --shards, --gradients and --batch, and with `of_one` also --rank.
void add_rank_options(CLI::App& app, RankArguments& arguments, bool of_one);

/// Adds the options --input, stored unparsed in `inputs`, and --scale to `app`.
void add_argument_options(CLI::App& app, std::vector<std::string>& inputs, double& scale);

}  // namespace graphc::core::commands
