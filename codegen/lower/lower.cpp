// SPDX-License-Identifier: Apache-2.0
// From a graph of kernels to a plan: inputs, states and results, views, and which kernel is lowered
// by what.
#include "codegen/lower/lower.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "codegen/lower/context.h"
#include "codegen/lower/contraction.h"
#include "codegen/lower/panels.h"
#include "codegen/lower/pitch.h"
#include "codegen/lower/rows.h"
#include "codegen/lower/stored_part.h"
#include "codegen/plan/memory.h"
#include "codegen/plan/overlap.h"
#include "codegen/plan/schedule.h"
#include "codegen/plan/streaming_stores.h"
#include "codegen/step/barriers.h"
#include "codegen/step/rows_apart.h"
#include "codegen/step/view.h"
#include "ir/cases.h"
#include "ir/mutant.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "passes/kernels/fuse.h"
#include "passes/kernels/kernel.h"
#include "passes/kernels/row_model.h"
#include "passes/region.h"

namespace graphc::core {
namespace {

bool is_list(const Node& constant) {
  const Attribute& value = *constant.attributes.find("value");
  return std::holds_alternative<std::vector<double>>(value) ||
         std::holds_alternative<std::vector<int64_t>>(value);
}

/// Whether nests run over the same rows one after another and each row needs only itself.
bool in_blocks(const std::vector<NestCall>& calls) {
  return std::ranges::all_of(calls, [&](const NestCall& call) {
    return call.products.empty() && call.outer.empty() && call.rows == calls[0].rows;
  });
}

BlockCall as_block(std::vector<NestCall> calls, const std::string& name, const Machine& machine) {
  BlockCall block;
  block.name = name;
  block.rows = calls[0].rows;
  int64_t columns = 1;
  for (const NestCall& call : calls) columns = std::max(columns, call.unit);
  block.block_rows = std::max<int64_t>(1, machine.block_bytes / size_of(DType::f32) / columns);
  for (NestCall& call : calls) block.body.push_back({Family::map, std::move(call)});
  return block;
}

/// Numbers the records in the order of their text.
void number(std::vector<Record>& records, int& id) {
  for (Record& record : records) {
    record.id = id++;
    std::visit(Cases{[](NestCall&) {}, [](PanelCall&) {}, [](TableCall&) {}, [](ExternCall&) {},
                     [&](LoopCall& loop) { number(loop.body, id); },
                     [&](BlockCall& block) { number(block.body, id); }},
               record.call);
  }
}

void bind(LowerContext& context, ViewMap& views, Value value, Place place, int index) {
  const int buffer = context.add_buffer(value.name(), place, index, value.type().bytes());
  views.set(value, contiguous_view(buffer, value.type()));
}

/// All `next` at once: old values of states that are still needed are set aside first.
void assign_states(LowerContext& context, const Graph& graph, const ViewMap& views) {
  std::vector<std::pair<View, View>> copies;
  for (const Next& next : graph.next()) {
    View from = views.get(next.value);
    const View& to = views.get(next.state);
    if (same_view(from, to)) continue;
    if (context.plan().buffers[size_t(from.address.buffer)].place == Place::state &&
        !mutated(Mutant::states_assigned_in_turn)) {
      const View aside = context.temporary(next.value.type(), next.value.name());
      context.copy(from, aside, "next");
      from = aside;
    }
    copies.emplace_back(from, to);
  }
  for (const auto& [from, to] : copies) context.copy(from, to, "next");
}

View view_or_copy(LowerContext& context, const Node& node, int result, const View& operand) {
  if (const std::optional<View> view = view_of(node, result, operand)) return *view;
  const std::string& name = node.names[size_t(result)];
  const View straight = context.temporary({operand.dtype, operand.shape}, name);
  context.copy(operand, straight, name);
  return *view_of(node, result, straight);
}

/// A node that stands by itself, as a kernel of one node.
void lower_alone(LowerContext& context, const Node& node, ViewMap& views, const ViewMap& wanted) {
  Graph body;
  Values arguments;
  std::vector<View> inputs;
  for (Value operand : node.operands) {
    arguments.push_back(body.input(operand.type(), operand.name()));
    inputs.push_back(views.get(operand));
  }
  body.set_results({copy_node(node, std::move(arguments), body).result()});
  const View to = context.destination(node.result(), wanted);
  lower_body(context, body, std::move(inputs), {to}, node.names[0], Family::map);
  views.set(node.result(), to);
}

/// What products and sums over the rows read as it lies, where the machine multiplies that: they
/// widen what they load.
void lower_widening(LowerContext& context, const Node& node, ViewMap& views,
                    const ViewMap& wanted) {
  const Value narrow = node.operands[0];
  if (context.machine().product(narrow.dtype(), node.types[0].dtype) == nullptr)
    return lower_alone(context, node, views, wanted);
  views.set(node.result(), views.get(narrow));
}

/// The row model of a body that lowering has made.
RowModel row_model_of(const LowerContext& context, const Graph& body, const std::string& name) {
  std::string why_not;
  std::optional<RowModel> rows = analyse_rows(body, &why_not);
  if (!rows)
    throw input_error({}, "{} has no kernel for {}: {}", context.machine().target, name, why_not);
  return *std::move(rows);
}

/// A view with one more axis, of extent 1, before the last.
View with_reduced_axis(View view) {
  const int at = view.shape.rank() - 1;
  for (int axis = view.shape.rank(); axis > at; --axis)
    view.strides[size_t(axis)] = view.strides[size_t(axis) - 1];
  view.strides[size_t(at)] = 0;
  view.shape = view.shape.insert(at, 1);
  return view;
}

/// Elementwise work whose results are reduced over the last axis of the rows, or stored
/// (passes/kernels/column_sums.h, is_inner_reduction()).
void lower_reduced_body(LowerContext& context, const Kernel& kernel, std::vector<View> inputs,
                        std::vector<View> results) {
  Graph summed;
  ValueMap known(kernel.body());
  for (const Value input : kernel.body().inputs())
    known.set(input, summed.input(input.type(), input.name(), input.node->where));
  Values wanted;
  std::vector<std::optional<OperandKind>> reductions;
  for (size_t i = 0; i < results.size(); ++i) {
    Value value = kernel.body().results()[i];
    const bool first = mutated(Mutant::sums_of_the_first_value);
    const Node& node = *(first ? kernel.body().results()[0] : value).node;
    const bool is_max = node.is(ops::max);
    if (node.is(ops::sum) || is_max) {
      value = node.operands[0];
      reductions.emplace_back(is_max ? OperandKind::reduce_max : OperandKind::reduce_sum);
      results[i] = with_reduced_axis(results[i]);
    } else {
      reductions.emplace_back(std::nullopt);
    }
    wanted.push_back(value);
  }
  summed.set_results(copy_cone(kernel.body(), known, wanted, summed));
  const std::string& name = kernel.node().names[0];
  std::vector<NestCall> calls = lower_rows(context, summed, row_model_of(context, summed, name),
                                           {.inputs = std::move(inputs),
                                            .results = std::move(results),
                                            .name = name,
                                            .reductions = std::move(reductions)});
  read_panels_of_repeated(context, calls);
  for (NestCall& call : calls) context.add(kernel.family(), std::move(call));
}

/// Sums over the rows of a matrix, or a maximum.
void lower_reduction(LowerContext& context, const Kernel& kernel, const std::vector<View>& inputs,
                     const std::vector<View>& results) {
  const Node& op = kernel.first();
  if (op.operands[0].shape().rank() != 2 ||
      op.attributes.get_ints("axes") != std::vector<int64_t>{0})
    throw input_error({}, "{} over these axes has no kernel before the pass reductions",
                      op.op.name);
  if (results.size() > 1 || !op.operands[0].node->is(ops::input))
    return lower_reduced_body(context, kernel, inputs, results);
  context.add(kernel.family(), column_reduction_nest(inputs[0], results[0], op.is(ops::max),
                                                     kernel.node().names[0]));
}

void lower_kernel(LowerContext& context, const Node& node, ViewMap& views, ViewMap& wanted) {
  if (lower_history(context, node, views, wanted)) return;
  const Kernel kernel(node);
  const Node& first = kernel.first();
  std::vector<View> inputs;
  for (Value operand : node.operands) inputs.push_back(views.get(operand));
  if (kernel.family() == Family::recurrent)
    return lower_recurrent(context, kernel, inputs, views, wanted);
  std::vector<View> results;
  for (int i = 0; i < node.results(); ++i) {
    results.push_back(context.destination(node.result(i), wanted));
    views.set(node.result(i), results.back());
  }
  const std::string& name = node.names[0];
  switch (kernel.family()) {
    case Family::recurrent:
      return;
    case Family::table:
      return lower_table(context, node, first, inputs, results);
    case Family::reduction:
      return lower_reduction(context, kernel, inputs, results);
    case Family::inner_reduction:
      return lower_reduced_body(context, kernel, std::move(inputs), std::move(results));
    case Family::concat:
      return lower_concat(context, first, inputs, results[0], name);
    case Family::batched_gemm:
      return lower_batched_product(context, first, inputs, results[0], name);
    case Family::map:
    case Family::gemm:
      return lower_body(context, kernel.body(), std::move(inputs), std::move(results), name,
                        kernel.family(), kernel.rows());
  }
}

void lower_node(LowerContext& context, const Node& node, ViewMap& views, ViewMap& wanted) {
  if (node.is(ops::constant) && is_list(node)) {
    views.set(node.result(), context.constant_data(node));
  } else if (node.is(ops::constant) || node.is(ops::iota)) {
    lower_alone(context, node, views, wanted);
  } else if (is_widening(node)) {
    lower_widening(context, node, views, wanted);
  } else if (is_view(node)) {
    for (int i = 0; i < node.results(); ++i)
      views.set(node.result(i), view_or_copy(context, node, i, views.get(node.operands[0])));
  } else if (node.is(ops::scan)) {
    lower_loop(context, node, views, wanted);
  } else if (const LowerExternal lower = context.machine().lower_external;
             lower != nullptr && lower(context, node, views, wanted)) {
    return;
  } else if (node.is(ops::kernel)) {
    lower_kernel(context, node, views, wanted);
  } else if (is_collective(node.op)) {
    throw input_error(node.where,
                      "{}: {} does not communicate between ranks: targets cpu and cuda do",
                      node.op.name, context.machine().target);
  } else {
    throw input_error(node.where, "{}: {} has no kernel for it", node.op.name,
                      context.machine().target);
  }
}

/// The place of what a node rearranges if its result is wanted at `place`: of a reshape, or of a
/// transpose of what a loop emits that leaves the columns where they are.
std::optional<View> wanted_before(const Node& node, const View& place) {
  const Value from = node.operands[0];
  if (node.is(ops::reshape) && place.contiguous()) {
    View view = contiguous_view(place.address.buffer, from.type());
    view.address = place.address;
    return view;
  }
  if (!node.is(ops::transpose) || !from.node->is(ops::kernel) ||
      !is_kernel_of(*from.node, Family::recurrent))
    return std::nullopt;
  const std::vector<int64_t> order = node.attributes.get_ints("permutation");
  if (order.back() != int64_t(order.size()) - 1 || order.front() != 0) return std::nullopt;
  View view = place;
  view.shape = from.shape();
  for (size_t axis = 0; axis < order.size(); ++axis)
    view.strides[size_t(order[axis])] = place.strides[axis];
  return view;
}

/// A value that is wanted at some place once it is rearranged is computed there.
void want_before_rearranging(const LowerContext& context, const Graph& graph, ViewMap& wanted) {
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    if (!node->is(ops::reshape) && !node->is(ops::transpose)) continue;
    const View* place = wanted.find(node->result());
    const Value from = node->operands[0];
    // A history has its slot elsewhere.
    const bool has_slot = context.history_slots.contains({from.node, from.index});
    if (place == nullptr || has_slot || wanted.find(from) != nullptr) continue;
    if (const std::optional<View> view = wanted_before(*node, *place)) wanted.set(from, *view);
  }
}

}  // namespace

void lower_nodes(LowerContext& context, const Graph& graph, ViewMap& views, ViewMap& wanted) {
  const std::vector<bool> live = live_nodes(graph);
  context.note_uses(graph, live);
  find_histories(context, graph);
  find_pitched(context, graph);
  want_before_rearranging(context, graph, wanted);
  const Graph* const outer = std::exchange(context.lowered, &graph);
  for (const Node& node : graph.nodes()) {
    if (!live[size_t(node.id)] || node.is(ops::input) || node.is(ops::state)) continue;
    try {
      lower_node(context, node, views, wanted);
    } catch (Error& error) {
      throw error.at(node.where);
    }
  }
  context.lowered = outer;
}

void lower_body(LowerContext& context, const Graph& body, std::vector<View> inputs,
                std::vector<View> results, const std::string& name, Family family,
                const std::optional<RowModel>& known) {
  if (const std::optional<StoredPart> part = part_to_store(body, inputs, results)) {
    if (part->results.empty()) return;
    return lower_body(context, *part->body, part->inputs, part->results, name, family);
  }
  const RowModel& rows = known ? *known : row_model_of(context, body, name);
  std::vector<NestCall> calls =
      lower_rows(context, body, rows, {std::move(inputs), std::move(results), name, true});
  read_panels_of_repeated(context, calls);
  const bool has_blocks = context.machine().block_bytes > 0 && context.matrix_rows.rank() == 0;
  if (has_blocks && calls.size() > 1 && in_blocks(calls)) {
    context.add(family, as_block(std::move(calls), name, context.machine()));
  } else {
    for (NestCall& call : calls) context.add(family, std::move(call));
  }
}

Plan lower(const Graph& graph, const Machine& machine) {
  LowerContext context(graph.name(), machine);
  ViewMap views, wanted;
  for (size_t i = 0; i < graph.inputs().size(); ++i)
    bind(context, views, graph.inputs()[i], Place::input, int(i));
  for (size_t i = 0; i < graph.states().size(); ++i)
    bind(context, views, graph.states()[i], Place::state, int(i));
  for (const Next& next : graph.next()) context.note_written(views.get(next.state).address.buffer);
  std::vector<View>& results = context.plan().results;
  for (size_t i = 0; i < graph.results().size(); ++i) {
    const Value result = graph.results()[i];
    const Type& type = result.type();
    results.push_back(contiguous_view(
        context.add_buffer(result.name(), Place::output, int(i), type.bytes()), type));
    if (wanted.find(result) == nullptr) wanted.set(result, results.back());
  }
  lower_nodes(context, graph, views, wanted);
  for (size_t i = 0; i < graph.results().size(); ++i)
    context.copy_unless_there(views.get(graph.results()[i]), results[i], "result");
  assign_states(context, graph, views);
  overlap_collectives(context.plan(), machine.bucket_bytes);
  choose_contraction(context.plan());
  int id = 0;
  number(context.plan().records, id);
  return std::move(context.plan());
}

Plan make_plan(const Graph& kernels, const Machine& machine) {
  Plan plan = lower(kernels, machine);
  plan_memory(plan, machine.reorders_phases);
  mark_streaming_stores(plan, machine);
  schedule(plan, machine);
  place_barriers(plan);
  keep_rows_apart(plan);
  verify_plan(plan);
  return plan;
}

}  // namespace graphc::core
