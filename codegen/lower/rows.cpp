// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/rows.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "codegen/lower/context.h"
#include "codegen/lower/nest_positions.h"
#include "codegen/plan/nest_builder.h"
#include "codegen/step/view.h"
#include "ir/op.h"
#include "ir/rewrite.h"

namespace graphc::core {
namespace {

class RowLowering {
 public:
  RowLowering(LowerContext& context, const Graph& body, const RowModel& rows,
              const RowBinding& binding)
      : context_(context),
        body_(body),
        rows_(rows),
        binding_(binding),
        positions_(body, rows, context.matrix_rows.rank() > 0) {
    for (size_t i = 0; i < body.inputs().size(); ++i) input_of_[body.inputs()[i].node] = i;
    for (size_t i = 0; i < body.results().size(); ++i) {
      if (!reduction_of(i)) result_of_[key_of(body.results()[i])].push_back(i);
    }
    if (context.machine().keeps_functions) kept_ = positions_.summed_functions();
  }

  std::vector<NestCall> run() {
    for (size_t i = 0; i < body_.results().size(); ++i) store_result(i);
    std::vector<NestCall> calls;
    // From the last to the first: a nest finds out what earlier ones must store.
    while (!roots_.empty()) {
      const auto last = std::prev(roots_.end());
      const NestPosition place = last->first;
      const std::vector<Root> roots = std::move(last->second);
      roots_.erase(last);
      if (auto call = build(place, roots)) calls.push_back(std::move(*call));
    }
    std::reverse(calls.begin(), calls.end());
    return calls;
  }

 private:
  struct Root {
    Value value;
    View view;
    std::optional<OperandKind> reduction = {};  ///< over rows
  };

  std::optional<OperandKind> reduction_of(size_t result) const {
    return binding_.reductions.empty() ? std::nullopt : binding_.reductions[result];
  }

  static std::pair<int, int> key_of(Value value) { return {value.node->id, value.index}; }

  /// A next value that is emitted too lies in the stack of what is emitted: it is stored once.
  void store_result(size_t i) {
    const Value value = body_.results()[i];
    const View& view = binding_.results[i];
    if (const auto reduction = reduction_of(i)) {
      roots_[positions_.of(value)].push_back({value, view, reduction});
      return;
    }
    for (size_t j : result_of_.at(key_of(value))) {
      if (j < i && same_view(binding_.results[j], view)) return;
    }
    store(value, view);
  }

  void store(Value value, const View& view) {
    roots_[positions_.of(value)].push_back({value, view});
  }

  /// The view of a value that another nest stores, asking for it to be stored if nobody has.
  const View& stored(Value value) {
    const std::pair<int, int> key = key_of(value);
    const auto found = stored_.find(key);
    if (found != stored_.end()) return found->second;
    if (const auto result = result_of_.find(key); result != result_of_.end())
      return stored_.emplace(key, binding_.results[result->second[0]]).first->second;
    const View view = context_.temporary(value.type(), value.name());
    store(value, view);
    return stored_.emplace(key, view).first->second;
  }

  std::optional<NestCall> build(const NestPosition& place, const std::vector<Root>& roots) {
    NestBuilder builder(rows_.lead);
    builder_ = &builder;
    here_ = place;
    emitted_.clear();
    product_index_.clear();
    unit_ = place.space < 0 ? 1 : rows_.spaces[size_t(place.space)].unit;
    bool reduces = false, over_rows = false;
    for (const Root& root : roots) {
      if (root.reduction) {
        reduce_over_rows(root);
        over_rows = true;
      } else if (is_reduction(*root.value.node)) {
        reduce(root);
        reduces = true;
      } else {
        store_parts(root);
      }
    }
    builder.program.kind = over_rows                          ? NestKind::column_wise
                           : builder.program.products.empty() ? NestKind::row_wise
                                                              : NestKind::tiles;
    NestCall& call = builder.call;
    call.name = binding_.name;
    call.unit = unit_;
    call.split = over_rows ? Split::columns : reduces ? Split::rows : Split::any;
    builder.program.tile = context_.machine().tile(builder.program);
    for (CallProduct& product : call.products) product.panels.width = builder.program.tile.width();
    const int apart = std::max(context_.matrix_rows.rank(), rows_.groups);
    const bool flatten = binding_.flatten && rows_.stages == 0 && apart == 0;
    join_axes(call, builder.program, rows_.lead, flatten, apart);
    const int64_t summed = over_rows ? call.rows : reduces ? call.unit : 0;
    builder.program.few_terms =
        summed > 0 && summed <= kFewTerms && !call.outer.empty() && rows_.groups == 0;
    return context_.call_of(builder.take());
  }

  void store_parts(const Root& root) {
    const RowKind kind = rows_.kind_of(root.value);
    const int operand =
        builder_->operand(OperandKind::store, root.view,
                          kind == RowKind::row ? RowKind::row : storage_kind(root.view), unit_);
    if (kind == RowKind::row || root.view.shape.rank() == 0) {
      builder_->program.operands[size_t(operand)].column = ColumnStep::none;
    }
    for (int part = 0; part < rows_.parts_of(root.value); ++part) {
      const int value = emit(root.value, part);
      builder_->add(
          {NestOp::store, ScalarOp::argument, root.value.dtype(), value, -1, -1, operand, part});
    }
  }

  RowKind storage_kind(const View& view) const {
    return view.shape.rank() == 0 ? RowKind::scalar : RowKind::full;
  }

  void reduce(const Root& root) {
    const Node& node = *root.value.node;
    const OperandKind kind = node.is(ops::sum) ? OperandKind::reduce_sum : OperandKind::reduce_max;
    const int operand = builder_->operand(kind, root.view, RowKind::row, unit_);
    const Value x = node.operands[0];
    for (int part = 0; part < rows_.parts_of(x); ++part) {
      const int value = emit(x, part);
      builder_->add({NestOp::reduce, ScalarOp::argument, x.dtype(), value, -1, -1, operand, part});
    }
  }

  void reduce_over_rows(const Root& root) {
    const int operand = builder_->operand(*root.reduction, root.view, RowKind::column, unit_);
    for (int part = 0; part < rows_.parts_of(root.value); ++part) {
      const int value = emit(root.value, part);
      builder_->add(
          {NestOp::reduce, ScalarOp::argument, root.value.dtype(), value, -1, -1, operand, part});
    }
  }

  /// One part of a value, in this nest.
  struct Part {
    Value value;
    int part = 0;
    std::array<int, 3> key() const { return {value.node->id, value.index, part}; }
  };

  /// The instruction that has `part` of the value in this nest. With a stack of its own: a body may
  /// be a chain of any length.
  int emit(Value value, int part) {
    std::vector<Part> waiting{{value, part}};
    while (!waiting.empty()) {
      const Part at = waiting.back();
      if (emitted_.contains(at.key())) {
        waiting.pop_back();
        continue;
      }
      const std::vector<Part> needs = needs_of(at);
      const size_t before = waiting.size();
      for (auto need = needs.rbegin(); need != needs.rend(); ++need) {
        if (!emitted_.contains(need->key())) waiting.push_back(*need);
      }
      if (waiting.size() != before) continue;
      emitted_[at.key()] = emit_after(at, needs);
      waiting.pop_back();
    }
    return emitted_.at({value.node->id, value.index, part});
  }

  /// The parts of operands that a part is computed from in this nest, in the order in which they
  /// are loaded; nothing for what is loaded itself.
  std::vector<Part> needs_of(const Part& at) const {
    const Node& node = *at.value.node;
    if (is_loaded(node) || is_stored_before(at.value)) return {};
    if (is_moved(node)) return {moved_from(at)};
    std::vector<Part> needs;
    for (Value operand : node.operands) needs.push_back({operand, part_in(operand, at.part)});
    return needs;
  }

  /// Inputs, constants, products and sums have no operands in a nest.
  static bool is_loaded(const Node& node) {
    return node.is(ops::input) || node.is(ops::constant) || node.is(ops::iota) ||
           is_row_global(node);
  }
  /// A result that a nest before this one stores, or a function that it computes in any case: to
  /// load it takes less than to compute it again from all that it comes from.
  bool is_stored_before(Value value) const {
    const bool stored = result_of_.contains(key_of(value)) || kept_.contains(value.node);
    return is_elementwise(value.node->op) && stored && positions_.of(value) < here_;
  }
  static bool is_moved(const Node& node) {
    return node.is(ops::split) || node.is(ops::slice) || node.is(ops::broadcast_to) ||
           node.is(ops::concat);
  }

  /// The part of an operand that a part of a view or a concatenation is.
  Part moved_from(const Part& at) const {
    const Node& node = *at.value.node;
    const Value from = node.operands[0];
    if (node.is(ops::split)) return {from, at.value.index * rows_.parts_of(at.value) + at.part};
    if (node.is(ops::slice))
      return {from, int(node.attributes.get_int("start", 0) / unit_) + at.part};
    if (node.is(ops::broadcast_to)) return {from, part_in(from, at.part)};
    int part = at.part;
    for (Value operand : node.operands) {
      if (part < rows_.parts_of(operand)) return {operand, part};
      part -= rows_.parts_of(operand);
    }
    GRAPHC_CHECK(false, "%{} has no part {}", node.names[0], at.part);
    return {};
  }

  int emit_after(const Part& at, const std::vector<Part>& needs) {
    if (is_loaded(*at.value.node)) return emit_loaded(at.value, at.part);
    if (is_stored_before(at.value)) return load(at.value, stored(at.value), at.part);
    if (is_moved(*at.value.node)) return emitted_.at(needs[0].key());
    return emit_elementwise(*at.value.node, needs);
  }

  int load(Value value, const View& view, int part) {
    const RowKind kind = rows_.kind_of(value);
    const int operand = builder_->operand(OperandKind::load, view, kind, unit_);
    const bool columns = kind == RowKind::full || kind == RowKind::column;
    return load(value.dtype(), operand, columns ? part : 0);
  }

  int load(DType dtype, int operand, int part = 0) {
    return builder_->add({NestOp::load, ScalarOp::argument, dtype, -1, -1, -1, operand, part});
  }

  int emit_loaded(Value value, int part) {
    const Node& node = *value.node;
    if (node.is(ops::input)) return load(value, input_view(value), part);
    if (node.is(ops::constant)) return emit_constant(value, part);
    if (node.is(ops::iota)) {
      return load(value.dtype(), builder_->iota(node, rows_.kind_of(value), unit_), part);
    }
    if (node.is(ops::matmul) && positions_.of(value) == here_) return emit_product(node, part);
    // Sums are complete only after their nest; what another space or stage computed whole is read
    // from there.
    return load(value, stored(value), part);
  }

  /// Parts of rows, scalars and narrower columns repeat.
  int part_in(Value operand, int part) const { return rows_.parts_of(operand) == 1 ? 0 : part; }

  const View& input_view(Value value) const { return binding_.inputs[input_of_.at(value.node)]; }

  int emit_constant(Value value, int part) {
    const Attribute& number = *value.node->attributes.find("value");
    const auto literal = [&](auto of_type) {
      return load(value.dtype(), builder_->literal(value.dtype(), of_type));
    };
    if (auto x = std::get_if<double>(&number)) return literal(*x);
    if (auto n = std::get_if<int64_t>(&number)) return literal(*n);
    if (auto b = std::get_if<bool>(&number)) return literal(int64_t(*b));
    return load(value, context_.constant_data(*value.node), part);
  }

  int emit_product(const Node& node, int part) {
    const auto [found, added] =
        product_index_.emplace(node.id, int(builder_->program.products.size()));
    if (added) add_product(node);
    return builder_->add({NestOp::product, ScalarOp::argument, node.types[0].dtype, -1, -1, -1,
                          found->second, part});
  }

  void add_product(const Node& node) {
    const Value a = node.operands[0], b = node.operands[1];
    const View left = left_of(a, input_view(b).dtype);
    const ProductForm* form = context_.machine().product(left.dtype, input_view(b).dtype);
    if (form == nullptr)
      throw input_error(node.where, "matmul: {} multiplies {}: found {} and {}",
                        context_.machine().target, context_.machine().product_types(),
                        to_string(a.type()), to_string(b.type()));
    const int parts = rows_.parts_of(node.result());
    builder_->program.products.push_back(
        {form->left, form->right, form->sum, parts, form->factors});
    builder_->call.products.push_back(call_product(node, left, *form, parts));
  }

  /// The left operand of a product with a matrix of `right`: an input, or what another nest stores.
  /// What is only widened is read as it was before, where the machine multiplies that.
  View left_of(Value a, DType right) {
    if (is_widening(*a.node)) {
      const Value narrow = a.node->operands[0];
      if (context_.machine().product(narrow.dtype(), right) != nullptr) a = narrow;
    }
    return a.node->is(ops::input) ? input_view(a) : stored(a);
  }

  CallProduct call_product(const Node& node, View left, const ProductForm& form, int parts) {
    const Value a = node.operands[0];
    const View& right = input_view(node.operands[1]);
    if (node.attributes.get_bool("transpose_a", false)) {
      if (left.shape.rank() != 2)
        throw input_error(node.where, "matmul: {} transposes matrices: found {}",
                          context_.machine().target, to_string(a.type()));
      std::swap(left.strides[0], left.strides[1]);
      left.shape = {left.shape[1], left.shape[0]};
    }
    const bool tb = node.attributes.get_bool("transpose_b", false);
    const int64_t size = size_of(right.dtype);
    CallProduct result{.a = left.address};
    result.a_k = left.strides[size_t(left.shape.rank() - 1)] * size_of(left.dtype);
    result.outer = lead_strides(left, rows_.lead, true);
    result.right_outer.assign(result.outer.size(), 0);
    const size_t batch = size_t(right.shape.rank()) - 2;
    for (size_t i = 0; i < batch; ++i) result.right_outer[i] = right.strides[i] * size;
    result.b = right.address;
    const int64_t column = right.strides[batch + (tb ? 0 : 1)] * size;
    result.b_strides = {right.strides[batch + (tb ? 1 : 0)] * size, column, column * unit_};
    result.panels = {left.shape[-1], unit_, parts, 0, form.right, form.k_group};
    result.panels.from = form.right;
    if (form.matrix_tiles) {
      result.panels.dtype = DType::bf16;
      result.panels.k_tile = context_.machine().matrix_tile.k;
      result.panels.bf16_parts = bf16_parts(form.factors);
    }
    return result;
  }

  /// `needs` are the parts of the operands, all of them emitted.
  int emit_elementwise(const Node& node, const std::vector<Part>& needs) {
    const ScalarCode program = scalar_code(node);
    std::vector<int> values(program.code.size(), -1);
    for (size_t i = 0; i < program.code.size(); ++i) {
      const ScalarInstruction& in = program.code[i];
      if (in.op == ScalarOp::argument) {
        values[i] = emitted_.at(needs[size_t(in.a)].key());
      } else if (in.op == ScalarOp::constant) {
        const int operand = is_floating(in.dtype)
                                ? builder_->literal(in.dtype, in.constant.as_double())
                                : builder_->literal(in.dtype, in.constant.as_integer());
        values[i] = load(in.dtype, operand);
      } else {
        const auto at = [&](int index) { return index < 0 ? -1 : values[size_t(index)]; };
        values[i] =
            builder_->add({NestOp::scalar, in.op, in.dtype, at(in.a), at(in.b), at(in.c), -1, 0});
      }
    }
    return values[size_t(program.result)];
  }

  LowerContext& context_;
  const Graph& body_;
  const RowModel& rows_;
  const RowBinding& binding_;
  const NestPositions positions_;
  std::map<NestPosition, std::vector<Root>> roots_;
  std::map<std::pair<int, int>, View> stored_;
  std::unordered_map<const Node*, size_t> input_of_;
  std::map<std::pair<int, int>, std::vector<size_t>> result_of_;  // of each value, its places
  std::unordered_set<const Node*> kept_;                          // functions that later nests load
  NestBuilder* builder_ = nullptr;
  NestPosition here_{};
  int64_t unit_ = 1;
  std::map<std::array<int, 3>, int> emitted_;
  std::map<int, int> product_index_;
};

}  // namespace

std::vector<NestCall> lower_rows(LowerContext& context, const Graph& body, const RowModel& rows,
                                 const RowBinding& binding) {
  return RowLowering(context, body, rows, binding).run();
}

}  // namespace graphc::core
