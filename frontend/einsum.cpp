// SPDX-License-Identifier: Apache-2.0
// einsum: lowers an Einstein summation to one batched matmul.
#include <algorithm>
#include <map>

#include "frontend/functions.h"
#include "ir/called.h"

namespace graphc::core {
namespace {

using Ints = std::vector<int64_t>;

/// "ij,jk->ik" parsed and checked against the operands.
struct Formula {
  std::vector<std::string> inputs;
  std::string output;
  std::map<char, int64_t> extents;
};

/// Stands for "..." in a term; plus 1 to 8, for the individual axes there, the last being 1.
constexpr char kOthers = 1;

bool has(const std::string& axes, char c) { return axes.find(c) != std::string::npos; }

/// Axes as the user wrote them.
std::string shown(const std::string& axes) {
  std::string text;
  for (char c : axes) {
    if (c > kOthers + Shape::kMaxRank) {
      text += c;
    } else if (!text.ends_with("...")) {
      text += "...";
    }
  }
  return text;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// The letters of the operands, one term each, from the part before the arrow.
std::vector<std::string> terms_of(const std::string& text, const std::string& formula,
                                  Where where) {
  std::vector<std::string> terms(1);
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ',') {
      terms.emplace_back();
    } else if (text.compare(i, 3, "...") == 0) {
      terms.back() += kOthers;
      i += 2;
    } else if (is_letter(c)) {
      terms.back() += c;
    } else if (c != ' ') {
      throw input_error(where,
                        "einsum: axes are letters a to z and A to Z, or '...': found '{}' in '{}'",
                        c, formula);
    }
  }
  for (const std::string& term : terms) {
    if (std::ranges::count(term, kOthers) > 1)
      throw input_error(where, "einsum: '...' comes twice in one operand of '{}'", formula);
  }
  return terms;
}

/// Replaces "..." by one mark per axis; the last axis has the same mark in all operands.
void expand_others(std::string& axes, int rank) {
  const size_t at = axes.find(kOthers);
  if (at == std::string::npos) return;
  const int others = std::max(0, rank - int(axes.size()) + 1);
  std::string marks;
  for (int i = others; i > 0; --i) marks += char(kOthers + i);
  axes.replace(at, 1, marks);
}

/// The output of a formula without an arrow: the axes of "...", then the letters that occur once,
/// sorted.
std::string implicit_output(const std::vector<std::string>& inputs) {
  std::string all, others, output;
  for (const std::string& axes : inputs) all += axes;
  std::ranges::sort(all);
  for (char c : all) {
    if (!is_letter(c) && others.find(c) == std::string::npos) others.insert(0, 1, c);
    if (is_letter(c) && std::ranges::count(all, c) == 1) output += c;
  }
  return others + output;
}

/// Records the extents of an operand's axes.
void note_extents(Formula& formula, size_t operand, Value x, Where where) {
  const std::string& axes = formula.inputs[operand];
  const Shape& shape = x.shape();
  if (int(axes.size()) != shape.rank()) {
    throw input_error(where, "einsum: '{}' has {} axes: operand {} is {}", shown(axes), axes.size(),
                      operand, to_string(x.type()));
  }
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes.find(axes[axis], axis + 1) != std::string::npos)
      throw input_error(where, "einsum: '{}' comes twice in '{}'", axes[axis], shown(axes));
    const auto [known, added] = formula.extents.emplace(axes[axis], shape[int(axis)]);
    if (!added && known->second != shape[int(axis)]) {
      throw input_error(where, "einsum: '{}' is {} and {}", shown({axes[axis]}), known->second,
                        shape[int(axis)]);
    }
  }
}

Formula parse_formula(const std::string& text, const Values& operands, Where where) {
  Formula formula;
  const size_t arrow = text.find("->");
  formula.inputs = terms_of(text.substr(0, arrow), text, where);
  if (formula.inputs.size() != operands.size() || operands.size() > 2) {
    throw input_error(where, "einsum: '{}' is for {} operands, one or two are possible: found {}",
                      text, formula.inputs.size(), operands.size());
  }
  int most = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const int rank = operands[i].shape().rank(), letters = int(formula.inputs[i].size());
    if (has(formula.inputs[i], kOthers)) most = std::max(most, rank - letters + 1);
    expand_others(formula.inputs[i], rank);
    note_extents(formula, i, operands[i], where);
  }
  if (arrow == std::string::npos) {
    formula.output = implicit_output(formula.inputs);
    return formula;
  }
  const std::vector<std::string> output = terms_of(text.substr(arrow + 2), text, where);
  if (output.size() != 1)
    throw input_error(where, "einsum: wanted one result behind the arrow: found '{}'", text);
  formula.output = output[0];
  expand_others(formula.output, int(formula.output.size()) - 1 + most);
  for (size_t i = 0; i < formula.output.size(); ++i) {
    const char c = formula.output[i];
    if (!formula.extents.contains(c) || formula.output.find(c, i + 1) != std::string::npos)
      throw input_error(where, "einsum: '{}' of the result is in no operand, or comes twice",
                        shown({c}));
  }
  return formula;
}

/// The axes of `from` for which `choose` is true, in order.
template <typename Choose>
std::string chosen(const std::string& from, Choose choose) {
  std::string axes;
  std::ranges::copy_if(from, std::back_inserter(axes), choose);
  return axes;
}

/// Sums over the axes that are not in `kept`, and removes them from `axes`.
Value sum_others(Value x, std::string& axes, const std::string& kept) {
  Ints gone;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!has(kept, axes[i])) gone.push_back(int64_t(i));
  }
  axes = chosen(axes, [&](char c) { return has(kept, c); });
  return gone.empty() ? x : sum(x, gone);
}

Value in_order(Value x, const std::string& axes, const std::string& order) {
  if (axes == order) return x;
  Ints permutation, extents;
  for (char c : order) {
    permutation.push_back(int64_t(axes.find(c)));
    extents.push_back(x.shape()[int(permutation.back())]);
  }
  // Axes of one element have no order.
  const auto is_long = [&](char c) { return x.shape()[int(axes.find(c))] != 1; };
  if (chosen(axes, is_long) == chosen(order, is_long)) return reshape(x, extents);
  return transpose(x, permutation);
}

}  // namespace

Value einsum(const std::string& text, const Values& operands, Where where) {
  const Called called("einsum", where);
  const Formula formula = parse_formula(text, operands, where);
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
  if (extent(batch) != 1) left = right = {extent(batch)};
  for (int64_t n : {extent(rows), extent(inner)}) left.push_back(n);
  for (int64_t n : {extent(inner), extent(columns)}) right.push_back(n);
  const Value product = matmul(reshape(in_order(x, a, batch + rows + inner), Shape(left)),
                               reshape(in_order(y, b, batch + inner + columns), Shape(right)));
  Ints extents;
  for (char c : batch + rows + columns) extents.push_back(formula.extents.at(c));
  return in_order(reshape(product, Shape(extents)), batch + rows + columns, out);
}

}  // namespace graphc::core
