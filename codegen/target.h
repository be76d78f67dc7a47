// SPDX-License-Identifier: Apache-2.0
// Targets: what a graph can be compiled for. One constant record each; the list is in targets.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/compile.h"

namespace graphc::core {

/// The record of a target.
struct Target {
  std::string_view name;     ///< as typed: "reference"
  std::string_view summary;  ///< one line for people
  /// The values of CompileOptions::precision it takes; the first is its own.
  std::span<const Precision> precisions;
  /// Whether values that its products round to bf16 are stored so under that precision.
  bool stores_bf16 = false;
  /// What else of CompileOptions has a meaning for it, as it is called on a command line:
  /// "threads", "variant", "unroll", "cpu" (the architecture).
  std::span<const std::string_view> options;
  /// Whether an architecture may stand behind its name: "cuda:sm_90a".
  bool has_architectures = false;
  /// Whether a library of it runs recurrent layers: what the variant `cudnn` asks for.
  bool has_layers = false;
  /// The values of CompileOptions::architecture whose code can run here, where it takes the option
  /// "cpu"; else null.
  std::vector<std::string> (*cpus)() = nullptr;
  /// Opens what it needs of the machine, where that takes time: the report says how long. What is
  /// missing, unavailable() says. Null where there is nothing to open.
  void (*open)(CompileReport& report) = nullptr;
  /// Why it cannot run here; empty when it can.
  std::string (*unavailable)();
  /// Runs the passes the target wants, and makes something that runs. Fills in the report's parts
  /// that it knows. Throws ErrorKind::input for a graph it cannot compile, naming the user's line.
  std::unique_ptr<Executable> (*compile)(const GraphPtr& graph, const CompileOptions& options,
                                         CompileReport& report);
  /// See clear_code_caches() and objects_made(); null where a target generates no code.
  void (*clear_code_cache)() = nullptr;
  int64_t (*objects_made)() = nullptr;
  /// Throws ErrorKind::usage for options that no graph can be compiled with, such as a CPU that is
  /// not known; null where there are none.
  void (*check_options)(const CompileOptions& options) = nullptr;
  /// What show() can show on the way to code: "plan", "asm". May be empty.
  std::span<const std::string_view> stages = {};
  /// The graph at one of `stages`, as people read it.
  std::string (*show)(const GraphPtr& graph, const CompileOptions& options,
                      std::string_view stage) = nullptr;
};

namespace targets {
extern const Target cpu;
extern const Target cuda;
extern const Target reference;
}  // namespace targets

/// Every target of this build, the preferred one first.
std::span<const Target* const> all_targets();
/// The target called `name`. Throws ErrorKind::usage naming what there is.
const Target& target(std::string_view name);
/// The target that is typed: default_target() for nothing, a name, or a name with an architecture
/// behind a colon ("cuda:sm_90a"), which goes into the options. Throws ErrorKind::usage for a name
/// that is not known, and an architecture of a target that has none or not this one.
const Target& target(std::string_view typed, CompileOptions& options);
/// The first target that can run here.
const Target& default_target();

}  // namespace graphc::core
