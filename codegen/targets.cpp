// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "codegen/target.h"
#include "ir/spelling.h"

namespace graphc {
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

const Target& default_target() {
  for (const Target* target : kTargets) {
    if (target->unavailable().empty()) return *target;
  }
  throw resource_error("no target can run here");
}

}  // namespace graphc
