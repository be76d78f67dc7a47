// SPDX-License-Identifier: Apache-2.0
#include "passes/kernels/kernel.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ir/op.h"
#include "ir/spelling.h"

namespace graphc::core {
namespace {

/// The family that the node's attribute names.
Family named_family(const Node& node) {
  const std::string word = node.attributes.get_string("family", "");
  std::vector<std::string> words;
  for (const Family family : kFamilies) {
    if (name_of(family) == word) return family;
    words.emplace_back(name_of(family));
  }
  if (word.empty())
    throw input_error(node.where, "kernel: it has no family, one of {}", fmt::join(words, ", "));
  throw input_error(node.where, "kernel: there is no family '{}'; there are {}{}", word,
                    fmt::join(words, ", "), did_you_mean(word, words));
}

/// Whether the body is a single scan of its inputs whose results are the scan's, in order.
bool is_one_scan(const Graph& body) {
  if (body.results().empty() || !body.results()[0].node->is(ops::scan)) return false;
  const Node& scan = *body.results()[0].node;
  if (body.results().size() != size_t(scan.results())) return false;
  for (size_t i = 0; i < body.results().size(); ++i) {
    if (body.results()[i] != scan.result(int(i))) return false;
  }
  return std::ranges::equal(body.inputs(), scan.operands);
}

bool is_table_op(const Node& node) {
  return node.is(ops::gather) || node.is(ops::scatter) || node.is(ops::scatter_add) ||
         node.is(ops::merge_rows) || node.is(ops::check_labels);
}

/// Whether a node reduces axes other than the last, and drops them.
bool drops_rows(const Node& node) {
  return (node.is(ops::sum) || node.is(ops::max)) && !node.attributes.get_bool("keep", false);
}

bool is_concat_of_inputs(const Graph& body) {
  const Node& first = *body.results()[0].node;
  return first.is(ops::concat) && body.results().size() == 1 &&
         std::ranges::all_of(first.operands,
                             [](Value operand) { return operand.node->is(ops::input); });
}

bool has_row_model(Family family) {
  return family == Family::map || family == Family::gemm || family == Family::recurrent;
}

}  // namespace

Family family_of(const Graph& body) {
  const Node& first = *body.results()[0].node;
  if (is_one_scan(body)) return Family::recurrent;
  if (is_table_op(first)) return Family::table;
  if (std::ranges::any_of(body.nodes(), is_inner_reduction)) return Family::inner_reduction;
  if (drops_rows(first)) return Family::reduction;
  if (is_concat_of_inputs(body)) return Family::concat;
  if (is_batched_product(first)) return Family::batched_gemm;
  const bool multiplies =
      std::ranges::any_of(body.nodes(), [](const Node& node) { return node.is(ops::matmul); });
  return multiplies ? Family::gemm : Family::map;
}

Kernel::Kernel(const Node& node) : node_(&node), family_(named_family(node)) {
  if (body().results().empty()) throw input_error(node.where, "kernel: it has no results");
  if (family_ == Family::recurrent && !is_one_scan(body()))
    throw input_error(node.where,
                      "kernel: the body of a recurrent kernel is a single scan of its operands");
  if (const Family found = family_of(body()); found != family_)
    throw input_error(node.where, "kernel: its family is '{}', and its body's is '{}'",
                      name_of(family_), name_of(found));
  if (has_row_model(family_)) rows_ = analyse_rows(step(), &why_no_rows_);
}

const Graph& Kernel::step() const {
  return family_ == Family::recurrent ? first().region() : body();
}

bool is_kernel_of(const Node& node, Family family) {
  return node.is(ops::kernel) && named_family(node) == family;
}

const Node& add_kernel(Graph& graph, Values operands, GraphPtr body, Where where,
                       std::vector<std::string> names) {
  const std::string family(name_of(family_of(*body)));
  return graph.add(ops::kernel, std::move(operands), {{"family", family}}, {std::move(body)}, where,
                   std::move(names));
}

}  // namespace graphc::core
