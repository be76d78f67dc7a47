// SPDX-License-Identifier: Apache-2.0
// The inputs and results of a graph while its function is traced.
#include <algorithm>
#include <cstring>

#include "frontend/model.h"
#include "ir/spelling.h"

namespace graphc::core {
namespace {

std::string dims_text(DType dtype, const std::vector<Dim>& dims) {
  std::string text;
  for (const Dim& dim : dims) {
    text += text.empty() ? "" : ",";
    text += dim.name.empty() ? std::to_string(dim.extent) : dim.name;
  }
  return fmt::format("{}[{}]", name_of(dtype), text);
}

bool in_one_function(const std::source_location& a, const std::source_location& b) {
  return std::strcmp(a.file_name(), b.file_name()) == 0 &&
         std::strcmp(a.function_name(), b.function_name()) == 0;
}

bool is_written_before(const std::source_location& a, const std::source_location& b) {
  return std::pair(a.line(), a.column()) < std::pair(b.line(), b.column());
}

bool is_at_one_place(const std::source_location& a, const std::source_location& b) {
  return a.line() == b.line() && a.column() == b.column();
}

/// A stand-in for an input whose type is wrong, until the expression has ended.
Type placeholder(DType dtype, const std::vector<Dim>& dims) {
  std::vector<int64_t> extents;
  for (const Dim& dim : dims) extents.push_back(dim.name.empty() ? dim.extent : 1);
  return {dtype, Shape(extents)};
}

void check_dims(const std::string& input, const std::vector<Dim>& dims, Where where) {
  for (const Dim& dim : dims) {
    if (!dim.name.empty() || dim.extent >= 0) continue;
    throw input_error(where, "input '{}': an extent is a number from 0 on, or a name: found {}",
                      input, dim.is_name ? "an empty name" : std::to_string(dim.extent));
  }
}

}  // namespace

Results::Results(std::initializer_list<std::pair<std::string, Value>> named, Where where) {
  for (const auto& [name, value] : named) {
    if (name.empty()) throw input_error(where, "result {} has an empty name", values.size());
    if (std::ranges::find(names, name) != names.end())
      throw input_error(where, "two results are called '{}': each has a name of its own", name);
    value.expect_usable(where);
    names.push_back(name);
    values.push_back(value);
  }
}

DeclaredIn::~DeclaredIn() {
  if (inputs_ != nullptr) std::erase(inputs_->expression_, this);
}

Inputs::Inputs(Model& model, Trace& trace, const TraceFor& wanted, std::vector<std::string> order)
    : model_(model), trace_(trace), wanted_(wanted), order_(std::move(order)) {}

size_t Inputs::place_of(const std::string& name, const DeclaredIn& expression, Where where) {
  auto place = std::ranges::find(order_, name);
  if (place == order_.end()) place = order_.insert(order_.end(), name);
  for (const DeclaredIn* other : expression_) {
    if (!in_one_function(other->place_, expression.place_)) {
      throw input_error(where,
                        "inputs '{}' and '{}' are declared in one expression by two functions: C++ "
                        "leaves open which comes first: declare one in a statement before",
                        other->name_, name);
    }
    if (is_at_one_place(other->place_, expression.place_)) {
      throw input_error(where,
                        "inputs '{}' and '{}' are declared in one expression at one place of the "
                        "text, as what a macro is given is: which comes first is not to be seen: "
                        "declare one in a statement before",
                        other->name_, name);
    }
    const auto after = std::ranges::find(order_, other->name_);
    if (!is_written_before(expression.place_, other->place_) || place < after) continue;
    std::rotate(after, place, place + 1);
    reordered_ = true;
    throw InAnotherOrder{};
  }
  return size_t(place - order_.begin());
}

const GivenType* Inputs::given(const std::string& name, size_t place, Where where) const {
  if (wanted_.named != nullptr) {
    const auto found = wanted_.named->find(name);
    if (found != wanted_.named->end()) return &found->second;
    std::vector<std::string> names;
    for (const auto& [known, type] : *wanted_.named) names.push_back(known);
    throw input_error(where, "graph '{}': input '{}' is missing: found {}", trace_.root().name(),
                      name, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
  }
  if (wanted_.types == nullptr) return nullptr;
  const GivenTypes& types = *wanted_.types;
  if (place < types.size()) return &types[place];
  throw input_error(where, "graph '{}': input '{}' is missing: found {} input{}",
                    trace_.root().name(), name, types.size(), types.size() == 1 ? "" : "s");
}

int64_t Inputs::extent_of(const Dim& dim, int axis, const Type* found, const std::string& input,
                          Where where) {
  if (dim.name.empty()) {
    if (found == nullptr || found->shape[axis] == dim.extent) return dim.extent;
    throw input_error(where, "input '{}' has extent {} along axis {}: found {}", input, dim.extent,
                      axis, to_string(*found));
  }
  if (found == nullptr) {
    const auto given = wanted_.extents->find(dim.name);
    if (given == wanted_.extents->end()) {
      throw input_error(where, "input '{}': no extent is given for '{}'", input, dim.name);
    }
    extents_[dim.name] = given->second;
    return given->second;
  }
  const auto [known, added] = extents_.emplace(dim.name, found->shape[axis]);
  if (!added && known->second != found->shape[axis]) {
    throw input_error(where, "input '{}': '{}' is {} in an input before: found {}", input, dim.name,
                      known->second, to_string(*found));
  }
  return known->second;
}

Type Inputs::type_of(const std::string& name, size_t place, DType dtype,
                     const std::vector<Dim>& dims, Where where) {
  const GivenType* brought = given(name, place, where);
  const Type* found = brought == nullptr ? nullptr : &brought->type;
  if (found != nullptr && (!Data::fits(found->dtype, dtype, brought->converts) ||
                           found->shape.rank() != int(dims.size()))) {
    throw input_error(where, "input '{}' is {}: found {}", name, dims_text(dtype, dims),
                      to_string(*found));
  }
  std::vector<int64_t> extents;
  for (const Dim& dim : dims) {
    extents.push_back(extent_of(dim, int(extents.size()), found, name, where));
  }
  return {dtype, Shape(extents)};
}

Value Inputs::operator()(const std::string& name, DType dtype, const std::vector<Dim>& dims,
                         Where where, const DeclaredIn& expression) {
  if (pending_ && expression_.empty()) throw *pending_;
  if (name.empty())
    throw input_error(where, "an input of graph '{}' has an empty name", trace_.root().name());
  if (const auto known = declared_.find(name); known != declared_.end()) {
    throw input_error(where, "graph '{}' has an input '{}' already: use its value, or another name",
                      trace_.root().name(), name)
        .note(fmt::format("'{}' was declared at {}:{}", name, known->second.where.file,
                          known->second.where.line));
  }
  check_dims(name, dims, where);
  const size_t place = place_of(name, expression, where);
  expression.inputs_ = this;
  expression.name_ = name;
  expression_.push_back(&expression);
  Type type = placeholder(dtype, dims);
  try {
    type = type_of(name, place, dtype, dims, where);
  } catch (const Error& error) {
    // The error is deferred: an earlier input of the same expression may still move this one.
    if (!pending_ || place < pending_place_) {
      pending_ = error;
      pending_place_ = place;
    }
  }
  const Value value = trace_.root().input(type, name, where);
  declared_.emplace(name, Declared{where, value, dims});
  return value;
}

void Inputs::expect_all_declared(Where where) const {
  if (pending_) throw *pending_;
  const std::string& graph = trace_.root().name();
  if (wanted_.types != nullptr && wanted_.types->size() != declared_.size()) {
    throw input_error(where, "graph '{}' has {} input{}: found {}", graph, declared_.size(),
                      declared_.size() == 1 ? "" : "s", wanted_.types->size());
  }
  if (wanted_.named == nullptr) return;
  for (const auto& [name, type] : *wanted_.named) {
    if (declared_.contains(name)) continue;
    std::vector<std::string> names;
    for (const auto& [known, input] : declared_) names.push_back(known);
    throw input_error(where, "graph '{}' has no input '{}'{}", graph, name,
                      did_you_mean(name, names));
  }
}

void Inputs::describe(TracedGraph& traced, Values& values) const {
  traced.extents = extents_;
  for (const std::string& name : order_) {
    const auto found = declared_.find(name);
    if (found == declared_.end()) continue;
    traced.inputs.push_back(name);
    traced.dims.push_back(found->second.dims);
    values.push_back(found->second.value);
  }
  for (const auto& [dim, length] : lengths_) traced.lengths.emplace(length.name(), dim);
}

Value Inputs::length(std::string_view dim, Where where) {
  const int64_t now = extent(dim, where);
  if (!holds(DType::i32, now))
    throw input_error(where, "length: '{}' is {}: that is not a number of i32", dim, now);
  const auto [known, added] = lengths_.emplace(dim, Value());
  if (added)
    known->second = trace_.root().input({DType::i32, {}}, fmt::format("{}.length", dim), where);
  return known->second;
}

int64_t Inputs::extent(std::string_view dim, Where where) const {
  const auto found = extents_.find(dim);
  if (found == extents_.end()) throw input_error(where, "no input before has a dim '{}'", dim);
  return found->second;
}

State Inputs::state(const std::string& name, const Shape& shape, Initializer initializer,
                    StateOptions options, Where where) {
  return state(name, Type{DType::f32, shape}, std::move(initializer), options, where);
}

State Inputs::state(const std::string& name, const Type& type, Initializer initializer,
                    StateOptions options, Where where) {
  return model_.state(name, type, std::move(initializer), options, where);
}

}  // namespace graphc::core
