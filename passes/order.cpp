// SPDX-License-Identifier: Apache-2.0
#include "passes/order.h"

#include <algorithm>

namespace graphc::core {
namespace {

constexpr OrderRule listed_rules[] = {
    {"reroll", "simplify", Harm::slower,
     "What is folded in the copy that meets a state of zeros makes it another than the others."},
    {"simplify,cse", "autodiff", Harm::slower,
     "Also inside bodies. Two equal values would be saved twice, or one of them computed again "
     "through a product in the backward loop. Sound, because a gradient is taken at leaves: "
     "inputs, "
     "states and results of `watch`, which no pass merges or removes."},
    {"pack-matmuls", "hoist", Harm::slower,
     "The concatenation of weights becomes invariant and leaves the loop; a split contraction "
     "exposes the product of the input."},
    {"hoist", "autodiff", Harm::slower,
     "What has left the loop is differentiated over all steps at once. Else the backward loop has "
     "it, and what leaves that one computes the gradients of gates again: an LSTM has 135 nodes "
     "for "
     "120."},
    {"hoist", "outline", Harm::slower,
     "A loop that still has its input's product in it takes x and h for each other; the patterns "
     "are distributed loops."},
    {"outline", "autodiff", Harm::slower,
     "Only an unexpanded composite can use its record's derivative or a library's pair; saved "
     "values "
     "would escape the pattern."},
    {"split-axes", "align-axes", Harm::slower,
     "A step that divides or merges axes has no order of axes."},
    {"align-axes", "autodiff", Harm::slower,
     "The loop of the derivative has the axes of the loop then, and reads the histories of its "
     "carries where they lie. Else they are transposed in between, and copied."},
    {"expand", "align-axes", Harm::slower,
     "`argmax` and `one_hot` rearrange in their bodies: a step with one of them is no kernel. By "
     "then `hoist` has moved products that add up derivatives of matrices out of the step."},
    {"vector-products", "chunk-recurrence", Harm::slower,
     "What is read from a matrix by a product is not followed: such a loop is not divided."},
    {"chunk-recurrence", "autodiff", Harm::slower,
     "The derivative of chunks is products too; that of single steps needs the matrix of every "
     "step, and such a loop is not divided."},
    {"remat", "autodiff", Harm::slower,
     "What is saved for a block of steps is decided when the loop over the blocks is "
     "differentiated."},
    {"autodiff", "expand", Harm::slower,
     "Only an unexpanded composite can use the derivative in its record (`ir/op.h`); the others "
     "are "
     "differentiated through their bodies."},
    {"expand", "simplify,cse,hoist", Harm::slower,
     "What it writes meets the clean-up that users' equations met."},
    {"hoist", "unroll", Harm::slower,
     "An unrolled loop has no product over all steps and no accumulator (`fused` with "
     "`--unroll`)."},
    {"unroll", "simplify", Harm::slower,
     "Only then does unrolling buy anything: an initial carry of zeros is then folded."},
    {"hoist", "sparse-rows", Harm::slower,
     "The rows of a table's gradient are one `scatter_add` over all the steps."},
    {"autodiff", "sparse-rows", Harm::slower,
     "It looks at everything that is done with a gradient."},
    {"autodiff", "collectives", Harm::slower,
     "It gathers the rows of a table's gradient, which is a `scatter_add` only then."},
    {"collectives", "sparse-rows", Harm::slower,
     "A table's gradient summed over ranks is a `scatter_add` of all their rows only then."},
    {"autodiff,expand", "chunk", Harm::slower,
     "A chunk holds the loss of its rows, and the gradients of rows and weights."},
    {"hoist", "chunk", Harm::slower, "Hoist does over all rows at once what chunk has divided.",
     true},
    {"chunk", "fuse", Harm::slower, "The values of a chunk fuse inside its loop."},
    {"reductions", "simplify", Harm::slower,
     "A sum whose shape is changed back is the sum that keeps its axis."},
    {"autodiff", "precision", Harm::slower,
     "What is saved for a derivative is known only then, and a cast in the way would round "
     "gradients before they are added up."},
    {"reductions", "precision", Harm::slower,
     "Sums over the rows, which may read what is rounded, have one form only then."},
    {"precision", "fuse", Harm::slower, "A value is rounded in the kernel that computes it."},
    {"simplify", "row-operands", Harm::slower,
     "It would fold the products with 1 by which operands are copied."},
    {"row-operands", "fuse", Harm::slower,
     "A kernel reads the copies only if they are there when it is formed."},
    {"reductions", "fuse", Harm::wrong,
     "A kernel sums along its rows or its columns, nothing else: others do not compile."},
};

bool names(std::string_view list, const PassUse& use) {
  while (true) {
    const size_t end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == use.pass->name) return true;
    if (end == list.size()) return false;
    list.remove_prefix(end + 1);
  }
}

}  // namespace

std::span<const OrderRule> order_rules() { return listed_rules; }

bool concerns(const OrderRule& rule, const Pipeline& pipeline) {
  const auto has = [&](std::string_view list) {
    return std::ranges::any_of(pipeline, [&](const PassUse& use) { return names(list, use); });
  };
  return has(rule.before) && has(rule.after);
}

bool obeys(const Pipeline& pipeline, const OrderRule& rule) {
  const auto is_before = [&](const PassUse& use) { return names(rule.before, use); };
  const auto is_after = [&](const PassUse& use) { return names(rule.after, use); };
  const auto first = std::ranges::find_if(pipeline, is_before);
  if (rule.never_behind) {
    const auto end = std::ranges::find_if(pipeline, is_after);
    return first < end && std::none_of(end, pipeline.end(), is_before);
  }
  return std::any_of(first, pipeline.end(), is_after);
}

Pipeline exchanged(const Pipeline& pipeline, const OrderRule& rule) {
  size_t count[2] = {0, 0};
  for (const PassUse& use : pipeline) {
    count[0] += names(rule.before, use);
    count[1] += names(rule.after, use);
  }
  const bool forwards = rule.never_behind || count[0] >= count[1];
  // On the reversed pipeline, moving a later pass is moving an earlier one.
  Pipeline list = pipeline, moved, result;
  if (!forwards) std::ranges::reverse(list);
  const std::string_view moving = forwards ? rule.before : rule.after;
  const std::string_view staying = forwards ? rule.after : rule.before;
  const auto last = std::ranges::find_if(list.rbegin(), list.rend(), [&](const PassUse& use) {
                      return names(staying, use);
                    }).base();
  for (auto use = list.begin(); use != list.end(); ++use) {
    const bool moves = names(moving, *use) && use < last;
    const bool known = std::ranges::count(moved, use->pass, &PassUse::pass) != 0;
    if (moves && !known) moved.push_back(*use);
    if (!moves || rule.never_behind) result.push_back(*use);
    if (use + 1 == last) result.insert(result.end(), moved.begin(), moved.end());
  }
  if (!forwards) std::ranges::reverse(result);
  return result;
}

std::string order_table() {
  std::string text = "| before | after | else | because |\n|---|---|---|---|\n";
  for (const OrderRule& rule : listed_rules) {
    text += fmt::format("| `{}` | `{}`{} | {} | {} |\n", rule.before, rule.after,
                        rule.never_behind ? ", and never behind" : "",
                        rule.harm == Harm::wrong ? "wrong" : "slower", rule.why);
  }
  return text;
}

}  // namespace graphc::core
