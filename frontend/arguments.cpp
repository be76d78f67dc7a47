// SPDX-License-Identifier: Apache-2.0
#include "frontend/arguments.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace graphc::core {
namespace {

/// Copies the elements at indices that both shapes have, from axis `axis` on.
void copy_common(const Tensor& from, Tensor& to, int axis, int64_t at, int64_t to_at) {
  const int64_t size = size_of(from.dtype());
  const Shape& source = from.shape();
  const Shape& target = to.shape();
  int64_t inner = 1, to_inner = 1;
  for (int i = axis + 1; i < source.rank(); ++i) {
    inner *= source[i];
    to_inner *= target[i];
  }
  const int64_t count = axis < source.rank() ? std::min(source[axis], target[axis]) : 1;
  const bool whole = std::equal(source.begin() + std::min(axis + 1, source.rank()), source.end(),
                                target.begin() + std::min(axis + 1, source.rank()));
  if (whole) {
    const int64_t bytes = count * inner * size;
    if (bytes > 0)
      std::memcpy(to.address() + to_at * size, from.address() + at * size, size_t(bytes));
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    copy_common(from, to, axis + 1, at + i * inner, to_at + i * to_inner);
}

/// The input in the type that the executable takes.
Tensor converted(const Tensor& input, const Argument& wanted) {
  if (input.dtype() == wanted.type.dtype) return input;
  try {
    return input.literal().converted(wanted.type.dtype);
  } catch (const Error& error) {
    throw input_error({}, "input '{}' is {}: {}", wanted.name, to_string(wanted.type),
                      error.message());
  }
}

/// An input that the caller does not pass.
std::optional<Tensor> implied(const Argument& argument, const InputRules& rules) {
  const auto dim = rules.lengths.find(argument.name);
  if (dim == rules.lengths.end()) return {};
  return Literal::of(int32_t(rules.extents.at(dim->second)));
}

void check_bounds(const Argument& argument, const InputRules& rules, const AnyTensor& input,
                  DeviceStream stream = 0) {
  for (const InputBound& bound : rules.bounds) {
    if (bound.input == argument.name) check_lengths(input, bound, stream);
  }
}

void expect_type(const Argument& argument, const DeviceTensor& input) {
  if (input.type() == argument.type) return;
  throw input_error({},
                    "input '{}' is {}: found {} in the memory of a GPU, where nothing is converted",
                    argument.name, to_string(argument.type), to_string(input.type()));
}

}  // namespace

void check_lengths(const AnyTensor& input, const InputBound& bound, DeviceStream stream) {
  const auto* const there = std::get_if<DeviceTensor>(&input);
  const Tensor here = there == nullptr ? std::get<Tensor>(input) : to_host(*there, stream);
  const std::vector<int64_t> lengths = here.to_vector<int64_t>();
  for (size_t row = 0; row < lengths.size(); ++row) {
    if (lengths[row] >= 0 && lengths[row] <= bound.most) continue;
    throw input_error(bound.where, "lengths '{}': row {} has {} steps: wanted 0 to {}", bound.input,
                      row, lengths[row], bound.most);
  }
}

InputRules rules_of(const TracedGraph& traced) {
  return {.extents = traced.extents, .bounds = traced.bounds, .lengths = traced.lengths};
}

std::vector<Tensor> arguments_of(const Signature& signature, const InputRules& rules,
                                 const std::vector<Tensor>& inputs) {
  std::vector<Tensor> arguments;
  size_t next = 0;
  for (const Argument& argument : signature.inputs) {
    if (const std::optional<Tensor> length = implied(argument, rules)) {
      arguments.push_back(*length);
      continue;
    }
    const Tensor& input = inputs[next++];
    check_bounds(argument, rules, input);
    arguments.push_back(converted(fitted(input, argument.type.shape), argument));
  }
  return arguments;
}

std::vector<AnyTensor> arguments_on_device(const Signature& signature, const InputRules& rules,
                                           const std::vector<AnyTensor>& inputs,
                                           DeviceStream stream) {
  std::vector<AnyTensor> arguments;
  size_t next = 0;
  for (const Argument& argument : signature.inputs) {
    if (const std::optional<Tensor> length = implied(argument, rules)) {
      arguments.emplace_back(*length);
      continue;
    }
    const AnyTensor& input = inputs[next++];
    if (const auto* const there = std::get_if<DeviceTensor>(&input)) {
      expect_type(argument, *there);
      arguments.push_back(input);
    } else {
      arguments.emplace_back(converted(std::get<Tensor>(input), argument));
    }
    check_bounds(argument, rules, input, stream);
  }
  return arguments;
}

Tensor fitted(const Tensor& from, const Shape& shape) {
  if (from.shape() == shape) return from;
  Tensor to({from.dtype(), shape});
  copy_common(from, to, 0, 0, 0);
  return to;
}

}  // namespace graphc::core
