// SPDX-License-Identifier: Apache-2.0
// Gives each row of a loop with matrices its own copy of what some rows share.
//
// The rows of a loop that carries [batch, heads, K, V] are [batch, heads]. What a step reads of
// heads alone (a parameter [heads, V]) or of the batch alone (a stream [batch, K], a mask [batch])
// is at no constant distance from row to row, so its nests would count rows otherwise than their
// neighbours, and the loop would have a barrier a nest. Here it is repeated for all rows before the
// loop, and so is what is computed element by element from such values: in a step that would be
// nests of a few numbers. In a loop inside a loop each row computes it. Then one count goes through
// all rows, whichever nest it is (LoopCall::rows_apart). The copies are small beside the matrices.
// If a step also reads a matrix that some rows share, nothing is repeated. The pass runs after all
// that would fold a product with 1.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/build.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "ir/scan.h"
#include "passes/batch.h"
#include "passes/kernels/matrix_rows.h"
#include "passes/passes.h"
#include "passes/region.h"
#include "passes/simplify_rules.h"

namespace graphc::core {
namespace {

using Ints = std::vector<int64_t>;

/// A value seen in the shape `own`, of as many axes as the shape `all` that it is repeated to.
struct Repeated {
  Value value;
  Shape own, all;
  bool operator==(const Repeated&) const = default;
};

/// The shape with axes of extent 1 in front, as broadcasting sees it; itself, if it has more axes.
Shape padded(const Shape& shape, int rank) {
  Ints extents(size_t(std::max(rank - shape.rank(), 0)), 1);
  extents.insert(extents.end(), shape.begin(), shape.end());
  return Shape(extents);
}

/// The shape of an operand with all rows, if it has some of them; `value` is the shape of what is
/// computed.
std::optional<Shape> with_all_rows(const Shape& own, const Shape& value, const Shape& rows) {
  const int lead = rows.rank();
  // A vector of all heads side by side, read by [batch, heads * V].
  if (value.rank() == lead && rows.elements() > rows[-1] && own.rank() > 0 &&
      value[-1] > rows[-1] && value[-1] % rows[-1] == 0 &&
      std::equal(value.begin(), value.end() - 1, rows.begin()) && own.elements() == value[-1] &&
      own[-1] == value[-1])
    return value;
  if (own.rank() > value.rank() || value.rank() < lead ||
      !std::equal(rows.begin(), rows.end(), value.begin()))
    return std::nullopt;
  const Shape seen = padded(own, value.rank());
  const bool has_some =
      std::any_of(seen.begin(), seen.begin() + lead, [](int64_t extent) { return extent > 1; });
  if (!has_some || std::equal(rows.begin(), rows.end(), seen.begin())) return std::nullopt;
  Ints extents(seen.begin(), seen.end());
  std::copy(rows.begin(), rows.end(), extents.begin());
  return Shape(extents);
}

/// Whether it has more than a vector behind the rows.
bool has_matrix_behind(const Shape& rows, const Shape& shape) {
  return shape.rank() > rows.rank() && std::count_if(shape.begin() + rows.rank(), shape.end(),
                                                     [](int64_t extent) { return extent > 1; }) > 1;
}

/// A copy of the value: repeated by its strides, it would not be at a constant distance.
Value copied(Value value, const Shape& own, const Shape& all, Graph& to) {
  if (padded(value.shape(), own.rank()) != own) value = reshape(value, own);
  if (value.dtype() == DType::boolean)
    return logical_or(value, splat(to, 0, {DType::boolean, all}));
  return value * splat(to, 1, {value.dtype(), all});
}

/// A scan with the copies that its step, and the steps of scans inside, read.
class ScanOfRows {
 public:
  /// `outermost`: no loop is around it.
  ScanOfRows(const Scan& scan, const Shape& rows, bool outermost)
      : scan_(scan), body_(scan.body()) {
    known_for_rows_.resize(body_.nodes().size());
    find_early(rows, outermost);
    for (const Node& node : body_.nodes()) {
      if (node.is(ops::scan)) {
        find_inside(node, rows);
      } else if (is_elementwise(node.op)) {
        for (const Value operand : node.operands) find(node, operand, rows);
      }
    }
  }

  /// What joins rows, if anything: it is shared by some of them and is not repeated. Then copies of
  /// the rest are of no use.
  const std::string& joint() const { return joint_; }

  /// A value of the step that the scan reads a copy of: one of its inputs, or, of an outermost
  /// scan, one that is computed before it. Of a stream, or what is computed of one, the shapes are
  /// those of all steps.
  struct Wanted {
    Value value;
    bool is_stream;
    Shape own, all;
    bool operator==(const Wanted&) const = default;
  };
  const std::vector<Wanted>& wanted() const { return wanted_; }
  /// The operand of the scan that is wanted.
  Value operand_of(const Wanted& wanted) const {
    return scan_.node().operands[number_of(wanted.value)];
  }
  /// What is wanted of an outermost scan with these operands, before it is copied.
  Values values_before(const Values& operands, Graph& to) const {
    Batch batch(body_, to, scan_.steps());
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!is_carry(i)) batch.set(body_.inputs()[i], {operands[i], i < scan_.streams().size()});
    }
    Values values;
    for (const Wanted& wanted : wanted_) values.push_back(batch.get(wanted.value).value);
    return values;
  }

  /// The scan in `to`. `copies` has what is wanted().
  Values build(const Values& operands, const Values& copies, Graph& to) const {
    Builder builder(*this, operands, copies);
    return builder.build(to);
  }

 private:
  static constexpr int kMostNodes = 8;  ///< that rows compute each for itself

  bool is_carry(size_t i) const {
    return i >= scan_.streams().size() && i < scan_.streams().size() + scan_.initial().size();
  }
  size_t number_of(Value input) const {
    return size_t(std::ranges::find(body_.inputs(), input) - body_.inputs().begin());
  }

  /// Finds what can be computed for all steps before an outermost loop: elementwise, from streams
  /// and captures, and no matrices.
  void find_early(const Shape& rows, bool outermost) {
    early_.resize(body_.nodes().size());
    moves_.resize(body_.nodes().size());
    for (const Node& node : body_.nodes()) {
      const size_t id = size_t(node.id);
      const bool is_input = node.is(ops::input);
      bool early = outermost && node.results() == 1;
      std::vector<bool> stacked;
      for (const Value operand : node.operands) {
        stacked.push_back(moves_[size_t(operand.node->id)]);
        early = early && early_[size_t(operand.node->id)];
      }
      moves_[id] = is_input ? number_of(node.result()) < scan_.streams().size()
                            : std::ranges::find(stacked, true) != stacked.end();
      const bool moves_elements = node.is(ops::reshape) || node.is(ops::broadcast_to);
      const bool is_made = node.is(ops::constant) || node.is(ops::iota);
      if (is_input)
        early_[id] = outermost && !is_carry(number_of(node.result()));
      else
        early_[id] = early && (is_elementwise(node.op) || moves_elements || is_made) &&
                     can_batch(node, stacked) && !is_matrix_of(rows, node.types[0].shape);
    }
  }
  bool is_early(Value value) const { return early_[size_t(value.node->id)]; }

  /// How many nodes each row would compute for itself to have the value, beginning with streams and
  /// captures; none if it depends on anything else.
  std::optional<int> nodes_for_rows(Value value) {
    std::optional<std::optional<int>>& known = known_for_rows_[size_t(value.node->id)];
    if (!known) known = count_nodes(value);
    return *known;
  }
  std::optional<int> count_nodes(Value value) {
    const Node& node = *value.node;
    if (node.is(ops::input)) return is_carry(number_of(value)) ? std::nullopt : std::optional(0);
    if (node.is(ops::reshape)) return nodes_for_rows(node.operands[0]);
    if (!is_elementwise(node.op) || node.results() != 1) return std::nullopt;
    int count = 1;
    for (const Value operand : node.operands) {
      if (operand.shape().rank() == 0) continue;
      const std::optional<int> more =
          operand.shape() == value.shape() ? nodes_for_rows(operand) : std::nullopt;
      if (!more || (count += *more) > kMostNodes) return std::nullopt;
    }
    return count;
  }

  void find(const Node& node, Value operand, const Shape& rows) {
    const std::optional<Shape> all = with_all_rows(operand.shape(), node.types[0].shape, rows);
    if (!all) return;
    const bool is_matrix = has_matrix_behind(rows, *all);
    if (!is_matrix && (is_early(operand) || nodes_for_rows(operand)))
      return want({operand, padded(operand.shape(), all->rank()), *all});
    if (joint_.empty())
      joint_ =
          fmt::format("%{} ({}) reads %{}, which some rows share: {}", node.names[0], node.op.name,
                      operand.name(), is_matrix ? "a matrix" : "a value of the step");
  }

  void find_inside(const Node& node, const Shape& rows) {
    inside_.emplace_back(&node, std::make_unique<ScanOfRows>(Scan(node), rows, false));
    const ScanOfRows& inside = *inside_.back().second;
    if (joint_.empty()) joint_ = inside.joint();
    for (const Wanted& wanted : inside.wanted())
      want({inside.operand_of(wanted), wanted.own, wanted.all});
  }

  /// Collects what the scan itself has to be given for it.
  void want(const Repeated& repeated) {
    if (std::ranges::find(repeated_, repeated) != repeated_.end()) return;
    repeated_.push_back(repeated);
    const Node& node = *repeated.value.node;
    if (is_early(repeated.value) || (node.is(ops::input) && nodes_for_rows(repeated.value))) {
      const bool is_stream = moves_[size_t(node.id)];
      Wanted wanted{repeated.value, is_stream, repeated.own, repeated.all};
      if (is_stream && repeated.all.rank() == Shape::kMaxRank) return refuse_axes(repeated.value);
      if (is_stream) {
        wanted.own = wanted.own.insert(0, scan_.steps());
        wanted.all = wanted.all.insert(0, scan_.steps());
      }
      if (std::ranges::find(wanted_, wanted) == wanted_.end()) wanted_.push_back(wanted);
      return;
    }
    if (!nodes_for_rows(repeated.value)) return;
    for (const Value operand : node.operands) {
      if (operand.shape().rank() > 0) want({operand, repeated.own, repeated.all});
    }
  }

  void refuse_axes(Value value) {
    if (!joint_.empty()) return;
    joint_ = fmt::format("%{} of all rows and steps would have {} axes, and {} are the most",
                         value.name(), Shape::kMaxRank + 1, Shape::kMaxRank);
  }

  /// Writes the scan.
  class Builder {
   public:
    Builder(const ScanOfRows& from, const Values& operands, const Values& copies)
        : from_(from), operands_(operands), copies_(copies), known_(from.body_) {}

    Values build(Graph& to) {
      add_inputs();
      for (const Node& node : from_.body_.nodes()) {
        if (!node.is(ops::input)) add(node);
      }
      Values results;
      for (const Value result : from_.body_.results()) results.push_back(known_(result));
      body_->set_results(std::move(results));
      parts_.body = prune_scans(freeze(std::move(body_)));
      parts_.steps = from_.scan_.steps();
      parts_.reverse = from_.scan_.reverse();
      parts_.save_every = from_.scan_.save_every();
      const Node& node = from_.scan_.node();
      return results_of(add_scan(to, std::move(parts_), node.where, node.names));
    }

   private:
    void add_inputs() {
      const size_t streams = from_.scan_.streams().size();
      const size_t carries = from_.scan_.initial().size();
      const auto add_copies = [&](bool of_streams) {
        for (size_t i = 0; i < copies_.size(); ++i) {
          const Wanted& wanted = from_.wanted_[i];
          if (wanted.is_stream != of_streams) continue;
          const Value old = wanted.value;
          const Type type{old.dtype(), of_streams ? wanted.all.without(0) : wanted.all};
          const Value made = body_->input(type, old.name(), old.node->where);
          const Shape own = of_streams ? wanted.own.without(0) : wanted.own;
          made_.emplace_back(Repeated{old, own, type.shape}, made);
          (of_streams ? parts_.streams : parts_.captures).push_back(copies_[i]);
        }
      };
      for (size_t i = 0; i < operands_.size(); ++i) {
        if (i == streams) add_copies(true);
        const Value input = from_.body_.inputs()[i];
        known_.set(input, body_->input(input.type(), input.name(), input.node->where));
        Values& list = i < streams             ? parts_.streams
                       : i < streams + carries ? parts_.initial
                                               : parts_.captures;
        list.push_back(operands_[i]);
      }
      add_copies(false);
    }

    void add(const Node& node) {
      const WhereScope scope(node.where);
      Values operands;
      for (const Value operand : node.operands) operands.push_back(operand_of(node, operand));
      Values results;
      const auto inside =
          std::ranges::find(from_.inside_, &node, [](const auto& x) { return x.first; });
      if (inside != from_.inside_.end()) {
        Values copies;
        for (const Wanted& wanted : inside->second->wanted())
          copies.push_back(repeated({inside->second->operand_of(wanted), wanted.own, wanted.all}));
        results = inside->second->build(operands, copies, *body_);
      } else {
        results = results_of(copy_node(node, std::move(operands), *body_));
      }
      for (int i = 0; i < node.results(); ++i) known_.set(node.result(i), results[size_t(i)]);
    }

    /// The operand with all rows, if that is among what was found.
    Value operand_of(const Node& node, Value operand) {
      if (!is_elementwise(node.op)) return known_(operand);
      for (const Repeated& known : from_.repeated_) {
        if (known.value != operand || known.own != padded(operand.shape(), known.all.rank()))
          continue;
        if (broadcast(known.all, node.types[0].shape) == node.types[0].shape)
          return repeated(known);
      }
      return known_(operand);
    }

    Value repeated(const Repeated& wanted) {
      for (const auto& [known, made] : made_) {
        if (known == wanted) return made;
      }
      const Node& node = *wanted.value.node;
      Value made;
      if (!from_.known_for_rows_[size_t(node.id)].value_or(std::nullopt)) {
        made = copied(known_(wanted.value), wanted.own, wanted.all, *body_);
      } else if (node.is(ops::reshape)) {
        made = repeated({node.operands[0], wanted.own, wanted.all});
      } else {
        Values operands;
        for (const Value operand : node.operands) {
          operands.push_back(operand.shape().rank() == 0
                                 ? known_(operand)
                                 : repeated({operand, wanted.own, wanted.all}));
        }
        made = copy_node(node, std::move(operands), *body_).result();
      }
      made_.emplace_back(wanted, made);
      return made;
    }

    const ScanOfRows& from_;
    const Values& operands_;
    const Values& copies_;
    ValueMap known_;
    std::vector<std::pair<Repeated, Value>> made_;
    ScanParts parts_;
    std::unique_ptr<Graph> body_ = std::make_unique<Graph>(from_.body_.name());
  };

  const Scan scan_;
  const Graph& body_;
  std::vector<std::optional<std::optional<int>>> known_for_rows_;  ///< by node
  std::vector<bool> early_, moves_;                                ///< by node
  std::vector<std::pair<const Node*, std::unique_ptr<ScanOfRows>>> inside_;
  std::vector<Repeated> repeated_;
  std::vector<Wanted> wanted_;
  std::string joint_;
};

GraphPtr run_row_operands(const GraphPtr& graph, const PassOptions&, Remarks& remarks) {
  const auto has_rows = [](const Node& node) {
    return node.is(ops::scan) && !contains(node.region(), ops::matmul) &&
           matrix_row_axes(Scan(node)) > 1;
  };
  if (std::ranges::none_of(graph->nodes(), has_rows)) return graph;
  // What was read before it was repeated may not be read any more.
  return prune_scans(rewrite(
      *graph, [&](const Node& node, const Values& operands, Graph& to) -> std::optional<Values> {
        if (!has_rows(node)) return std::nullopt;
        const Scan scan(node);
        const ScanOfRows with_copies(scan, matrix_rows(scan), true);
        if (!with_copies.joint().empty())
          remarks.add(node, "repeats nothing for its rows: " + with_copies.joint());
        if (!with_copies.joint().empty() || with_copies.wanted().empty()) return std::nullopt;
        const WhereScope scope(node.where);
        Values copies = with_copies.values_before(operands, to);
        for (size_t i = 0; i < copies.size(); ++i) {
          const ScanOfRows::Wanted& wanted = with_copies.wanted()[i];
          copies[i] = copied(copies[i], wanted.own, wanted.all, to);
        }
        return with_copies.build(operands, copies, to);
      }));
}

}  // namespace

constinit const Pass passes::row_operands{
    .name = "row-operands",
    .summary = "gives each row of a loop with matrices a copy of what some rows share",
    .options = "",
    .run = run_row_operands,
};

}  // namespace graphc::core
