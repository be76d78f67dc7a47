// SPDX-License-Identifier: Apache-2.0
// The command line of graphc-bench.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "runtime/ranks/ranks.h"
#include "tools/bench/measure.h"
#include "tools/commands/arguments.h"
#include "tools/commands/compile_options.h"

namespace graphc::core::bench {

struct Options {
  std::string what, target, variants = "fused", unrolls = "auto", cache = "cold", json, peers;
  std::string ranks = "on", network, io = "host";
  std::vector<std::string> parameters, inputs;
  CompileOptions compile;
  commands::ArgumentOptions arguments;
  commands::GivenOptions given;
  Settings settings;
  bool markdown = false, profile = false, bandwidth = false;
  CLI::Option* repeat = nullptr;
  std::shared_ptr<Ranks> world;  ///< null: one rank

  bool is_first() const { return world == nullptr || world->rank() == 0; }
};

/// Adds every option.
void add_options(CLI::App& app, Options& options);
/// Adds options that print a description of the command line instead of doing anything else.
void add_descriptions(CLI::App& app);

}  // namespace graphc::core::bench
