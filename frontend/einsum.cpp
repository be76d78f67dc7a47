// SPDX-License-Identifier: Apache-2.0
// einsum: sums of products by letters, brought to one product of batches of matrices.
#include <algorithm>
#include <map>

#include "frontend/functions.h"

namespace graphc {
namespace {

using Ints = std::vector<int64_t>;

/// "ij,jk->ik" taken apart and checked against the operands.
struct Formula {
  std::vector<std::string> inputs;
  std::string output;
  std::map<char, int64_t> extents;
};

Formula parse_formula(const std::string& text, const Values& operands, Where where) {
  Formula formula;
  const size_t arrow = text.find("->");
  if (arrow == std::string::npos)
    throw input_error(where, "einsum: wanted a formula like 'ij,jk->ik': found '{}'", text);
  std::string letters;
  for (char c : text.substr(0, arrow) + ",") {
    if (c == ' ') continue;
    if (c != ',' && (c < 'a' || c > 'z'))
      throw input_error(where, "einsum: axes are letters a to z: found '{}' in '{}'", c, text);
    if (c != ',') letters += c;
    if (c == ',') formula.inputs.push_back(std::exchange(letters, {}));
  }
  for (char c : text.substr(arrow + 2)) {
    if (c != ' ') formula.output += c;
  }
  if (formula.inputs.size() != operands.size() || operands.size() > 2) {
    throw input_error(where, "einsum: '{}' is for {} operands, one or two are possible: found {}",
                      text, formula.inputs.size(), operands.size());
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string& axes = formula.inputs[i];
    const Shape& shape = operands[i].shape();
    if (int(axes.size()) != shape.rank()) {
      throw input_error(where, "einsum: '{}' has {} axes: operand {} is {}", axes, axes.size(), i,
                        to_string(operands[i].type()));
    }
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      if (axes.find(axes[axis], axis + 1) != std::string::npos)
        throw input_error(where, "einsum: '{}' comes twice in '{}'", axes[axis], axes);
      const auto [known, added] = formula.extents.emplace(axes[axis], shape[int(axis)]);
      if (!added && known->second != shape[int(axis)]) {
        throw input_error(where, "einsum: '{}' is {} and {}", axes[axis], known->second,
                          shape[int(axis)]);
      }
    }
  }
  for (size_t i = 0; i < formula.output.size(); ++i) {
    const char c = formula.output[i];
    if (!formula.extents.contains(c) || formula.output.find(c, i + 1) != std::string::npos)
      throw input_error(where, "einsum: '{}' of the result is in no operand, or comes twice", c);
  }
  return formula;
}

bool has(const std::string& axes, char c) { return axes.find(c) != std::string::npos; }

/// The axes of `from` that `choose` takes, in order.
template <typename Choose>
std::string chosen(const std::string& from, Choose choose) {
  std::string axes;
  std::ranges::copy_if(from, std::back_inserter(axes), choose);
  return axes;
}

/// Sums over the axes that are not in `kept`; leaves those that are.
Value sum_others(Value x, std::string& axes, const std::string& kept) {
  Ints gone;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!has(kept, axes[i])) gone.push_back(int64_t(i));
  }
  axes = chosen(axes, [&](char c) { return has(kept, c); });
  return gone.empty() ? x : sum(x, gone);
}

Value in_order(Value x, const std::string& axes, const std::string& order) {
  Ints permutation;
  for (char c : order) permutation.push_back(int64_t(axes.find(c)));
  return axes == order ? x : transpose(x, permutation);
}

}  // namespace

Value einsum(const std::string& text, const Values& operands, Where where) {
  const Formula formula = parse_formula(text, operands, where);
  const WhereScope scope(where);
  std::string a = formula.inputs[0];
  if (operands.size() == 1) {
    const Value x = sum_others(operands[0], a, formula.output);
    return in_order(x, a, formula.output);
  }
  std::string b = formula.inputs[1];
  const Value x = sum_others(operands[0], a, formula.output + b);
  const Value y = sum_others(operands[1], b, formula.output + a);
  const std::string& out = formula.output;
  const std::string batch = chosen(a, [&](char c) { return has(b, c) && has(out, c); });
  const std::string inner = chosen(a, [&](char c) { return has(b, c) && !has(out, c); });
  const std::string rows = chosen(a, [&](char c) { return !has(b, c); });
  const std::string columns = chosen(b, [&](char c) { return !has(a, c); });
  const auto extent = [&](const std::string& axes) {
    int64_t product = 1;
    for (char c : axes) product *= formula.extents.at(c);
    return product;
  };
  Ints left, right;
  if (!batch.empty()) left = right = {extent(batch)};
  for (int64_t n : {extent(rows), extent(inner)}) left.push_back(n);
  for (int64_t n : {extent(inner), extent(columns)}) right.push_back(n);
  const Value product = matmul(reshape(in_order(x, a, batch + rows + inner), Shape(left)),
                               reshape(in_order(y, b, batch + inner + columns), Shape(right)));
  Ints extents;
  for (char c : batch + rows + columns) extents.push_back(formula.extents.at(c));
  return in_order(reshape(product, Shape(extents)), batch + rows + columns, out);
}

}  // namespace graphc
