// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/loops/loop_parameters.h"

#include <fmt/format.h>

#include <algorithm>

namespace graphc::core::cuda {

void LoopParameters::add(std::string_view type, const std::string& name, LaunchValue argument) {
  listed_.push_back(fmt::format("\n    {} {}", type, name));
  arguments_.push_back(argument);
}

void LoopParameters::add_number(const std::string& name, int64_t number) {
  add("long long", name, {KernelArgument::Kind::number, number, {}});
}

void LoopParameters::add_place(std::string_view type, const std::string& name,
                               const BufferPlace& place) {
  add(type, name, {KernelArgument::Kind::address, 0, place});
}

void LoopParameters::bind(TextWriter& text, const Parameter& parameter, size_t nest) {
  const Plan& plan = *nests_.plan;
  const NestCall& call = *nests_.nests[nest];
  const Address* address = address_for(parameter, plan, call);
  if (address != nullptr) return bind_address(text, parameter, *address, nest);
  const int64_t number = number_for(parameter, plan, call);
  switch (parameter.kind) {
    case ParameterKind::rows:
    case ParameterKind::columns:
      if (!is_streamed()) return;
      return add_number(fmt::format("{}_of_{}", parameter.name, nest), number);
    case ParameterKind::k:
      if (placement_.counted != nullptr) return;  // its text has the number of terms
      return add("long long", parameter.name, {KernelArgument::Kind::number, number, {}});
    case ParameterKind::extent: {
      const std::string name = fmt::format("{}_of_{}", parameter.name, nest);
      add_number(name, number);
      return text.line("const long long {} = {};", parameter.name, name);
    }
    case ParameterKind::base:
      if (group_stride(parameter, nest) != 0)
        return bind_first_index(text, parameter, number, nest);
      [[fallthrough]];
    default:
      add(is_index(parameter) ? placement_.counted->index_type : parameter.type, parameter.name,
          {KernelArgument::Kind::number, number, {}});
  }
}

/// Of an iota whose groups of rows have other indices.
void LoopParameters::bind_first_index(TextWriter& text, const Parameter& parameter, int64_t number,
                                      size_t nest) {
  const std::string first = names_.make(parameter.name + "_base");
  add_number(first, number);
  text.line("const long long {} = {};", parameter.name, in_group(first, parameter, nest));
}

void LoopParameters::bind_address(TextWriter& text, const Parameter& parameter,
                                  const Address& address, size_t nest) {
  const DType dtype = dtype_of(parameter, nests_.program(nest));
  if (is_exchanged(parameter, nest)) return bind_exchanged(parameter, first_place(address), nest);
  const MovingPlace place = moving_place(address, nests_);
  const std::string& name = parameter.name;
  const std::string base = names_.make(name + "_base");
  add_place(parameter.type, base, place.base);
  bases_[name] = in_group(base, parameter, nest);
  if (is_resident(parameter, nest)) return;
  std::string here = bases_[name];
  if (place.step != 0) {
    const std::string step = names_.make(name + "_step");
    add_number(step, place.step / size_of(dtype));
    here += " + step * " + step;
  }
  if (place.slot != 0) {
    const std::string slot = names_.make(name + "_slot");
    add_number(slot, place.slot / size_of(dtype));
    here += " + iteration % 2 * " + slot;
  }
  if (place.first) {
    const std::string first = names_.make(name + "_first");
    add_place(parameter.type, first, *place.first);
    here = fmt::format("iteration == 0 ? {} : {}", in_group(first, parameter, nest), here);
  }
  text.line("{} {} = {};", parameter.type, name, here);
}

/// A left operand that is read before the first step alone.
void LoopParameters::bind_exchanged(const Parameter& parameter, const BufferPlace& place,
                                    size_t nest) {
  if (group_stride(parameter, nest) == 0) return add_place(parameter.type, parameter.name, place);
  const std::string base = names_.make(parameter.name + "_base");
  add_place(parameter.type, base, place);
  before_.line("{} {} = {};", parameter.type, parameter.name, in_group(base, parameter, nest));
}

/// In elements, or for an iota in indices.
int64_t LoopParameters::group_stride(const Parameter& parameter, size_t nest) const {
  if (placement_.groups == 1) return 0;
  const GroupStrides& strides = nests_.group_strides[nest];
  const size_t index = size_t(parameter.index);
  if (parameter.kind == ParameterKind::base &&
      nests_.program(nest).operands[index].kind == OperandKind::iota)
    return strides.operands[index];
  const int64_t bytes = parameter.kind == ParameterKind::left    ? strides.left[index]
                        : parameter.kind == ParameterKind::right ? strides.right[index]
                                                                 : strides.operands[index];
  return bytes / size_of(dtype_of(parameter, nests_.program(nest)));
}

/// A pointer or an index, moved from the first group of rows to that of the block.
std::string LoopParameters::in_group(const std::string& first, const Parameter& parameter,
                                     size_t nest) {
  const int64_t stride = group_stride(parameter, nest);
  if (stride == 0) return first;
  std::string& name = group_strides_[parameter.name];
  if (name.empty()) {
    name = names_.make(parameter.name + "_group");
    add_number(name, stride);
  }
  return fmt::format("{} + matrix_group * {}", first, name);
}

/// Whether it is a stride of an operand's elements in a step of a counted loop.
bool LoopParameters::is_index(const Parameter& parameter) const {
  return placement_.counted != nullptr &&
         (parameter.kind == ParameterKind::row || parameter.kind == ParameterKind::part ||
          parameter.kind == ParameterKind::column);
}

/// Whether it is a matrix that is in shared memory during the steps.
bool LoopParameters::is_resident(const Parameter& parameter, size_t nest) const {
  return !is_streamed() && parameter.kind == ParameterKind::right &&
         placement_.nests[nest].form.resident[size_t(parameter.index)];
}

bool LoopParameters::is_exchanged(const Parameter& parameter, size_t nest) const {
  return !is_streamed() && parameter.kind == ParameterKind::left &&
         placement_.nests[nest].form.exchanged[size_t(parameter.index)];
}

/// The place of an address in the first step.
BufferPlace LoopParameters::first_place(const Address& address) const {
  Position position = nests_.position;
  position.resize(std::max(position.size(), size_t(nests_.depth) + 1));
  position[size_t(nests_.depth)] = position_in(*nests_.loop, 0);
  return resolve(address, position);
}

}  // namespace graphc::core::cuda
