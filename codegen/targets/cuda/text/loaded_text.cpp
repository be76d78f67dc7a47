// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/text/loaded_text.h"

#include <fmt/format.h>

#include "codegen/targets/cuda/text/scalar_text.h"
#include "codegen/targets/cuda/text/text.h"

namespace graphc::core::cuda {

std::string LoadedRegisters::declaration(int rows, int row_length) const {
  return fmt::format("{} {}[{}][{}]", has_words() ? "unsigned" : stored_type_text(dtype), name,
                     rows, has_words() ? row_length / 2 : row_length);
}

std::string LoadedRegisters::load(const std::string& element) const {
  if (has_words())
    return fmt::format("{}[at_row][at_column / 2] = load_bf16_pair(&{})", name, element);
  if (columns == Columns::two)
    return fmt::format("load_pair(&{}[at_row][at_column], &{})", name, element);
  return fmt::format("{}[at_row][at_column] = {}", name, element);
}

std::string LoadedRegisters::value() const {
  if (has_words())
    return fmt::format("bf16_of_pair({}[at_row][at_column / 2], at_column % 2)", name);
  return loaded_text(dtype, name + "[at_row][at_column]");
}

}  // namespace graphc::core::cuda
