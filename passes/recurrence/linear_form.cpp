// SPDX-License-Identifier: Apache-2.0
#include "passes/recurrence/linear_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ir/build.h"
#include "ir/op.h"
#include "passes/kernels/matrix_rows.h"
#include "passes/recurrence/coefficients.h"
#include "passes/variation.h"

namespace graphc::core {

KnownSteps::KnownSteps(const Scan& scan, const Values& values, Graph& to)
    : to_(to), steps_(scan.steps()), batch_(scan.body(), to, scan.steps()) {
  const Values carries(scan.body_carries().begin(), scan.body_carries().end());
  of_carries_ = dependents(scan.body(), carries);
  for (size_t i = 0; i < values.size(); ++i) {
    const bool stream = i < scan.streams().size();
    if (stream || i >= scan.streams().size() + scan.initial().size())
      batch_.set(scan.body().inputs()[i], {values[i], stream});
  }
}

Batched KnownSteps::get(Value inner) {
  if (of_carries_[size_t(inner.node->id)] && !batch_.has(inner)) {
    crossing_.add(inner);
    set(inner, to_.input({inner.dtype(), inner.shape().insert(0, steps_)}, inner.name(),
                         inner.node->where));
  }
  return batch_.get(inner);
}

namespace {

/// What a value of the body is. The last three need what is read from a matrix.
enum class FormKind : uint8_t { known, state, read, late };

struct Form {
  FormKind kind = FormKind::known;
  size_t carry = 0;  ///< its index in `carries` of the loop
  StateForm state;
  ReadForm read;
};

/// Walks the body once and finds the form of each value.
class Forms {
 public:
  Forms(const Scan& scan, KnownSteps& known)
      : scan_(scan),
        body_(scan.body()),
        known_(known),
        varies_(variation(scan)),
        live_(needed_for(body_, body_.results())),
        forms_(body_.nodes().size()) {}

  LinearLoop run() {
    find_matrices();
    if (loop_.why_not.empty()) check_other_carries();
    if (loop_.why_not.empty()) walk();
    if (loop_.why_not.empty()) finish();
    return std::move(loop_);
  }

 private:
  Form& of(Value value) { return forms_[size_t(value.node->id)]; }
  bool is_known(Value value) { return of(value).kind == FormKind::known; }
  const AxesOfRows& axes_of(const Form& form) const { return axes_[form.carry]; }

  template <typename... Args>
  void refuse(fmt::format_string<Args...> format, Args&&... args) {
    if (loop_.why_not.empty()) loop_.why_not = fmt::format(format, std::forward<Args>(args)...);
  }

  /// The carried matrices, and the axis of each that a step sums over.
  void find_matrices() {
    const int rows = matrix_row_axes(scan_);
    for (size_t k = 0; k < scan_.initial().size(); ++k) {
      const Value carry = scan_.body_carries()[k];
      if (rows == 0 || carry.shape().rank() != rows + 2) continue;
      if (!is_floating(carry.dtype()))
        return refuse("the matrix '{}' is of {}: products are of floats", carry.name(),
                      name_of(carry.dtype()));
      const std::optional<int> axis = summed_axis(carry);
      if (!axis) return refuse("no step sums over the keys of '{}'", carry.name());
      of(carry) = {FormKind::state, loop_.carries.size(), {one(carry.dtype()), {}}, {}};
      loop_.carries.push_back({k, *axis, {}, {}});
      axes_.push_back({carry.shape(), *axis});
    }
    if (loop_.carries.empty()) refuse("no carry has a matrix in every row");
  }

  Value one(DType dtype) const { return splat(known_.graph(), 1, {dtype, Shape{1, 1, 1}}); }

  /// The axis of the first sum over one axis of the matrix, of values that need the carry.
  std::optional<int> summed_axis(Value carry) const {
    const std::vector<bool> needs = dependents(body_, {carry});
    for (const Node& node : body_.nodes()) {
      if (!needs[size_t(node.id)] || !node.is(ops::sum)) continue;
      if (node.operands[0].shape() != carry.shape()) continue;
      const std::vector<int64_t> axes = node.attributes.get_ints("axes");
      const int rank = carry.shape().rank();
      if (axes.size() == 1 && axes[0] >= rank - 2) return int(axes[0]);
    }
    return std::nullopt;
  }

  void check_other_carries() {
    Values matrices;
    for (const LinearCarry& carry : loop_.carries)
      matrices.push_back(scan_.body_carries()[carry.index]);
    needs_matrix_ = dependents(body_, matrices);
    for (size_t k = 0; k < scan_.initial().size(); ++k) {
      if (of(scan_.body_carries()[k]).kind == FormKind::state) continue;
      if (needs_matrix_[size_t(scan_.next()[k].node->id)])
        refuse("the carry '{}' depends on a matrix", scan_.body_carries()[k].name());
    }
  }

  void walk() {
    for (const Node& node : body_.nodes()) {
      if (!live_[size_t(node.id)] || node.is(ops::input)) continue;
      if (!needs_matrix_[size_t(node.id)]) {
        check_for_all_steps(node);
        // Forms of later nodes compute this one for all steps.
        if (!loop_.why_not.empty()) return;
        continue;
      }
      std::optional<Form> form = form_of(node);
      if (!form) {
        for (Value operand : node.operands) {
          if (of(operand).kind != FormKind::state) continue;
          return refuse("'{}' is not linear in the matrix, or mixes keys and values", node.op.name);
        }
        form.emplace().kind = FormKind::late;
        check_for_all_steps(node);
      }
      forms_[size_t(node.id)] = std::move(*form);
    }
  }

  /// A node that is computed for all steps at once, before the loop or after it.
  void check_for_all_steps(const Node& node) {
    std::vector<bool> stacked;
    for (Value operand : node.operands)
      stacked.push_back(varies_[size_t(operand.node->id)] >= Varies::streams);
    if (!can_batch(node, stacked)) refuse("'{}' is of one step", node.op.name);
  }

  std::optional<Form> form_of(const Node& node) {
    if (node.results() != 1) return std::nullopt;
    if (node.is(ops::neg)) return negated(node);
    if (node.is(ops::add) || node.is(ops::sub)) return sum_of(node);
    if (node.is(ops::mul) || node.is(ops::div)) return product(node);
    if (node.is(ops::sum)) return sum_over(node);
    if (node.is(ops::reshape)) return reshaped(node);
    if (node.is(ops::select)) return selection(node);
    return std::nullopt;
  }

  /// The state or read times a coefficient.
  static Form scaled_form(Form form, Value factor) {
    form.state = scaled(form.state, factor);
    form.read = scaled(form.read, factor);
    return form;
  }
  Form negative(const Form& form, DType dtype) const {
    return scaled_form(form, splat(known_.graph(), -1, {dtype, Shape{1, 1, 1}}));
  }

  std::optional<Form> negated(const Node& node) {
    const Form& form = of(node.operands[0]);
    if (form.kind == FormKind::late) return std::nullopt;
    return negative(form, node.types[0].dtype);
  }

  /// The operand as a form of the kind and carry that another operand has.
  std::optional<Form> as_form(Value operand, Value beside) {
    const Form &form = of(operand), &other = of(beside);
    if (form.kind != FormKind::known) {
      if (form.kind != other.kind || form.carry != other.carry) return std::nullopt;
      return operand.shape() == beside.shape() ? std::optional(form) : std::nullopt;
    }
    Form result{other.kind, other.carry, {}, {}};
    if (is_splat(operand, 0)) return result;
    if (other.kind == FormKind::state) {
      auto writes = outer_products(known_, operand, axes_of(other));
      if (!writes) return std::nullopt;
      result.state.writes = std::move(*writes);
      return result;
    }
    const auto constant = coefficient(known_, operand, beside.shape(), axes_of(other));
    if (!constant || constant->keys) return std::nullopt;
    result.read.constant = constant->value;
    return result;
  }

  /// Whether it is a state or a read.
  static bool is_linear(const Form& form) {
    return form.kind == FormKind::state || form.kind == FormKind::read;
  }

  std::optional<Form> sum_of(const Node& node) {
    const Value a = node.operands[0], b = node.operands[1];
    const Value beside = is_linear(of(a)) ? a : b;
    if (!is_linear(of(beside)) || beside.shape() != node.types[0].shape) return std::nullopt;
    const auto left = as_form(a, beside), right = as_form(b, beside);
    if (!left || !right) return std::nullopt;
    Form result = *left;
    const Form other = node.is(ops::sub) ? negative(*right, node.types[0].dtype) : *right;
    result.state = added(result.state, other.state);
    result.read = added(result.read, other.read);
    return result;
  }

  /// A state or a read times what is known; a read times a number for each key is a state.
  std::optional<Form> product(const Node& node) {
    const bool divides = node.is(ops::div);
    const size_t linear = is_linear(of(node.operands[0])) ? 0 : 1;
    const Value operand = node.operands[linear], factor = node.operands[1 - linear];
    if ((divides && linear == 1) || !is_linear(of(operand)) || !is_known(factor))
      return std::nullopt;
    const Form& form = of(operand);
    if (node.types[0].shape.rank() != operand.shape().rank()) return std::nullopt;
    const auto found = coefficient(known_, factor, operand.shape(), axes_of(form));
    if (!found || found->values) return std::nullopt;
    const Value number = divides ? reciprocal(found->value) : found->value;
    if (form.kind == FormKind::read && found->keys)
      return Form{FormKind::state, form.carry, {{}, {{number, form.read}}}, {}};
    return scaled_form(form, number);
  }

  std::optional<Form> sum_over(const Node& node) {
    const Form& form = of(node.operands[0]);
    const std::vector<int64_t> axes = node.attributes.get_ints("axes");
    if (form.kind != FormKind::state || axes.size() != 1 || axes[0] != axes_of(form).key_axis)
      return std::nullopt;
    return Form{FormKind::read, form.carry, {}, sum_over_keys(form.state, axes_of(form).keys())};
  }

  std::optional<Form> reshaped(const Node& node) {
    const Form& form = of(node.operands[0]);
    if (form.kind != FormKind::read) return std::nullopt;
    const AxesOfRows& axes = axes_of(form);
    const Shape& shape = node.types[0].shape;
    const auto is_read = [&](const Shape& s) {
      return s == axes.flat() || s == axes.with_one_key();
    };
    return is_read(shape) && is_read(node.operands[0].shape()) ? std::optional(form) : std::nullopt;
  }

  std::optional<Form> selection(const Node& node) {
    const Value condition = node.operands[0], a = node.operands[1], b = node.operands[2];
    const Value beside = is_linear(of(a)) ? a : b;
    if (!is_known(condition) || !is_linear(of(beside)) || beside.shape() != node.types[0].shape)
      return std::nullopt;
    const auto where = coefficient(known_, condition, beside.shape(), axes_of(of(beside)));
    const auto left = as_form(a, beside), right = as_form(b, beside);
    if (!where || where->keys || where->values || !left || !right) return std::nullopt;
    Form result{of(beside).kind, of(beside).carry, {}, {}};
    result.state = selected(where->value, left->state, right->state);
    result.read = selected(where->value, left->read, right->read);
    return result;
  }

  void finish() {
    for (LinearCarry& carry : loop_.carries) {
      const Value next = scan_.next()[carry.index];
      const Form& form = of(next);
      if (form.kind != FormKind::state || &loop_.carries[form.carry] != &carry) {
        refuse("the next '{}' is not linear in it", scan_.body_carries()[carry.index].name());
        return;
      }
      carry.next = joined(form.state);
    }
    ValueSet wanted;
    const auto want = [&](Value value) {
      if (of(value).kind == FormKind::read) wanted.add(value);
    };
    loop_.is_late.resize(forms_.size());
    for (const Node& node : body_.nodes()) {
      if (!live_[size_t(node.id)] || forms_[size_t(node.id)].kind != FormKind::late) continue;
      loop_.is_late[size_t(node.id)] = true;
      for (Value operand : node.operands) want(operand);
    }
    for (Value emit : scan_.emits()) {
      if (of(emit).kind == FormKind::state)
        refuse("the matrix of every step is a result of the loop");
      want(emit);
    }
    for (Value value : wanted.values())
      loop_.carries[of(value).carry].reads.emplace_back(value, of(value).read);
  }

  const Scan& scan_;
  const Graph& body_;
  KnownSteps& known_;
  const std::vector<Varies> varies_;
  const std::vector<bool> live_;
  std::vector<Form> forms_;       ///< by node of the body
  std::vector<AxesOfRows> axes_;  ///< of each linear carry
  std::vector<bool> needs_matrix_;
  LinearLoop loop_;
};

}  // namespace

LinearLoop linear_loop(const Scan& scan, KnownSteps& known) { return Forms(scan, known).run(); }

}  // namespace graphc::core
