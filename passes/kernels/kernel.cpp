// SPDX-License-Identifier: Apache-2.0
#include "passes/kernels/kernel.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ir/op.h"
#include "ir/spelling.h"
#include "passes/kernels/row_model.h"

namespace graphc::core {
namespace {

Family family_of(const Node& node) {
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

}  // namespace

Kernel::Kernel(const Node& node) : node_(&node), family_(family_of(node)) {
  if (body().results().empty()) throw input_error(node.where, "kernel: it has no results");
  if (family_ == Family::recurrent && !is_one_scan(body()))
    throw input_error(node.where,
                      "kernel: the body of a recurrent kernel is a single scan of its operands");
}

BodyForm form_of(const Kernel& kernel) {
  const Node& first = kernel.first();
  switch (kernel.family()) {
    case Family::recurrent:
      return BodyForm::loop;
    case Family::table:
      return BodyForm::table;
    case Family::map:
    case Family::gemm:
      break;
  }
  if (std::ranges::any_of(kernel.body().nodes(), is_inner_reduction))
    return BodyForm::inner_reductions;
  const auto is_input = [](Value value) { return value.node->is(ops::input); };
  if ((first.is(ops::sum) || first.is(ops::max)) && !first.attributes.get_bool("keep", false))
    return BodyForm::column_reduction;
  if (first.is(ops::concat) && kernel.body().results().size() == 1 &&
      std::ranges::all_of(first.operands, is_input))
    return BodyForm::concatenation;
  return is_batched_product(first) ? BodyForm::batched_product : BodyForm::row_program;
}

bool is_kernel_of(const Node& node, Family family) {
  return node.is(ops::kernel) && Kernel(node).family() == family;
}

const Node& add_kernel(Graph& graph, Family family, Values operands, GraphPtr body, Where where,
                       std::vector<std::string> names) {
  return graph.add(ops::kernel, std::move(operands), {{"family", std::string(name_of(family))}},
                   {std::move(body)}, where, std::move(names));
}

}  // namespace graphc::core
