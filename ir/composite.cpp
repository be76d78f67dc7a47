// SPDX-License-Identifier: Apache-2.0
#include "ir/composite.h"

#include <limits>
#include <set>
#include <unordered_map>

#include "ir/called.h"
#include "ir/op.h"
#include "ir/text.h"

namespace graphc::core {
namespace {

/// Instantiations per thread whose types are cached.
constexpr size_t kMaxRemembered = 4096;

std::vector<Type> operand_types(const Node& node) {
  std::vector<Type> types;
  for (Value operand : node.operands) types.push_back(operand.type());
  return types;
}

/// The names of a body's parameters, in order, from its first pair of parentheses.
std::vector<std::string_view> parameters_of(std::string_view body) {
  std::vector<std::string_view> names;
  const size_t close = body.find(')');
  for (size_t at = body.find('%'); at < close; at = body.find('%', at + 1)) {
    const size_t end = body.find_first_of(",: )", at);
    names.push_back(body.substr(at + 1, end - at - 1));
  }
  return names;
}

std::string list(std::span<const int64_t> extents) {
  return fmt::format("[{}]", fmt::join(extents.begin(), extents.end(), ","));
}

/// An iota of u8 wraps around at 256: indices are compared in a wider dtype.
DType index_dtype(DType dtype) {
  if (dtype == DType::u8) return DType::i32;
  return dtype == DType::u32 ? DType::i64 : dtype;
}

/// The smallest number of a dtype.
std::string lowest_of(DType dtype) {
  if (is_floating(dtype)) return "-inf";
  if (dtype == DType::i32) return fmt::format("{}", std::numeric_limits<int32_t>::min());
  if (dtype == DType::i64) return fmt::format("{}", std::numeric_limits<int64_t>::min());
  return "0";
}

/// The text of `$parameter.fact`.
std::string fact_of(const Type& type, std::string_view fact) {
  const Shape& shape = type.shape;
  if (fact == "dtype") return std::string(name_of(type.dtype));
  if (fact == "index") return std::string(name_of(index_dtype(type.dtype)));
  if (fact == "mirror") return is_integer(type.dtype) ? "1" : "0";
  if (fact == "lowest") return lowest_of(type.dtype);
  if (fact == "shape") return list(shape.extents());
  if (fact == "rotated") {
    std::vector<int64_t> permutation(size_t(shape.rank()));
    for (size_t i = 0; i < permutation.size(); ++i) permutation[i] = int64_t(i + 1) % shape.rank();
    return list(permutation);
  }
  if (fact == "column") return to_string(shape.insert(shape.rank(), 1));
  if (fact == "axes") {
    std::vector<int64_t> axes(size_t(shape.rank()));
    for (size_t i = 0; i < axes.size(); ++i) axes[i] = int64_t(i);
    return list(axes);
  }
  GRAPHC_CHECK(fact == "last" || fact == "width", "a body asks for '{}' of a parameter", fact);
  if (shape.rank() == 0)
    throw input_error({}, "takes a value of at least one axis: found {}", to_string(type));
  return std::to_string(fact == "last" ? shape.rank() - 1 : shape[-1]);
}

/// Produces the texts of `$...` for one node, and records which attributes the body uses.
class Substitution {
 public:
  explicit Substitution(const Node& node) : node_(node), parameters_(parameters_of(node.op.body)) {}

  std::string operator()(std::string_view name) {
    const size_t dot = name.find('.'), colon = name.find(':');
    if (dot < colon) {
      for (size_t i = 0; i < parameters_.size(); ++i) {
        if (parameters_[i] != name.substr(0, dot)) continue;
        return i < node_.operands.size() ? fact_of(node_.operands[i].type(), name.substr(dot + 1))
                                         : "0";  // the parser reports the wrong number of operands
      }
      GRAPHC_CHECK(false, "the body of {} has no parameter for '${}'", node_.op.name, name);
    }
    known_.insert(std::string(name.substr(0, colon)));
    if (const Attribute* value = node_.attributes.find(name.substr(0, colon)))
      return to_string(*value);
    if (colon != name.npos) return std::string(name.substr(colon + 1));
    throw input_error({}, "attribute '{}' is missing", name);
  }

  /// Throws for attributes that the body does not use.
  void check_attributes() const {
    for (const auto& [name, value] : node_.attributes) {
      if (known_.contains(name)) continue;
      throw input_error({}, "unknown attribute '{}': it has {}", name,
                        known_.empty() ? "none" : fmt::format("{}", fmt::join(known_, ", ")));
    }
  }

 private:
  const Node& node_;
  std::vector<std::string_view> parameters_;
  std::set<std::string, std::less<>> known_;
};

/// Everything that determines the types of the body.
std::string key_of(const Node& node) {
  std::string key(node.op.name);
  for (Value operand : node.operands) key += " " + to_string(operand.type());
  for (const auto& [name, value] : node.attributes) key += ";" + name + "=" + to_string(value);
  return key;
}

}  // namespace

GraphPtr body_of(const Node& node) {
  GRAPHC_CHECK(is_composite(node.op), "'{}' has no body", node.op.name);
  Substitution substitution(node);
  try {
    GraphPtr body = parse_body(
        node.op.body, operand_types(node), node.op.name,
        [&](std::string_view name) { return substitution(name); }, node.where);
    substitution.check_attributes();
    return body;
  } catch (const Error& error) {
    // The position in the body is of no use to the user: keep the first line of the message.
    const std::string& message = error.message();
    throw Error(error.kind(), {}, in_words_of(node.op.name, message.substr(0, message.find('\n'))));
  }
}

std::vector<Type> infer_by_body(const Node& node) {
  // Every copy of a node infers its types again; parsing the body each time would dominate passes.
  thread_local std::unordered_map<std::string, std::vector<Type>> remembered;
  std::string key = key_of(node);
  if (const auto found = remembered.find(key); found != remembered.end()) return found->second;
  const GraphPtr body = body_of(node);
  std::vector<Type> types;
  for (Value result : body->results()) types.push_back(result.type());
  if (remembered.size() >= kMaxRemembered) remembered.clear();
  remembered.emplace(std::move(key), types);
  return types;
}

}  // namespace graphc::core
