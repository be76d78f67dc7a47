// SPDX-License-Identifier: Apache-2.0
#include "codegen/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace graphc::core {

TileShape vector_tile(const Machine& machine, const NestProgram& program) {
  TileShape shape;
  shape.lanes = machine.lanes;
  int parts = 1;
  for (const NestProduct& product : program.products) parts = std::max(parts, product.parts);
  shape.accumulators = machine.registers >= 32 ? 24 : 12;
  shape.vectors = std::max(1, 4 / parts);
  const bool rounds = std::ranges::any_of(program.products, [](const NestProduct& product) {
    return product.factors != Factors::as_stored;
  });
  if (machine.matrix_tile.rows > 0 && rounds) {
    // Two tiles of columns are multiplied at a time.
    const int columns = std::max(1, machine.matrix_tile.columns / machine.lanes);
    shape.matrix_tiles = true;
    shape.vectors = std::max(1, 2 / parts) * columns;
    shape.rows = 2 * machine.matrix_tile.rows * (parts > 2 ? machine.matrix_tile.turns : 1);
  } else if (program.kind == NestKind::tiles) {
    shape.rows = std::clamp(shape.accumulators / (shape.vectors * std::min(parts, 8)), 1, 8);
  } else if (program.kind == NestKind::row_wise) {
    shape.vectors = 1;
  }
  return shape;
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
