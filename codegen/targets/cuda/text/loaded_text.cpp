// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/text/loaded_text.h"

#include <fmt/format.h>

#include "codegen/targets/cuda/text/scalar_text.h"
#include "codegen/targets/cuda/text/text.h"

namespace graphc::core::cuda {

std::string LoadedRegisters::declaration(int rows, int row_length) const {
  return fmt::format("{} {}[{}][{}]", has_words() ? "unsigned" : stored_type_text(dtype), name,
                     by_row ? rows : 1, has_words() ? row_length / 2 : row_length);
}

std::string LoadedRegisters::load(const std::string& element) const {
  if (has_words())
    return fmt::format("{}[{}][at_column / 2] = load_bf16_pair(&{})", name, row(), element);
  if (columns == Columns::two)
    return fmt::format("load_pair(&{}[{}][at_column], &{})", name, row(), element);
  return fmt::format("{}[{}][at_column] = {}", name, row(), element);
}

std::string LoadedRegisters::value() const {
  if (has_words())
    return fmt::format("bf16_of_pair({}[{}][at_column / 2], at_column % 2)", name, row());
  return loaded_text(dtype, fmt::format("{}[{}][at_column]", name, row()));
}

}  // namespace graphc::core::cuda
