// SPDX-License-Identifier: Apache-2.0
// The records of ops without operands: inputs, states, constants and iota.
#include <cmath>
#include <limits>

#include "ir/ops/infer.h"

namespace graphc::core {
namespace {

std::vector<Type> infer_leaf(const Node& node) {
  expect(node, 0, {"dtype", "shape"});
  return {{node.attributes.get_dtype("dtype", DType::f32), shape_attribute(node)}};
}

bool holds(DType dtype, int64_t number) {
  const auto within = [&]<typename T>(T) {
    return number >= int64_t(std::numeric_limits<T>::min()) &&
           number <= int64_t(std::numeric_limits<T>::max());
  };
  if (dtype == DType::i32) return within(int32_t());
  if (dtype == DType::u32) return within(uint32_t());
  if (dtype == DType::u8) return within(uint8_t());
  return dtype != DType::boolean || number == 0 || number == 1;
}

bool holds(DType dtype, double number) {
  if (is_floating(dtype)) return true;
  return number >= -0x1p63 && number < 0x1p63 && std::trunc(number) == number &&
         holds(dtype, int64_t(number));
}

/// A target would wrap the number, or do what C++ leaves undefined.
template <typename Number>
void check_held(DType dtype, Number number) {
  if (!holds(dtype, number))
    throw input_error({}, "constant: {} is not a number of {}", number, name_of(dtype));
}

int64_t literal_size(const Attribute& value) {
  if (auto list = std::get_if<std::vector<int64_t>>(&value)) return int64_t(list->size());
  if (auto list = std::get_if<std::vector<double>>(&value)) return int64_t(list->size());
  return -1;
}

std::vector<Type> infer_constant(const Node& node) {
  expect(node, 0, {"dtype", "shape", "value"});
  const Type type{node.attributes.get_dtype("dtype", DType::f32), shape_attribute(node)};
  const Attribute* value = node.attributes.find("value");
  if (value == nullptr) throw input_error({}, "constant: attribute 'value' is missing");
  if (std::holds_alternative<std::string>(*value) || std::holds_alternative<DType>(*value)) {
    throw input_error({}, "constant: 'value' is a number, a bool or a list: found {}",
                      to_string(*value));
  }
  const int64_t size = literal_size(*value);
  if (size >= 0 && size != type.shape.elements()) {
    throw input_error({}, "constant: 'value' lists {} elements: {} has {}", size, to_string(type),
                      type.shape.elements());
  }
  if (auto number = std::get_if<int64_t>(value)) check_held(type.dtype, *number);
  if (auto number = std::get_if<double>(value)) check_held(type.dtype, *number);
  if (auto list = std::get_if<std::vector<int64_t>>(value)) {
    for (int64_t number : *list) check_held(type.dtype, number);
  }
  if (auto list = std::get_if<std::vector<double>>(value)) {
    for (double number : *list) check_held(type.dtype, number);
  }
  return {type};
}

std::vector<Type> infer_iota(const Node& node) {
  expect(node, 0, {"axis", "dtype", "shape"});
  const Type type{node.attributes.get_dtype("dtype", DType::i32), shape_attribute(node)};
  if (node.attributes.find("axis") != nullptr) axis_attribute(node, type.shape.rank());
  if (type.dtype == DType::boolean)
    throw input_error({}, "iota: dtype is a number type: found bool");
  return {type};
}

}  // namespace

constinit const Op ops::input{
    .name = "input",
    .doc = "An input of the graph. Written in the graph's header, not as a line.",
    .infer = infer_leaf,
};

constinit const Op ops::state{
    .name = "state",
    .doc =
        "The value of a state of the module before the graph runs. Written in the header, not as a "
        "line.",
    .infer = infer_leaf,
};

constinit const Op ops::constant{
    .name = "constant",
    .doc =
        "A constant of {dtype, shape}; {value} is one number for all elements, or a list in "
        "row-major order.",
    .infer = infer_constant,
    .samples =
        [] {
          return Samples{
              {{}, {{"dtype", DType::f32}, {"shape", std::vector<int64_t>{2, 3}}, {"value", 0.5}}}};
        },
};

constinit const Op ops::iota{
    .name = "iota",
    .doc =
        "The index along {axis} of each element of {shape}; without {axis} the row-major index of "
        "the element.",
    .infer = infer_iota,
    .samples =
        [] {
          return Samples{
              {{},
               {{"dtype", DType::f32},
                {"shape", std::vector<int64_t>{2, 3}},
                {"axis", int64_t{1}}}},
              {{}, {{"dtype", DType::f32}, {"shape", std::vector<int64_t>{3, 5}}}},
          };
        },
};

}  // namespace graphc::core
