// SPDX-License-Identifier: Apache-2.0
#include "frontend/data.h"

#include "runtime/files/npy.h"

namespace graphc::core {

Data::Data(DType dtype, std::span<const std::byte> bytes, int64_t elements, const Shape& shape)
    : converts_(true) {
  const Type type{dtype, shape};
  if (elements != shape.elements()) {
    throw input_error({}, "{} has {} elements: found {}", to_string(type), shape.elements(),
                      elements);
  }
  tensor_ = Literal::from_bytes(type, bytes);
}

bool Data::fits(DType found, DType declared, bool converts) {
  if (found == declared) return true;
  if (!converts || found == DType::boolean || declared == DType::boolean) return false;
  return is_floating(declared) || !is_floating(found);
}

void Data::check_row(int64_t row, int64_t found, int64_t wanted) {
  if (found == wanted) return;
  throw input_error({}, "rows of equal length make an array: row 0 has {}, row {} has {}", wanted,
                    row, found);
}

Data npy(const std::filesystem::path& path) {
  Data data(read_npy(path));
  data.converts_ = true;
  return data;
}

}  // namespace graphc::core
