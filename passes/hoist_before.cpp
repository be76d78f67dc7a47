// SPDX-License-Identifier: Apache-2.0
// The part of hoist that moves work on streams before the loop: `x_t W` becomes one product.
#include <algorithm>

#include "ir/build.h"
#include "ir/op.h"
#include "ir/scalar.h"
#include "ir/scan.h"
#include "passes/batch.h"
#include "passes/cut.h"
#include "passes/hoist.h"
#include "passes/kernels/matrix_rows.h"
#include "passes/region.h"
#include "passes/variation.h"

namespace graphc::core {
namespace {

class HoistBefore {
 public:
  HoistBefore(const Node& node, const Values& operands, Graph& to, Around around)
      : scan_(node),
        body_(scan_.body()),
        operands_(operands),
        to_(to),
        around_(around),
        rows_(matrix_rows(scan_).elements()),
        has_matrices_(carries_matrix_shapes(scan_)) {
    for (const Value carry : scan_.body_carries())
      matrix_elements_ = std::max(matrix_elements_, carry.shape().elements());
  }

  std::optional<Values> run() {
    classify();
    if (std::find(heavy_.begin(), heavy_.end(), true) == heavy_.end()) return std::nullopt;
    choose_crossing();
    return build();
  }

 private:
  size_t id(Value value) const { return size_t(value.node->id); }

  /// By node: `steps_` depends only on streams; `early_` can be computed for all steps before the
  /// loop; `heavy_` must be; `behind_`, which is heavy or computed from heavy nodes, may be.
  void classify() {
    const size_t count = body_.nodes().size();
    steps_.resize(count);
    early_.resize(count);
    heavy_.resize(count);
    behind_.resize(count);
    const std::vector<Varies> varies = variation(scan_);
    const std::vector<bool> live = needed_for(body_, body_.results());
    for (const Node& node : body_.nodes()) {
      const size_t n = size_t(node.id);
      steps_[n] = varies[n] == Varies::streams;
      bool early = varies[n] != Varies::carries && live[n], behind = false;
      std::vector<bool> stacked;
      for (Value operand : node.operands) {
        stacked.push_back(steps_[id(operand)]);
        early = early && early_[id(operand)];
        behind |= behind_[id(operand)];
      }
      early_[n] = early && can_batch(node, stacked) && !(has_matrices_ && reduces(node));
      heavy_[n] = early_[n] && steps_[n] &&
                  (is_heavy(node) || gives_rows_a_column(node) || is_function_of_rows(node));
      behind_[n] = early_[n] && steps_[n] && (heavy_[n] || (behind && !is_matrix(node)));
    }
  }

  /// Whether it is a sum or a maximum of a larger value: of a matrix in every row, mostly, which
  /// the step has in its cache and all steps together would read from memory.
  static bool reduces(const Node& node) {
    return (node.is(ops::sum) || node.is(ops::max)) &&
           node.operands[0].shape().elements() > node.result().shape().elements();
  }

  /// Whether it makes a column of a number for each row, as masks are made of lengths: [rows, 1] of
  /// [rows]. In the loop such a reshape keeps it from being one kernel; before the loop it is free.
  bool gives_rows_a_column(const Node& node) const {
    if (!node.is(ops::reshape) || has_matrices_) return false;
    const Shape &from = node.operands[0].shape(), &to = node.result().shape();
    if (to.rank() < 2 || to[-1] != 1 || from.rank() != to.rank() - 1) return false;
    return std::ranges::any_of(scan_.initial(), [&](Value carry) {
      const Shape& shape = carry.shape();
      return shape.rank() == to.rank() && std::equal(from.begin(), from.end(), shape.begin());
    });
  }

  /// Whether it is a matrix of every row. A step computes it in its cache, in the nest that reads
  /// it; the matrices of all steps would go through memory.
  bool is_matrix(const Node& node) const {
    return has_matrices_ && is_elementwise(node.op) &&
           node.types[0].shape.elements() >= matrix_elements_;
  }

  /// Whether it is an elementary function of one number of each row, beside a matrix. In a step it
  /// is one element of a vector; all steps at once have whole vectors.
  bool is_function_of_rows(const Node& node) const {
    return has_matrices_ && around_ == Around::nothing && is_elementwise(node.op) &&
           node.types[0].shape.elements() <= rows_ && !is_exact(scalar_code(node));
  }

  bool is_emitted_early(Value value) const { return behind_[id(value)]; }

  void choose_crossing() {
    CutProblem problem;
    const auto want = [&](Value value) {
      if (early_[id(value)] && steps_[id(value)]) problem.wanted.push_back(value);
    };
    const std::vector<bool> live = needed_for(body_, body_.results());
    for (const Node& node : body_.nodes()) {
      if (early_[size_t(node.id)] || !live[size_t(node.id)]) continue;
      for (Value operand : node.operands) want(operand);
    }
    for (Value next : scan_.next()) want(next);
    for (Value emit : scan_.emits()) {
      if (!is_emitted_early(emit)) want(emit);
    }
    problem.repeat = [&](const Node& node) { return heavy_[size_t(node.id)] ? never : 0; };
    problem.store = [&](Value value) {
      if (value.node->is(ops::input)) return steps_[id(value)] ? cost_of_storing(value.type()) : 0;
      // Elementwise work that does not follow heavy work stays in the loop.
      return behind_[id(value)] ? cost_of_storing(value.type()) : never;
    };
    for (Value value : minimum_cut(body_, problem)) {
      if (steps_[id(value)]) crossing_.push_back(value);
    }
  }

  Values build() {
    Batch batch(body_, to_, scan_.steps());
    for (size_t i = 0; i < operands_.size(); ++i) {
      const bool carry =
          i >= scan_.streams().size() && i < scan_.streams().size() + scan_.initial().size();
      if (!carry) batch.set(body_.inputs()[i], {operands_[i], i < scan_.streams().size()});
    }
    auto copy = std::make_unique<Graph>(body_.name());
    ValueMap known(body_);
    ScanParts parts;
    for (Value value : crossing_) {
      known.set(value, copy->input(value.type(), value.name(), value.node->where));
      parts.streams.push_back(batch.get(value).value);
    }
    for (size_t i = scan_.streams().size(); i < operands_.size(); ++i) {
      const Value input = body_.inputs()[i];
      known.set(input, copy->input(input.type(), input.name(), input.node->where));
      const bool carry = i < scan_.streams().size() + scan_.initial().size();
      (carry ? parts.initial : parts.captures).push_back(operands_[i]);
    }
    Values wanted(scan_.next().begin(), scan_.next().end());
    std::vector<std::string> names;
    for (size_t i = 0; i < scan_.emits().size(); ++i) {
      if (is_emitted_early(scan_.emits()[i])) continue;
      wanted.push_back(scan_.emits()[i]);
      names.push_back(scan_.node().names[i]);
    }
    for (size_t k = 0; k < scan_.next().size(); ++k)
      names.push_back(scan_.node().names[scan_.emits().size() + k]);
    copy->set_results(copy_cone(body_, known, wanted, *copy));
    parts.body = freeze(std::move(copy));
    parts.steps = scan_.steps();
    parts.reverse = scan_.reverse();
    parts.save_every = scan_.save_every();
    Values added;
    if (!wanted.empty())
      added = results_of(add_scan(to_, std::move(parts), scan_.node().where, std::move(names)));
    Values results;
    size_t next = 0;
    for (Value emit : scan_.emits())
      results.push_back(is_emitted_early(emit) ? batch.get(emit).value : added[next++]);
    results.insert(results.end(), added.begin() + long(next), added.end());
    return results;
  }

  Scan scan_;
  const Graph& body_;
  const Values& operands_;
  Graph& to_;
  const Around around_;
  const int64_t rows_;           ///< that carry a matrix
  const bool has_matrices_;      ///< a carry has the shape of one in every row
  int64_t matrix_elements_ = 0;  ///< of the largest carry
  std::vector<bool> steps_, early_, heavy_, behind_;
  Values crossing_;
};

}  // namespace

std::optional<Values> hoist_before(const Node& node, const Values& operands, Graph& to,
                                   Around around) {
  return HoistBefore(node, operands, to, around).run();
}

}  // namespace graphc::core
