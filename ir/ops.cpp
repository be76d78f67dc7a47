// SPDX-License-Identifier: Apache-2.0
// The table of all ops, and lookup by name.
#include <unordered_map>

#include "ir/op.h"
#include "ir/spelling.h"

namespace graphc::core {
namespace {

constexpr const Op* listed_ops[] = {
#define GRAPHC_OP(name) &ops::name,
#include "ir/ops.def"
#undef GRAPHC_OP
};

}  // namespace

std::span<const Op* const> all_ops() { return listed_ops; }

const Op* find_op(std::string_view name) {
  static const auto index = [] {
    std::unordered_map<std::string_view, const Op*> by_name;
    for (const Op* op : listed_ops) by_name.emplace(op->name, op);
    return by_name;
  }();
  const auto found = index.find(name);
  return found == index.end() ? nullptr : found->second;
}

std::string_view nearest_op(std::string_view name) {
  // Names of the same ops in other libraries.
  static constexpr std::pair<std::string_view, const Op*> elsewhere[] = {
      {"cat", &ops::concat},       {"concatenate", &ops::concat}, {"divide", &ops::div},
      {"dot", &ops::matmul},       {"fmod", &ops::remainder},     {"linear", &ops::matmul},
      {"logistic", &ops::sigmoid}, {"mod", &ops::remainder},      {"mse_loss", &ops::mse},
      {"multiply", &ops::mul},     {"power", &ops::pow},          {"subtract", &ops::sub},
      {"swish", &ops::silu},       {"where", &ops::select},
  };
  for (const auto& [other, op] : elsewhere) {
    if (name == other) return op->name;
  }
  std::vector<std::string_view> names;
  for (const Op* op : listed_ops) names.push_back(op->name);
  return nearest_word(name, names);
}

}  // namespace graphc::core
