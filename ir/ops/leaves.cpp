// SPDX-License-Identifier: Apache-2.0
// The records of ops without operands: inputs, states, constants and iota.
#include "ir/numeral.h"
#include "ir/ops/infer.h"

namespace graphc::core {
namespace {

std::vector<Type> infer_leaf(const Node& node) {
  expect(node, 0, {"dtype", "shape"});
  return {{node.attributes.get_dtype("dtype", DType::f32), shape_attribute(node)}};
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
  // Otherwise a target would wrap the number, or run into undefined behaviour of C++.
  check_held("constant", type.dtype, *value);
  return {type};
}

std::vector<Type> infer_iota(const Node& node) {
  expect(node, 0, {"axis", "dtype", "shape"});
  const Type type{node.attributes.get_dtype("dtype", DType::i32), shape_attribute(node)};
  const bool along_axis = node.attributes.find("axis") != nullptr;
  const int axis = along_axis ? axis_attribute(node, type.shape.rank()) : 0;
  if (type.dtype == DType::boolean)
    throw input_error({}, "iota: dtype is a number type: found bool");
  const int64_t last = (along_axis ? type.shape[axis] : type.shape.elements()) - 1;
  if (is_integer(type.dtype) && type.shape.elements() > 0 && !holds(type.dtype, last)) {
    throw input_error({}, "iota: counts to {}: that is not a number of {}", last,
                      name_of(type.dtype));
  }
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
        "row-major order. Types of integers must have the number; floats round it, but not to "
        "infinity.",
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
        "the element. A type of integers must have the last index; one of floats rounds.",
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
