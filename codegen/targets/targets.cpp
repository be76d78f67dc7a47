// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "codegen/target.h"
#include "ir/spelling.h"

namespace graphc::core {
namespace {

constexpr std::array kTargets{
    &targets::cpu,
    &targets::cuda,
    &targets::reference,
};

}  // namespace

std::span<const Target* const> all_targets() { return kTargets; }

const Target& target(std::string_view name) {
  std::vector<std::string> names;
  for (const Target* target : kTargets) {
    if (target->name == name) return *target;
    names.emplace_back(target->name);
  }
  throw Error(ErrorKind::usage, {},
              fmt::format("unknown target '{}': there is {}{}", name, fmt::join(names, ", "),
                          did_you_mean(name, names)));
}

const Target& target(std::string_view typed, CompileOptions& options) {
  const size_t colon = typed.find(':');
  const Target& named = typed.empty() ? default_target() : target(typed.substr(0, colon));
  if (colon == std::string_view::npos) return named;
  if (!named.has_architectures) {
    throw Error(ErrorKind::usage, {},
                fmt::format("target '{}' has no architectures: found '{}'", named.name, typed));
  }
  options.architecture = typed.substr(colon + 1);
  if (options.architecture.empty()) {
    throw Error(ErrorKind::usage, {},
                fmt::format("'{}': wanted an architecture behind the colon", typed));
  }
  named.check_options(options);
  return named;
}

const Target& default_target() {
  for (const Target* target : kTargets) {
    if (target->unavailable().empty()) return *target;
  }
  throw resource_error("no target can run here");
}

}  // namespace graphc::core
