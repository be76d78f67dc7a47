// SPDX-License-Identifier: Apache-2.0
#include "frontend/data.h"

#include <algorithm>
#include <limits>

#include "ir/spelling.h"
#include "runtime/files/npy.h"

namespace graphc::core {

Data::Data(DType dtype, std::span<const std::byte> bytes, int64_t elements, const Shape& shape)
    : converts_(true) {
  const Type type{dtype, shape};
  if (elements != shape.elements()) {
    throw input_error({}, "{} has {} elements: found {}", to_string(type), shape.elements(),
                      elements);
  }
  tensor_ = Tensor(Literal::from_bytes(type, bytes));
}

const Tensor& Data::tensor() const {
  if (const auto* const tensor = std::get_if<Tensor>(&tensor_)) return *tensor;
  throw input_error({}, "{} is in the memory of GPU {}: wanted the host's", to_string(type()),
                    std::get<DeviceTensor>(tensor_).device());
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

void Data::check_held_by_i64() const {
  const Elements<const int64_t> elements = tensor().literal().data<int64_t>();
  const auto high = std::ranges::find_if(elements, [](int64_t x) { return x < 0; });
  if (high == elements.end()) return;
  throw input_error({}, "element {} is {}, which no type of the language holds: i64 goes to {}",
                    high - elements.begin(), uint64_t(*high), std::numeric_limits<int64_t>::max());
}

Data npy(const std::filesystem::path& path) {
  Data data(read_npy(path));
  data.converts_ = true;
  return data;
}

DeviceTensor to_device(const Data& from, int device) {
  return copy_to_device(from.tensor(), device);
}

std::vector<Data> in_order(const NamedData& inputs, const std::vector<std::string>& names,
                           std::string_view graph) {
  std::vector<const Data*> places(names.size());
  for (const auto& [name, data] : inputs) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      throw input_error({}, "graph '{}' has no input '{}'{}", graph, name,
                        did_you_mean(name, names));
    }
    const Data*& place = places[size_t(found - names.begin())];
    if (place != nullptr)
      throw input_error({}, "graph '{}': input '{}' is given twice", graph, name);
    place = &data;
  }
  std::vector<Data> ordered;
  for (size_t i = 0; i < names.size(); ++i) {
    if (places[i] == nullptr)
      throw input_error({}, "graph '{}': input '{}' is missing", graph, names[i]);
    ordered.push_back(*places[i]);
  }
  return ordered;
}

}  // namespace graphc::core
