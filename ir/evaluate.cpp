// SPDX-License-Identifier: Apache-2.0
// Runs the nodes of a graph in order. Everything a node needs besides its operands (its scalar
// program, the body of a composite) is prepared once, however often a scan runs it; an array is
// freed after its last use. Regions recurse, nodes do not.
#include "ir/evaluate.h"

#include <algorithm>
#include <unordered_map>

#include "ir/composite.h"
#include "ir/evaluate_watch.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "ir/scan.h"

namespace graphc::core {
namespace {

using namespace evaluation;

/// Everything about a graph that is prepared before it runs.
struct Plan {
  struct Step {
    const Node* node;
    std::vector<size_t> last_used;  ///< slots that no later node needs
    ScalarCode program;             ///< for an elementwise node
    GraphPtr body;                  ///< for a composite
  };
  std::vector<Step> steps;    ///< live nodes in order, without inputs and states
  std::vector<size_t> slots;  ///< for each node, the slot of its first result
  size_t slot_count = 0;
};

std::unique_ptr<Plan> make_plan(const Graph& graph) {
  auto plan = std::make_unique<Plan>();
  for (const Node& node : graph.nodes()) {
    plan->slots.push_back(plan->slot_count);
    plan->slot_count += size_t(node.results());
  }
  const auto slot = [&](Value value) {
    return plan->slots[size_t(value.node->id)] + size_t(value.index);
  };
  const std::vector<bool> live = live_nodes(graph);
  for (const Node& node : graph.nodes()) {
    if (!live[size_t(node.id)] || node.is(ops::input) || node.is(ops::state)) continue;
    Plan::Step step{&node, {}, {}, nullptr};
    if (is_elementwise(node.op)) {
      step.program = scalar_code(node);
    } else if (is_composite(node.op)) {
      step.body = body_of(node);
    }
    plan->steps.push_back(std::move(step));
  }
  std::vector<bool> needed(plan->slot_count, false);
  for (Value root : graph.roots()) needed[slot(root)] = true;
  for (auto step = plan->steps.rbegin(); step != plan->steps.rend(); ++step) {
    for (Value operand : step->node->operands) {
      if (needed[slot(operand)]) continue;
      needed[slot(operand)] = true;
      step->last_used.push_back(slot(operand));
    }
    for (int i = 0; i < step->node->results(); ++i) {
      const size_t unused = slot(step->node->result(i));
      if (!needed[unused]) step->last_used.push_back(unused);
    }
  }
  return plan;
}

class Evaluator {
 public:
  explicit Evaluator(Precision precision, Watch* watch = nullptr, RankExchange* ranks = nullptr)
      : precision_(precision), watch_(watch), ranks_(ranks) {}

  /// The values of `wanted`; `arguments` are the graph's inputs, then its states.
  Arrays run(const Graph& graph, Arrays arguments, const Values& wanted) {
    const Plan& plan = plan_of(graph);
    Arrays slots(plan.slot_count);
    const auto slot = [&](Value value) -> Array& {
      return slots[plan.slots[size_t(value.node->id)] + size_t(value.index)];
    };
    size_t next = 0;
    for (Value input : graph.inputs()) slot(input) = std::move(arguments[next++]);
    for (Value state : graph.states()) slot(state) = std::move(arguments[next++]);
    Arrays operands;
    for (const Plan::Step& step : plan.steps) {
      for (Value operand : step.node->operands) operands.push_back(slot(operand));
      if (watch_ != nullptr) watch_->begin(*step.node);
      Arrays results = run_node(step, operands);
      if (watch_ != nullptr) {
        watch_->end(*step.node, operands, results,
                    [&](const Arrays& others) { return run_node(step, others); });
      }
      operands.clear();
      for (size_t i = 0; i < results.size(); ++i) slot(step.node->result(int(i))) = results[i];
      for (size_t freed : step.last_used) slots[freed] = Array();
    }
    Arrays results;
    for (Value value : wanted) results.push_back(slot(value));
    return results;
  }

 private:
  const Plan& plan_of(const Graph& graph) {
    std::unique_ptr<Plan>& plan = plans_[&graph];
    if (plan == nullptr) plan = make_plan(graph);
    return *plan;
  }

  Arrays run_node(const Plan::Step& step, const Arrays& operands) {
    const Node& node = *step.node;
    try {
      if (is_elementwise(node.op)) {
        return {elementwise(step.program, operands, node.types[0], precision_)};
      }
      if (step.body != nullptr) return run(*step.body, operands, step.body->results());
      if (node.is(ops::kernel)) return run(node.region(), operands, node.region().results());
      if (node.is(ops::scan)) return run_scan(Scan(node), operands);
      return primitive(node, operands);
    } catch (Error& error) {
      error.at(node.where);
      throw;
    }
  }

  Arrays primitive(const Node& node, const Arrays& x) const {
    const Attributes& attributes = node.attributes;
    const int axis = int(attributes.get_int("axis", 0));
    if (node.is(ops::constant)) return {constant_of(node, precision_)};
    if (node.is(ops::iota)) return {iota_of(node, precision_)};
    if (node.is(ops::reshape)) return {x[0].view(node.types[0])};
    if (node.is(ops::transpose)) return {transpose_of(node, x[0])};
    if (node.is(ops::broadcast_to)) return {broadcast_of(x[0], node.types[0])};
    if (node.is(ops::slice)) {
      return {slice_of(x[0], axis, attributes.get_int("start", 0), node.types[0].shape[axis])};
    }
    if (node.is(ops::concat)) return {concat_of(x, axis, node.types[0])};
    if (node.is(ops::split)) {
      const int64_t extent = node.types[0].shape[axis];
      Arrays parts;
      for (int i = 0; i < node.results(); ++i) {
        parts.push_back(slice_of(x[0], axis, i * extent, extent));
      }
      return parts;
    }
    if (node.is(ops::sum) || node.is(ops::max)) return {reduction_of(node, x[0], precision_)};
    if (node.is(ops::prod)) return {product_of(node, x[0], precision_)};
    if (node.is(ops::cumsum)) return {cumsum_of(node, x[0], precision_)};
    if (node.is(ops::pad)) return {pad_of(node, x[0], precision_)};
    if (node.is(ops::reverse)) return {reverse_of(node, x[0])};
    if (node.is(ops::size)) return {size_of_axes(node, x[0], precision_)};
    if (node.is(ops::matmul)) return {matmul_of(node, x[0], x[1], precision_)};
    if (node.is(ops::gather)) return {gather_of(node, x[0], x[1])};
    if (node.is(ops::scatter_add)) return {scatter_add_of(node, x[0], x[1], x[2], precision_)};
    if (node.is(ops::scatter)) return {scatter_of(node, x[0], x[1], x[2])};
    if (node.is(ops::merge_rows)) {
      auto [distinct, sums] = merge_rows_of(node, x[0], x[1], precision_);
      return {std::move(distinct), std::move(sums)};
    }
    if (node.is(ops::check_labels)) return {check_labels_of(node, x[0])};
    if (is_collective(node.op)) return collective_of(node, x, precision_, ranks_);
    if (node.is(ops::grad)) {
      throw input_error(node.where,
                        "grad: the evaluator does not differentiate: the pass autodiff replaces "
                        "grad by the derivative");
    }
    GRAPHC_CHECK(false, "the evaluator has no case for the primitive '{}'", node.op.name);
  }

  Arrays run_scan(const Scan& scan, const Arrays& operands) {
    const Graph& body = scan.body();
    const size_t streams = scan.streams().size(), carries = scan.initial().size();
    Arrays emits;
    for (size_t i = 0; i < scan.emits().size(); ++i) emits.emplace_back(scan.emitted(i).type());
    std::vector<std::shared_ptr<std::vector<int>>> origins(emits.size());
    Arrays carry(operands.begin() + long(streams), operands.begin() + long(streams + carries));
    for (int64_t step = 0; step < scan.steps(); ++step) {
      const int64_t t = scan.reverse() ? scan.steps() - 1 - step : step;
      if (watch_ != nullptr) watch_->step(t);
      Arrays arguments;
      for (size_t i = 0; i < streams; ++i) {
        const Type& type = body.inputs()[i].type();
        arguments.push_back(operands[i].view(type, t * type.shape.elements()));
      }
      std::move(carry.begin(), carry.end(), std::back_inserter(arguments));
      arguments.insert(arguments.end(), operands.begin() + long(streams + carries), operands.end());
      Arrays results = run(body, std::move(arguments), body.results());
      for (size_t i = 0; i < emits.size(); ++i) {
        const Array& emit = results[carries + i];
        const int64_t bytes = emit.elements() * kElementBytes;
        std::copy_n(emit.bytes(), bytes, emits[i].bytes() + t * bytes);
        if (emit.origins == nullptr) continue;
        if (origins[i] == nullptr)
          origins[i] = std::make_shared<std::vector<int>>(size_t(emits[i].elements()), 0);
        std::ranges::copy(*emit.origins, origins[i]->begin() + t * emit.elements());
      }
      carry.assign(std::make_move_iterator(results.begin()),
                   std::make_move_iterator(results.begin() + long(carries)));
    }
    for (size_t i = 0; i < emits.size(); ++i) emits[i].origins = std::move(origins[i]);
    Arrays results = std::move(emits);
    std::move(carry.begin(), carry.end(), std::back_inserter(results));
    return results;
  }

  Precision precision_;
  Watch* watch_;
  RankExchange* ranks_;
  std::unordered_map<const Graph*, std::unique_ptr<Plan>> plans_;
};

Arrays run_graph(const Graph& graph, const std::vector<Literal>& inputs,
                 const std::map<std::string, Literal>& states, Precision precision, Watch* watch,
                 RankExchange* ranks) {
  GRAPHC_CHECK(precision == evaluated_precision(precision), "the evaluator has no precision '{}'",
               name_of(precision));
  const Values& wanted = graph.inputs();
  if (inputs.size() != wanted.size()) {
    throw input_error({}, "graph @{} takes {} inputs: found {}", graph.name(), wanted.size(),
                      inputs.size());
  }
  Arrays arguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    arguments.push_back(from_literal(inputs[i], wanted[i].type(), precision, wanted[i].node->where,
                                     fmt::format("input %{}", wanted[i].name())));
    if (watch != nullptr) watch->argument(wanted[i], arguments.back());
  }
  for (Value state : graph.states()) {
    const auto found = states.find(state.name());
    if (found == states.end()) {
      throw input_error(state.node->where, "state %{}: no value is given", state.name());
    }
    arguments.push_back(from_literal(found->second, state.type(), precision, state.node->where,
                                     fmt::format("state %{}", state.name())));
    if (watch != nullptr) watch->argument(state, arguments.back());
  }
  return Evaluator(precision, watch, ranks).run(graph, std::move(arguments), graph.roots());
}

}  // namespace

evaluation::Arrays evaluation::evaluate_watched(const Graph& graph,
                                                const std::vector<Literal>& inputs,
                                                const std::map<std::string, Literal>& states,
                                                Precision precision, Watch& watch) {
  return run_graph(graph, inputs, states, precision, &watch, nullptr);
}

Evaluation evaluate(const Graph& graph, const std::vector<Literal>& inputs,
                    const std::map<std::string, Literal>& states, Precision precision,
                    RankExchange* ranks) {
  const Arrays roots = run_graph(graph, inputs, states, precision, nullptr, ranks);
  Evaluation evaluation;
  const size_t results = graph.results().size();
  for (size_t i = 0; i < results; ++i) {
    evaluation.results.push_back(to_literal(roots[i], precision));
  }
  for (size_t i = 0; i < graph.next().size(); ++i) {
    evaluation.next.emplace(graph.next()[i].state.name(),
                            to_literal(roots[results + i], precision));
  }
  return evaluation;
}

}  // namespace graphc::core
