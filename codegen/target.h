// SPDX-License-Identifier: Apache-2.0
// Targets: what a graph can be compiled for. Each is one constant record; targets.cpp lists them.
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
  /// The supported values of CompileOptions::precision; the first is the default.
  std::span<const Precision> precisions;
  KernelTraits kernels = {};
  /// These for a compilation, on a typical machine of its architecture; null: always the same.
  KernelTraits (*kernels_for)(const CompileOptions& options) = nullptr;
  /// The other options of CompileOptions that the target supports, by their names on the command
  /// line: "threads", "variant", "unroll", "remat", "recurrence", "cpu" (the
  /// architecture).
  std::span<const std::string_view> options;
  /// Whether an architecture may follow its name: "cuda:sm_90a".
  bool has_architectures = false;
  /// Whether a library of the target can run recurrent layers, as the variant `cudnn` requests.
  bool has_layers = false;
  /// The values of CompileOptions::architecture whose code can run here, if the target supports the
  /// option "cpu"; else null.
  std::vector<std::string> (*cpus)() = nullptr;
  /// Opens the parts of the machine that take time to open and records that time in the report.
  /// unavailable() reports what is missing. Null where there is nothing to open.
  void (*open)(CompileReport& report) = nullptr;
  /// The reason why the target cannot run here; empty when it can.
  std::string (*unavailable)();
  /// Runs the target's passes and builds an executable. Fills in the parts of the report that the
  /// target knows. Throws ErrorKind::input, naming the user's line, for a graph it cannot compile.
  std::unique_ptr<Executable> (*compile)(const GraphPtr& graph, const CompileOptions& options,
                                         CompileReport& report);
  /// See clear_code_caches() and objects_made(); null where a target generates no code.
  void (*clear_code_cache)() = nullptr;
  int64_t (*objects_made)() = nullptr;
  /// Throws ErrorKind::usage for options with which no graph can be compiled, such as an unknown
  /// CPU. Null where there are none.
  void (*check_options)(const CompileOptions& options) = nullptr;
  /// The stages that show() can print: "plan", "asm". May be empty.
  std::span<const std::string_view> stages = {};
  /// The graph at one of `stages`, as readable text.
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
/// The target called `name`. Throws ErrorKind::usage, listing the known targets, for any other
/// name.
const Target& target(std::string_view name);
/// The target with the given spelling: default_target() for an empty one, else a name, or a name
/// with an architecture after a colon ("cuda:sm_90a"). The architecture goes into the options.
/// Throws ErrorKind::usage for an unknown name, for an architecture that the target does not have,
/// and for any architecture where the target has none.
const Target& target(std::string_view typed, CompileOptions& options);
/// The first target that can run here.
const Target& default_target();

/// What the kernels of a target can do in a compilation.
KernelTraits kernel_traits(const Target& target, const CompileOptions& options);

}  // namespace graphc::core
