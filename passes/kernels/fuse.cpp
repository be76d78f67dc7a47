// SPDX-License-Identifier: Apache-2.0
// Forms kernels: clusters of nodes become `kernel` nodes, scans of rows become `recurrent` kernels.
#include "passes/kernels/fuse.h"

#include <algorithm>
#include <unordered_map>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/scan.h"
#include "passes/kernels/clusters.h"
#include "passes/kernels/column_sums.h"
#include "passes/kernels/kernel.h"
#include "passes/kernels/matrix_rows.h"
#include "passes/kernels/row_model.h"
#include "passes/passes.h"
#include "passes/region.h"
#include "passes/variation.h"

namespace graphc::core {
namespace {

/// Whether a constant or iota is copied into the kernel of its user: elementwise kernels compute
/// it, all others read their operands from memory.
bool is_cloned(const Node& leaf, const Node& user) {
  if (!leaf.is(ops::constant) && !leaf.is(ops::iota)) return false;
  return is_elementwise(user.op) || is_row_reduction(user) || is_concat_of_units(user) ||
         is_view(user);
}

/// Why a matrix of a product in the loop differs between steps; empty if none does. An operand
/// without rows is read whole by every thread and packed once for all steps: the right operand of a
/// product and, if transposed, the left.
std::string changing_matrix(const Scan& scan) {
  const std::vector<Varies> varies = variation(scan);
  for (const Node& node : scan.body().nodes()) {
    if (!node.is(ops::matmul)) continue;
    const bool transposed = node.attributes.get_bool("transpose_a", false);
    for (Value matrix : {node.operands[1], transposed ? node.operands[0] : node.operands[1]}) {
      if (!is_invariant(varies, matrix))
        return fmt::format("%{} ({}): its matrix %{} changes with each step", node.names[0],
                           node.op.name, matrix.name());
    }
  }
  return {};
}

/// The first empty value of a body, or an absent one.
Value without_elements(const Graph& body) {
  for (const Node& node : body.nodes()) {
    for (int i = 0; i < node.results(); ++i) {
      if (node.types[size_t(i)].shape.elements() == 0) return node.result(i);
    }
  }
  return {};
}

/// Rewrites the graph with its clusters as kernels.
class KernelWriter {
 public:
  KernelWriter(const Graph& from, const FuseOptions& options)
      : from_(from),
        options_(options),
        clusters_(find_clusters(from, {options.fuse, options.siblings})),
        uses_(from.nodes().size()) {
    // Values read only by dead nodes are not stored.
    const std::vector<bool> live = live_nodes(from);
    for (const Node& node : from.nodes()) {
      operands_ += node.operands.size();
      if (!live[size_t(node.id)]) continue;
      for (Value operand : node.operands) uses_[size_t(operand.node->id)].push_back(&node);
    }
    is_root_.resize(from.nodes().size());
    for (Value root : from.roots()) is_root_[size_t(root.node->id)] = true;
  }

  GraphPtr run() {
    to_ = std::make_unique<Graph>(from_.name());
    for (Value input : from_.inputs())
      set(input, to_->input(input.type(), input.name(), input.node->where));
    for (Value state : from_.states())
      set(state, to_->state(state.type(), state.name(), state.node->where));
    for (Value root : from_.roots()) make(*root.node);
    Values results;
    for (Value result : from_.results()) results.push_back(get(result));
    to_->set_results(std::move(results));
    for (const Next& next : from_.next()) to_->set_next(get(next.state), get(next.value));
    return freeze(std::move(to_));
  }

 private:
  struct Key {
    const Node* node;
    int index;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      return std::hash<const Node*>()(key.node) * 31 + size_t(key.index);
    }
  };

  void set(Value old, Value value) { values_[{old.node, old.index}] = value; }
  Value get(Value old) const { return values_.at({old.node, old.index}); }
  bool made(const Node& node) const { return values_.contains({&node, 0}); }

  int cluster_of(const Node& node) const { return clusters_.of[size_t(node.id)]; }

  /// Calls `visit` for the nodes that are made together with `node`.
  template <typename Visit>
  void visit_group(const Node& node, const Visit& visit) const {
    const int cluster = cluster_of(node);
    if (cluster < 0) return visit(node);
    for (const Node* member : clusters_.list[size_t(cluster)].members) visit(*member);
  }

  /// Makes a node after everything it needs, with an explicit stack.
  void make(const Node& root) {
    std::vector<const Node*> stack{&root};
    while (!stack.empty()) {
      const Node& node = *stack.back();
      if (made(node)) {
        stack.pop_back();
        continue;
      }
      const size_t before = stack.size();
      const int cluster = cluster_of(node);
      visit_group(node, [&](const Node& member) {
        for (Value operand : member.operands) {
          const bool inside = cluster >= 0 && cluster_of(*operand.node) == cluster;
          const bool cloned = cluster >= 0 && is_cloned(*operand.node, member);
          if (!inside && !cloned && !made(*operand.node)) stack.push_back(operand.node);
        }
      });
      GRAPHC_CHECK(stack.size() <= operands_, "the kernels around %{} and %{} need each other",
                   node.names[0], stack[before > 1 ? before - 2 : 0]->names[0]);
      if (stack.size() != before) continue;
      stack.pop_back();
      if (cluster >= 0) {
        write_kernel(cluster);
      } else if (node.is(ops::scan)) {
        write_scan(node);
      } else {
        write_results(node, copy_node(node, operands_of(node), *to_));
      }
    }
  }

  Values operands_of(const Node& node) const {
    Values operands;
    for (Value operand : node.operands) operands.push_back(get(operand));
    return operands;
  }

  void write_results(const Node& old, const Node& made_node) {
    for (int i = 0; i < old.results(); ++i) set(old.result(i), made_node.result(i));
  }

  bool used_outside(const Node& node) const {
    const auto& users = uses_[size_t(node.id)];
    return is_root_[size_t(node.id)] || std::ranges::any_of(users, [&](const Node* user) {
             return cluster_of(*user) != cluster_of(node);
           });
  }

  void write_kernel(int index) {
    const Cluster& cluster = clusters_.list[size_t(index)];
    const bool sums_columns = is_column_sum(*cluster.members.back());
    auto body = std::make_unique<Graph>();
    std::unordered_map<Key, Value, Hash> inner;
    Values operands;
    for (const Node* member : cluster.members) {
      for (Value operand : member->operands) {
        Value& value = inner[{operand.node, operand.index}];
        if (value) continue;
        if (is_cloned(*operand.node, *member)) {
          value = copy_node(*operand.node, {}, *body).result();
        } else {
          operands.push_back(sums_columns ? as_matrix(get(operand)) : get(operand));
          value = body->input(operands.back().type(), operand.name(), operand.node->where);
        }
      }
      // Inside the kernel everything has the matrix shape that the view gives it.
      if (sums_columns && is_view(*member)) {
        inner[{member, 0}] = inner[{member->operands[0].node, member->operands[0].index}];
        continue;
      }
      Values arguments;
      for (Value operand : member->operands)
        arguments.push_back(inner[{operand.node, operand.index}]);
      const Node& copy = copy_node(*member, std::move(arguments), *body);
      for (int i = 0; i < member->results(); ++i) inner[{member, i}] = copy.result(i);
    }
    Values results, old_results;
    std::vector<std::string> names;
    for (const Node* member : cluster.members) {
      if (!used_outside(*member)) continue;
      for (int i = 0; i < member->results(); ++i) {
        results.push_back(inner[{member, i}]);
        old_results.push_back(member->result(i));
        names.push_back(member->names[size_t(i)]);
      }
    }
    body->set_results(std::move(results));
    const Node& kernel = add_kernel(*to_, std::move(operands), freeze(std::move(body)),
                                    cluster.members.front()->where, std::move(names));
    for (size_t i = 0; i < old_results.size(); ++i) set(old_results[i], kernel.result(int(i)));
    // Members that are not read outside count as made: their values are never needed.
    for (const Node* member : cluster.members) {
      if (!made(*member)) set(member->result(), {});
    }
  }

  /// The value with all axes but the last merged: sums over columns run over the rows of a matrix.
  static Value as_matrix(Value value) {
    const Shape& shape = value.shape();
    if (shape.rank() < 3) return value;
    return reshape(value, {rows_of(shape).elements(), shape[-1]});
  }

  void write_scan(const Node& node) {
    const std::string why_not = why_no_kernel(Scan(node));
    if (!why_not.empty()) {
      if (options_.remark && options_.fuse && carries_numbers(Scan(node)))
        options_.remark(node, "a loop, not one recurrent kernel: " + why_not);
      const int axes = options_.fuse ? matrix_row_axes(Scan(node)) : 0;
      FuseOptions of_body = options_;
      of_body.siblings = axes > 0;
      GraphPtr body =
          form_kernels(axes > 0 ? with_matrix_rows(Scan(node)) : node.regions[0], of_body);
      write_results(node, copy_node(node, operands_of(node), *to_, {std::move(body)}));
      return;
    }
    auto body = std::make_unique<Graph>();
    Values inner;
    for (Value operand : node.operands)
      inner.push_back(body->input(operand.type(), operand.name(), operand.node->where));
    const Node& copy = copy_node(node, std::move(inner), *body);
    Values results;
    for (int i = 0; i < node.results(); ++i) results.push_back(copy.result(i));
    body->set_results(std::move(results));
    write_results(
        node, add_kernel(*to_, operands_of(node), freeze(std::move(body)), node.where, node.names));
  }

  /// Why a scan is not a recurrent kernel; empty if it is. Its body must have a row model, its
  /// matrices must not change, and it may carry only rows: a thread runs all steps of its rows
  /// independently, and must not write what others read.
  std::string why_no_kernel(const Scan& scan) const {
    if (!options_.fuse || !options_.recurrent) return "loops were asked for";
    if (scan.body_carries().empty()) return "it carries nothing from step to step";
    if (const Value empty = without_elements(scan.body()))
      return fmt::format("%{} has no elements", empty.name());
    std::string why_not = changing_matrix(scan);
    if (!why_not.empty()) return why_not;
    const std::optional<RowModel> rows = analyse_rows(scan.body(), &why_not);
    if (!rows) return why_not;
    int64_t instructions = 0;
    for (const Node& node : scan.body().nodes())
      instructions += emitted_instructions(node) * rows->parts_of(node.result());
    if (instructions > kMostInstructions)
      return fmt::format("its step has {} instructions, more than {}", instructions,
                         kMostInstructions);
    return carried_together(scan, *rows);
  }

  /// Whether a scan is a recurrence: one that carries only booleans is the loop of an op such as
  /// top_k, or marks visited elements.
  static bool carries_numbers(const Scan& scan) {
    return scan.body_carries().empty() || std::ranges::any_of(scan.body_carries(), [](Value carry) {
             return carry.dtype() != DType::boolean;
           });
  }

  /// The reason if a scan of several rows carries or emits something for all rows together;
  /// otherwise empty.
  static std::string carried_together(const Scan& scan, const RowModel& rows) {
    const auto has_rows = [&](Value value) {
      return value.shape().rank() > 0 && rows_of(value.shape()) == rows.lead;
    };
    if (rows.rows() <= 1) return {};
    for (size_t i = 0; i < scan.body_carries().size(); ++i) {
      const Value carry = scan.body_carries()[i];
      if (!has_rows(carry) || !has_rows(scan.next()[i]))
        return fmt::format("%{} is carried for all rows together", carry.name());
    }
    for (Value emit : scan.emits()) {
      if (!has_rows(emit)) return fmt::format("%{} is emitted for all rows together", emit.name());
    }
    return {};
  }

  const Graph& from_;
  const FuseOptions& options_;
  const Clusters clusters_;
  std::vector<std::vector<const Node*>> uses_;
  std::vector<bool> is_root_;
  size_t operands_ = 1;  ///< of all nodes together; limits the make stack
  std::unique_ptr<Graph> to_;
  std::unordered_map<Key, Value, Hash> values_;
};

}  // namespace

bool is_view(const Node& node) {
  return node.is(ops::reshape) || node.is(ops::transpose) || node.is(ops::slice) ||
         node.is(ops::split) || node.is(ops::broadcast_to) || node.is(ops::reverse);
}

GraphPtr form_kernels(const GraphPtr& graph, const FuseOptions& options) {
  return KernelWriter(*graph, options).run();
}

namespace {

/// The graph with its kernels inlined: a graph that was fused before, such as the output of `graphc
/// opt`, is fused again.
GraphPtr without_kernels(const GraphPtr& graph) {
  if (!contains(*graph, ops::kernel)) return graph;
  const auto open = [](const GraphPtr& from) {
    return rewrite(*from, [](const Node& node, const Values& operands, Graph& to) {
      return node.is(ops::kernel) ? std::optional(inline_graph(node.region(), operands, to))
                                  : std::nullopt;
    });
  };
  return open(rewrite_regions(graph, open));
}

GraphPtr run_fuse(const GraphPtr& graph, const PassOptions& options, Remarks& remarks) {
  // Leaves of a gradient would become inputs of a kernel, which depend on nothing.
  if (contains(*graph, ops::grad))
    throw Error(ErrorKind::usage, {}, "fuse: kernels have no derivatives: run autodiff first");
  FuseOptions fuse;
  fuse.fuse = !options.get_bool("single", false);
  fuse.recurrent = !options.get_bool("loops", false);
  fuse.remark = [&](const Node& node, const std::string& text) { remarks.add(node, text); };
  return form_kernels(without_kernels(graph), fuse);
}

}  // namespace

constinit const Pass passes::fuse{
    .name = "fuse",
    .summary = "forms kernels; with {single} one for each node, with {loops} no recurrent ones",
    .options = "single,loops",
    .run = run_fuse,
};

}  // namespace graphc::core
