// SPDX-License-Identifier: Apache-2.0
#include "passes/row_program.h"

#include <algorithm>
#include <numeric>

#include "ir/op.h"
#include "ir/rewrite.h"

namespace graphc {
namespace {

/// Thrown inside the analysis, caught at its border: a reason, not an error.
struct Mismatch {
  std::string reason;
};

template <typename... Args>
void require(bool condition, const Node& node, fmt::format_string<Args...> format, Args&&... args) {
  if (condition) return;
  throw Mismatch{fmt::format("%{} ({}): {}", node.names[0], node.op.name,
                             fmt::format(format, std::forward<Args>(args)...))};
}

bool is_leaf(const Node& node) { return node.is(ops::constant) || node.is(ops::iota); }

bool is_local(const Node& node) {
  return is_elementwise(node.op) || node.is(ops::split) || node.is(ops::concat) ||
         node.is(ops::slice) || node.is(ops::broadcast_to);
}

int64_t width_of(Value value) { return value.shape().rank() == 0 ? 1 : value.shape()[-1]; }

Shape leading(const Shape& shape) {
  return shape.rank() == 0 ? shape : shape.without(shape.rank() - 1);
}

/// Whether a value with rows `from` has one for each of `to`: as they are, or repeated along axes
/// that it lacks or has once.
bool covers(const Shape& from, const Shape& to) {
  if (from.rank() > to.rank()) return false;
  for (int axis = 1; axis <= from.rank(); ++axis) {
    if (from[-axis] != to[-axis] && from[-axis] != 1) return false;
  }
  return true;
}

class Analysis {
 public:
  explicit Analysis(const Graph& body) : body_(body), live_(live_nodes(body)) {
    const size_t n = body.nodes().size();
    result_.kind.assign(n, RowKind::scalar);
    result_.stage.assign(n, 0);
    result_.space.assign(n, -1);
    parent_.resize(n);
    std::iota(parent_.begin(), parent_.end(), 0);
    matrix_.assign(n, false);
  }

  RowProgram run() {
    find_matrices();
    find_lead();
    for (const Node& node : body_.nodes()) {
      if (live_[size_t(node.id)] && !matrix_[size_t(node.id)]) classify(node);
    }
    for (const Node& node : body_.nodes()) {
      if (live_[size_t(node.id)] && !matrix_[size_t(node.id)]) join(node);
    }
    find_spaces();
    for (const Node& node : body_.nodes()) {
      if (live_[size_t(node.id)] && !matrix_[size_t(node.id)]) check_cuts(node);
    }
    return std::move(result_);
  }

 private:
  /// Right operands of products: inputs of the body that nothing else reads.
  void find_matrices() {
    for (const Node& node : body_.nodes()) {
      if (!live_[size_t(node.id)] || !node.is(ops::matmul)) continue;
      const Node& right = *node.operands[1].node;
      require(right.is(ops::input), node, "its right operand changes inside the kernel");
      require(right.types[0].shape.rank() == 2, node, "its right operand is not one matrix");
      require(
          !node.attributes.get_bool("transpose_a", false) || node.operands[0].node->is(ops::input),
          node, "its left operand is transposed inside the kernel");
      matrix_[size_t(right.id)] = true;
    }
    for (const Node& node : body_.nodes()) {
      if (!live_[size_t(node.id)]) continue;
      for (size_t i = 0; i < node.operands.size(); ++i) {
        const bool right = node.is(ops::matmul) && i == 1;
        if (node.is(ops::matmul) && i == 0 && node.attributes.get_bool("transpose_a", false)) {
          matrix_[size_t(node.operands[i].node->id)] = true;
        }
        require(right || node.is(ops::matmul) || !matrix_[size_t(node.operands[i].node->id)], node,
                "it reads %{}, a matrix of a product", node.operands[i].name());
      }
    }
    for (Value result : body_.results()) {
      require(!matrix_[size_t(result.node->id)], *result.node, "a matrix of a product is a result");
    }
  }

  /// The rows: the leading axes of the value of highest rank; all of that rank agree up to
  /// broadcasting.
  void find_lead() {
    int rank = -1;
    for (const Node& node : body_.nodes()) {
      if (!live_[size_t(node.id)] || matrix_[size_t(node.id)]) continue;
      for (const Type& type : node.types) {
        if (type.shape.rank() < rank) continue;
        if (type.shape.rank() > rank) result_.lead = {};
        const bool first = type.shape.rank() > rank;
        rank = type.shape.rank();
        if (rank == 0) continue;
        const Shape lead = leading(type.shape);
        const std::optional<Shape> joined = first ? lead : broadcast(result_.lead, lead);
        require(joined.has_value(), node, "its rows [{}] differ from [{}]", to_string(lead),
                to_string(result_.lead));
        result_.lead = *joined;
      }
    }
  }

  void classify(const Node& node) {
    const bool known =
        node.is(ops::input) || is_leaf(node) || is_local(node) || is_row_global(node);
    require(known, node, "it is neither local nor row-global");
    const Shape& shape = node.types[0].shape;
    const int64_t width = width_of({&node, 0});
    const Shape lead = leading(shape);
    const bool one_row = lead.elements() == 1;
    const bool all_rows =
        shape.rank() > 0 && (lead == result_.lead || (one_row && result_.rows() == 1));
    RowKind& kind = result_.kind[size_t(node.id)];
    if (shape.elements() == 1 && !(all_rows && result_.rows() != 1)) {
      kind = RowKind::scalar;
    } else if (width == 1 && all_rows) {
      kind = RowKind::row;
    } else if (one_row && result_.rows() != 1) {
      kind = RowKind::column;
    } else {
      // An input may be repeated along some of the rows' axes: its addresses are.
      const bool repeats = (node.is(ops::input) || is_leaf(node)) && covers(lead, result_.lead);
      require(all_rows || repeats, node, "its rows [{}] are not [{}]", to_string(lead),
              to_string(result_.lead));
      kind = width == 1 && !all_rows ? RowKind::row : RowKind::full;
    }
    int stage = 0;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      if (!matrix_[size_t(node.operands[i].node->id)])
        stage = std::max(stage, result_.stage_of(node.operands[i]));
    }
    if (is_row_global(node)) ++stage;
    if (node.is(ops::matmul))
      require(kind == RowKind::full || width == 1 || result_.rows() == 1, node, "its rows differ");
    if (node.is(ops::sum) || node.is(ops::max)) {
      const std::vector<int64_t> axes = node.attributes.get_ints("axes");
      require(axes.size() == 1 && axes[0] == node.operands[0].shape().rank() - 1 &&
                  node.attributes.get_bool("keep", false),
              node, "it mixes rows");
    }
    result_.stage[size_t(node.id)] = stage;
    result_.stages = std::max(result_.stages, stage);
  }

  bool has_columns(const Node& node) const {
    const RowKind kind = result_.kind[size_t(node.id)];
    return kind == RowKind::full || kind == RowKind::column;
  }

  int find(int id) {
    while (parent_[size_t(id)] != id)
      id = parent_[size_t(id)] = parent_[size_t(parent_[size_t(id)])];
    return id;
  }

  void join(const Node& node) {
    if (is_row_global(node) || node.is(ops::input) || is_leaf(node)) return;
    const int axis = node.types[0].shape.rank() - 1;
    if (node.is(ops::split) || node.is(ops::concat) || node.is(ops::slice)) {
      require(node.attributes.get_int("axis", 0) == axis, node, "it cuts along the rows");
    }
    for (Value operand : node.operands) {
      if (has_columns(node) && has_columns(*operand.node))
        parent_[size_t(find(operand.node->id))] = find(node.id);
    }
  }

  void find_spaces() {
    std::vector<int> index(body_.nodes().size(), -1);
    for (const Node& node : body_.nodes()) {
      if (!live_[size_t(node.id)] || matrix_[size_t(node.id)] || !has_columns(node)) continue;
      int& space = index[size_t(find(node.id))];
      if (space < 0) {
        space = int(result_.spaces.size());
        result_.spaces.emplace_back();
      }
      result_.space[size_t(node.id)] = space;
      int64_t& unit = result_.spaces[size_t(space)].unit;
      const int64_t width = width_of({&node, 0});
      unit = unit == 0 ? width : std::min(unit, width);
    }
    for (const Node& node : body_.nodes()) {
      const int space = result_.space[size_t(node.id)];
      if (space < 0) continue;
      const int64_t unit = result_.spaces[size_t(space)].unit, width = width_of({&node, 0});
      require(unit == 0 || width % unit == 0, node, "its width {} is no multiple of {}", width,
              unit);
      require(unit == 0 || width / unit <= 64, node, "its width {} has more than 64 parts of {}",
              width, unit);
    }
  }

  void check_cuts(const Node& node) {
    if ((node.is(ops::slice) || node.is(ops::split)) && has_columns(*node.operands[0].node))
      require(has_columns(node), node, "it takes one column out of {}", width_of(node.operands[0]));
    if (result_.space[size_t(node.id)] < 0) return;
    const int64_t unit = result_.spaces[size_t(result_.space[size_t(node.id)])].unit;
    if (unit == 0) return;
    if (node.is(ops::slice)) {
      require(node.attributes.get_int("start", 0) % unit == 0, node,
              "it cuts inside a unit of {} columns", unit);
    }
    if (!node.is(ops::concat)) return;
    for (Value operand : node.operands) {
      require(width_of(operand) % unit == 0 && has_columns(*operand.node), node,
              "it joins inside a unit of {} columns", unit);
    }
  }

  const Graph& body_;
  const std::vector<bool> live_;
  RowProgram result_;
  std::vector<int> parent_;
  std::vector<bool> matrix_;
};

}  // namespace

bool is_row_global(const Node& node) {
  return node.is(ops::matmul) || node.is(ops::sum) || node.is(ops::max);
}

bool is_batched_product(const Node& node) {
  if (!node.is(ops::matmul)) return false;
  return node.operands[1].shape().rank() > 2 ||
         (node.operands[0].shape().rank() > 2 && node.attributes.get_bool("transpose_a", false));
}

int64_t RowProgram::unit_of(Value value) const {
  const int index = space[size_t(value.node->id)];
  return index < 0 ? 1 : spaces[size_t(index)].unit;
}

int RowProgram::parts_of(Value value) const {
  const int64_t unit = unit_of(value);
  return space[size_t(value.node->id)] < 0 || unit == 0 ? 1 : int(width_of(value) / unit);
}

std::optional<RowProgram> analyse_row_program(const Graph& body, std::string* why_not) {
  try {
    return Analysis(body).run();
  } catch (const Mismatch& mismatch) {
    if (why_not != nullptr) *why_not = mismatch.reason;
    return std::nullopt;
  }
}

}  // namespace graphc
