// SPDX-License-Identifier: Apache-2.0
// Options that several verbs have: those of compilation, which not every target takes and which are
// checked, and those of what arguments are drawn.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/target.h"

namespace graphc::core::commands {

/// Which fields of CompileOptions the command line sets. Its address stays the same while the
/// command line is read.
class GivenOptions {
 public:
  /// `option` is the command line's for the field `name`, as Target::options spells it.
  void watch(std::string_view name, CLI::Option* option);

  /// Throws ErrorKind::usage if an option is given that `on` would ignore, or has a value it does
  /// not know, whether or not anything is compiled.
  void check(const Target& on, const CompileOptions& compile) const;

 private:
  std::vector<std::string_view> names_;
};

/// The target that `typed` names, with an architecture or without (target() of codegen/target.h),
/// after check() of what is given.
const Target& chosen_target(const std::string& typed, CompileOptions& compile,
                            const GivenOptions& given);

/// Adds to `app` options that set the fields `names` of `compile`, watched by `given`: "threads",
/// "variant", "unroll", "placement", "products", "cpu".
void add_compile_options(CLI::App& app, CompileOptions& compile, GivenOptions& given,
                         std::initializer_list<std::string_view> names);

/// Adds to `app` the options --input, in `inputs` as it is written, and --scale.
void add_argument_options(CLI::App& app, std::vector<std::string>& inputs, double& scale);

}  // namespace graphc::core::commands
