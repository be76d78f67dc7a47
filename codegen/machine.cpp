// SPDX-License-Identifier: Apache-2.0
#include "codegen/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace graphc::core {

TileShape Machine::tile(const NestProgram& program) const {
  return tile_of == nullptr ? TileShape{.lanes = lanes} : tile_of(*this, program);
}

const ProductForm* Machine::product(DType left, DType right) const {
  const auto found = std::ranges::find_if(
      products, [&](const ProductForm& form) { return form.left == left && form.right == right; });
  return found == products.end() ? nullptr : &*found;
}

std::string Machine::product_types() const {
  std::vector<std::string> types;
  for (const ProductForm& form : products) {
    const bool same = form.left == form.right;
    types.push_back(same ? std::string(name_of(form.left))
                         : fmt::format("{} by {}", name_of(form.left), name_of(form.right)));
  }
  return fmt::format("{}", fmt::join(types, ", "));
}

}  // namespace graphc::core
