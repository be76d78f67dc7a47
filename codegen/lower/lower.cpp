// SPDX-License-Identifier: Apache-2.0
// From a graph of kernels to a plan: states, views and kernels. Loops are in lower_scan.cpp.
#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "codegen/lower/lowering.h"
#include "codegen/lower/stored_part.h"
#include "codegen/plan/view.h"
#include "ir/mutant.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "passes/fuse.h"

namespace graphc {
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

BlockCall as_block(std::vector<NestCall> calls, const std::string& name) {
  // What a few streams of so many rows take stays in the second-level cache.
  constexpr int64_t kBlockElements = int64_t{32} << 10;
  BlockCall block;
  block.name = name;
  block.rows = calls[0].rows;
  int64_t columns = 1;
  for (const NestCall& call : calls) columns = std::max(columns, call.unit);
  block.block_rows = std::max<int64_t>(1, kBlockElements / columns);
  for (NestCall& call : calls) block.body.push_back({"map", std::move(call)});
  return block;
}

/// Numbers the records in the order of their text.
void number(std::vector<Record>& records, int& id) {
  for (Record& record : records) {
    record.id = id++;
    if (auto* loop = std::get_if<LoopCall>(&record.call)) number(loop->body, id);
    if (auto* block = std::get_if<BlockCall>(&record.call)) number(block->body, id);
  }
}

bool is_plain_concat(const Node& node) {
  return std::all_of(node.operands.begin(), node.operands.end(),
                     [](Value v) { return v.node->is(ops::input); });
}

}  // namespace

Lowering::Lowering(const Graph& graph, const VectorShape& vectors)
    : graph_(graph), vectors_(vectors) {
  plan_.name = graph.name();
  binding_.temporary = [this](const Type& type, const std::string& name) {
    return temporary(type, name);
  };
  binding_.constant = [this](const Node& node) { return constant_data(node); };
  binding_.program = [this](NestProgram program) { return add_program(std::move(program)); };
}

Plan Lowering::run() {
  ViewMap views;
  for (size_t i = 0; i < graph_.inputs().size(); ++i)
    bind(views, graph_.inputs()[i], Place::input, int(i));
  for (size_t i = 0; i < graph_.states().size(); ++i)
    bind(views, graph_.states()[i], Place::state, int(i));
  ViewMap wanted;
  for (size_t i = 0; i < graph_.results().size(); ++i) {
    const Value result = graph_.results()[i];
    plan_.results.push_back(contiguous_view(
        add_buffer(result.name(), Place::output, int(i), result.type().bytes()), result.type()));
    if (wanted.find(result) == nullptr) wanted.set(result, plan_.results.back());
  }
  records_ = &plan_.records;
  lower_nodes(graph_, views, wanted);
  for (size_t i = 0; i < graph_.results().size(); ++i)
    copy_unless_there(views.get(graph_.results()[i]), plan_.results[i], "result");
  assign_states(views);
  int id = 0;
  number(plan_.records, id);
  return std::move(plan_);
}

int Lowering::add_buffer(const std::string& name, Place place, int index, int64_t bytes) {
  Buffer buffer;
  buffer.name = name;
  buffer.place = place;
  buffer.index = index;
  buffer.bytes = bytes;
  buffer.scope = scope_;
  plan_.buffers.push_back(std::move(buffer));
  return int(plan_.buffers.size()) - 1;
}

void Lowering::bind(ViewMap& views, Value value, Place place, int index) {
  views.set(value, contiguous_view(add_buffer(value.name(), place, index, value.type().bytes()),
                                   value.type()));
}

View Lowering::temporary(const Type& type, const std::string& name) {
  return contiguous_view(add_buffer(name, Place::arena, 0, type.bytes()), type);
}

View Lowering::constant_data(const Node& node) {
  const Type& type = node.types[0];
  const int index = add_buffer(node.names[0], Place::constant, 0, type.bytes());
  std::string& data = plan_.buffers[size_t(index)].data;
  const auto put = [&](auto number) {
    const auto append = [&](auto value) {
      data.append(reinterpret_cast<const char*>(&value), sizeof value);
    };
    switch (type.dtype) {
      case DType::f32:
        append(float(number));
        break;
      case DType::f64:
        append(double(number));
        break;
      case DType::i32:
        append(int32_t(number));
        break;
      case DType::u32:
        append(uint32_t(number));
        break;
      case DType::i64:
        append(int64_t(number));
        break;
      case DType::u8:
        append(uint8_t(number));
        break;
      case DType::boolean:
        append(uint8_t(number != 0));
        break;
      case DType::bf16:
        throw input_error(node.where, "the CPU target does not compute in bf16");
    }
  };
  const Attribute& value = *node.attributes.find("value");
  if (auto list = std::get_if<std::vector<double>>(&value)) {
    for (double number : *list) put(number);
  } else {
    for (int64_t number : std::get<std::vector<int64_t>>(value)) put(number);
  }
  return contiguous_view(index, type);
}

int Lowering::add_program(NestProgram program) {
  const std::string text = program.text();
  const auto [found, added] = program_index_.emplace(text, int(plan_.programs.size()));
  if (added) plan_.programs.push_back(std::move(program));
  return found->second;
}

void Lowering::add(const std::string& family, decltype(Record::call) call) {
  records_->push_back({family, std::move(call)});
}

void Lowering::copy(const View& from, const View& to, const std::string& name) {
  if (from.shape.elements() == 0) return;
  binding_.name = name;
  add("map", lower_copy(from, to, binding_));
}

void Lowering::copy_unless_there(const View& from, const View& to, const std::string& name) {
  if (!same_view(from, to)) copy(from, to, name);
}

View Lowering::destination(Value value, const ViewMap& wanted) {
  const View* place = wanted.find(value);
  if (place != nullptr) return *place;
  const auto slot = history_slots_.find({value.node, value.index});
  if (slot == history_slots_.end()) return temporary(value.type(), value.name());
  const Type& type = value.type();
  const View longer = temporary({type.dtype, type.shape.with(0, type.shape[0] + 1)}, value.name());
  View view = longer;
  view.shape = type.shape;
  if (slot->second.front) view.address = moved(view.address, view.strides[0] * size_of(view.dtype));
  return view;
}

View Lowering::straight(const View& view, const std::string& name) {
  if (view.contiguous()) return view;
  const View result = temporary({view.dtype, view.shape}, name);
  copy(view, result, name);
  return result;
}

void Lowering::assign_states(ViewMap& views) {
  std::vector<std::pair<View, View>> copies;
  for (const Next& next : graph_.next()) {
    View from = views.get(next.value);
    const View& to = views.get(next.state);
    if (same_view(from, to)) continue;
    if (plan_.buffers[size_t(from.address.buffer)].place == Place::state &&
        !mutated(Mutant::states_assigned_in_turn)) {
      const View aside = temporary(next.value.type(), next.value.name());
      copy(from, aside, "next");
      from = aside;
    }
    copies.emplace_back(from, to);
  }
  for (const auto& [from, to] : copies) copy(from, to, "next");
}

void Lowering::lower_nodes(const Graph& graph, ViewMap& views, ViewMap& wanted) {
  const std::vector<bool> live = live_nodes(graph);
  find_histories(graph);
  for (const Node& node : graph.nodes()) {
    if (!live[size_t(node.id)] || node.is(ops::input) || node.is(ops::state)) continue;
    try {
      lower_node(node, views, wanted);
    } catch (Error& error) {
      throw error.at(node.where);
    }
  }
}

void Lowering::lower_node(const Node& node, ViewMap& views, ViewMap& wanted) {
  if (node.is(ops::constant) || node.is(ops::iota)) {
    fill(node, views, wanted);
  } else if (is_view(node)) {
    for (int i = 0; i < node.results(); ++i)
      views.set(node.result(i), view_or_copy(node, i, views.get(node.operands[0])));
  } else if (node.is(ops::scan)) {
    lower_loop(node, views, wanted);
  } else if (node.is(ops::kernel)) {
    lower_kernel(node, views, wanted);
  } else {
    throw input_error(node.where, "{}: the CPU target has no kernel for it", node.op.name);
  }
}

View Lowering::view_or_copy(const Node& node, int result, const View& operand) {
  if (const std::optional<View> view = view_of(node, result, operand)) return *view;
  const View straight = temporary({operand.dtype, operand.shape}, node.names[size_t(result)]);
  copy(operand, straight, node.names[size_t(result)]);
  return *view_of(node, result, straight);
}

void Lowering::fill(const Node& node, ViewMap& views, const ViewMap& wanted) {
  if (node.is(ops::constant) && is_list(node)) {
    views.set(node.result(), constant_data(node));
    return;
  }
  Graph body;
  const Node& copy_of = copy_node(node, {}, body);
  body.set_results({copy_of.result()});
  const View to = destination(node.result(), wanted);
  lower_body(body, {}, {to}, node.names[0], "map");
  views.set(node.result(), to);
}

void Lowering::lower_body(const Graph& body, std::vector<View> inputs, std::vector<View> results,
                          const std::string& name, const std::string& family) {
  if (const std::optional<StoredPart> part = part_to_store(body, inputs, results)) {
    if (part->results.empty()) return;
    return lower_body(*part->body, part->inputs, part->results, name, family);
  }
  std::string why_not;
  const std::optional<RowProgram> rows = analyse_row_program(body, &why_not);
  if (!rows) throw input_error({}, "the CPU target has no kernel for {}: {}", name, why_not);
  binding_.inputs = std::move(inputs);
  binding_.results = std::move(results);
  binding_.name = name;
  std::vector<NestCall> calls = lower_rows(body, *rows, binding_);
  if (calls.size() > 1 && in_blocks(calls)) {
    add(family, as_block(std::move(calls), name));
  } else {
    for (NestCall& call : calls) add(family, std::move(call));
  }
}

void Lowering::lower_kernel(const Node& node, ViewMap& views, ViewMap& wanted) {
  if (lower_history(node, views, wanted)) return;
  const Graph& body = node.region();
  const std::string family = node.attributes.get_string("family", "map");
  const Node& first = *body.results().at(0).node;
  std::vector<View> inputs;
  for (Value operand : node.operands) inputs.push_back(views.get(operand));
  if (family == "recurrent") return lower_recurrent(node, first, inputs, views, wanted);
  std::vector<View> results;
  for (int i = 0; i < node.results(); ++i) {
    results.push_back(destination(node.result(i), wanted));
    views.set(node.result(i), results.back());
  }
  if (family == "rows") {
    lower_table(node, first, inputs, results);
  } else if ((first.is(ops::sum) || first.is(ops::max)) &&
             !first.attributes.get_bool("keep", false)) {
    if (inputs[0].shape.rank() != 2 || first.attributes.get_ints("axes") != std::vector<int64_t>{0})
      throw input_error({}, "{} over these axes has no kernel before the pass reductions",
                        first.op.name);
    binding_.name = node.names[0];
    add(family, lower_column_reduction(inputs[0], results[0], first.is(ops::max), binding_));
  } else if (first.is(ops::concat) && body.results().size() == 1 && is_plain_concat(first)) {
    lower_concat(first, inputs, results[0], node.names[0]);
  } else if (is_batched_product(first)) {
    lower_batched_product(first, inputs, results[0], node.names[0]);
  } else {
    lower_body(body, std::move(inputs), std::move(results), node.names[0], family);
  }
}

Plan lower(const Graph& kernels, const VectorShape& vectors) {
  return Lowering(kernels, vectors).run();
}

}  // namespace graphc
