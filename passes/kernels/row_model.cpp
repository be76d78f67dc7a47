// SPDX-License-Identifier: Apache-2.0
#include "passes/kernels/row_model.h"

#include <algorithm>

#include "ir/op.h"
#include "ir/rewrite.h"

namespace graphc::core {
namespace {

/// Thrown and caught inside the analysis: a reason, not an error.
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

/// Whether a value with rows `from` provides one for each of `to`: directly, or repeated along axes
/// that it lacks or has with extent 1.
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
    for (const Node& node : body.nodes()) spaces_.add(width_of(node.types[0].shape));
    matrix_.assign(n, false);
  }

  RowModel run() {
    find_matrices();
    find_lead();
    check_groups();
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
  /// The right operands of products: inputs of the body that nothing else reads.
  void find_matrices() {
    for (const Node& node : body_.nodes()) {
      if (!live_[size_t(node.id)] || !node.is(ops::matmul)) continue;
      const Node& right = *node.operands[1].node;
      require(right.is(ops::input), node, "its right operand is made inside the kernel");
      if (const int groups = right.types[0].shape.rank() - 2; groups > 0) {
        require(!node.attributes.get_bool("transpose_a", false), node,
                "its left operand is transposed for each of its matrices");
        result_.groups = std::max(result_.groups, groups);
      }
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

  /// The rows: the leading axes of the value with the highest rank; all values of that rank agree
  /// up to broadcasting.
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
        const Shape lead = rows_of(type.shape);
        const std::optional<Shape> joined = first ? lead : broadcast(result_.lead, lead);
        require(joined.has_value(), node, "it has rows [{}] where others of the step have [{}]",
                to_string(lead), to_string(result_.lead));
        result_.lead = *joined;
      }
    }
  }

  /// Groups of rows with matrices of their own: all axes of the rows but the last.
  void check_groups() {
    if (result_.groups == 0) return;
    for (const Node& node : body_.nodes()) {
      if (!live_[size_t(node.id)] || !node.is(ops::matmul)) continue;
      const Shape &left = node.operands[0].shape(), &right = node.operands[1].shape();
      if (right.rank() == 2) continue;
      require(rows_of(left) == result_.lead, node,
              "it has matrices [{}], not one for each of all but the last axis of the rows [{}]",
              to_string(right), to_string(result_.lead));
    }
  }

  void classify(const Node& node) {
    const bool known =
        node.is(ops::input) || is_leaf(node) || is_local(node) || is_row_global(node);
    const bool moves = node.is(ops::reshape) || node.is(ops::transpose);
    require(
        known, node, "it neither works element by element nor sums or multiplies whole rows{}",
        moves ? ": what reshapes or transposes what the loop reads may stand before the loop" : "");
    const Shape& shape = node.types[0].shape;
    const int64_t width = width_of(node.types[0].shape);
    const Shape lead = rows_of(shape);
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
      // An input may be repeated along row axes, through its addressing.
      const bool repeats = (node.is(ops::input) || is_leaf(node)) && covers(lead, result_.lead);
      require(all_rows || repeats, node, "it has rows [{}] where the step has [{}]",
              to_string(lead), to_string(result_.lead));
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
    if (node.is(ops::sum) || node.is(ops::max))
      require(is_row_reduction(node), node, "it mixes rows");
    result_.stage[size_t(node.id)] = stage;
    result_.stages = std::max(result_.stages, stage);
  }

  bool has_columns(const Node& node) const {
    const RowKind kind = result_.kind[size_t(node.id)];
    return kind == RowKind::full || kind == RowKind::column;
  }

  void join(const Node& node) {
    if (is_row_global(node) || node.is(ops::input) || is_leaf(node)) return;
    require(keeps_rows(node, node.types[0].shape.rank() - 1), node, "it cuts along the rows");
    for (Value operand : node.operands) {
      if (has_columns(node) && has_columns(*operand.node)) spaces_.join(operand.node->id, node.id);
    }
  }

  void find_spaces() {
    std::vector<int> index(body_.nodes().size(), -1);
    for (const Node& node : body_.nodes()) {
      if (!live_[size_t(node.id)] || matrix_[size_t(node.id)] || !has_columns(node)) continue;
      int& space = index[size_t(spaces_.find(node.id))];
      if (space < 0) {
        space = int(result_.spaces.size());
        result_.spaces.push_back(spaces_.columns_of(node.id));
      }
      result_.space[size_t(node.id)] = space;
    }
    for (const Node& node : body_.nodes()) {
      const int space = result_.space[size_t(node.id)];
      if (space < 0) continue;
      const int64_t unit = result_.spaces[size_t(space)].unit;
      const int64_t width = width_of(node.types[0].shape);
      const bool whole = is_whole_parts(width, unit);
      require(whole || width % unit == 0, node, "its width {} is no multiple of {}", width, unit);
      require(whole, node, "its width {} has more than {} parts of {}", width, kMostParts, unit);
    }
  }

  void check_cuts(const Node& node) {
    if ((node.is(ops::slice) || node.is(ops::split)) && has_columns(*node.operands[0].node))
      require(has_columns(node), node, "it takes one column out of {}",
              width_of(node.operands[0].shape()));
    if (result_.space[size_t(node.id)] < 0) return;
    const int64_t unit = result_.spaces[size_t(result_.space[size_t(node.id)])].unit;
    if (unit == 0) return;
    if (node.is(ops::slice)) {
      require(node.attributes.get_int("start", 0) % unit == 0, node,
              "it cuts inside a unit of {} columns", unit);
    }
    if (!node.is(ops::concat)) return;
    for (Value operand : node.operands) {
      require(width_of(operand.shape()) % unit == 0 && has_columns(*operand.node), node,
              "it joins inside a unit of {} columns", unit);
    }
  }

  const Graph& body_;
  const std::vector<bool> live_;
  RowModel result_;
  ColumnSpaces spaces_;
  std::vector<bool> matrix_;
};

}  // namespace

Shape rows_of(const Shape& shape) {
  return shape.rank() == 0 ? shape : shape.without(shape.rank() - 1);
}

int64_t width_of(const Shape& shape) { return shape.rank() == 0 ? 1 : shape[-1]; }

bool is_cut(const Node& node) {
  return node.is(ops::split) || node.is(ops::slice) || node.is(ops::concat);
}

bool is_local(const Node& node) {
  return is_elementwise(node.op) || node.is(ops::broadcast_to) || is_cut(node);
}

bool keeps_rows(const Node& node, int axes) {
  return is_local(node) && (!is_cut(node) || node.attributes.get_int("axis", 0) >= axes);
}

bool is_row_global(const Node& node) {
  return node.is(ops::matmul) || node.is(ops::sum) || node.is(ops::max);
}

bool is_row_reduction(const Node& node) {
  if (!node.is(ops::sum) && !node.is(ops::max)) return false;
  const std::vector<int64_t> axes = node.attributes.get_ints("axes");
  return axes.size() == 1 && axes[0] == node.operands[0].shape().rank() - 1 &&
         node.attributes.get_bool("keep", false);
}

bool is_inner_reduction(const Node& node) {
  if (!node.is(ops::sum) && !node.is(ops::max)) return false;
  const Shape& shape = node.operands[0].shape();
  return shape.rank() > 2 && shape[-1] > 1 && !node.attributes.get_bool("keep", false) &&
         node.attributes.get_ints("axes") == std::vector<int64_t>{shape.rank() - 2};
}

bool is_batched_product(const Node& node) {
  if (!node.is(ops::matmul)) return false;
  return node.operands[1].shape().rank() > 2 ||
         (node.operands[0].shape().rank() > 2 && node.attributes.get_bool("transpose_a", false));
}

bool is_widening(const Node& node) {
  return node.is(ops::cast) && node.types[0].dtype == DType::f32 &&
         node.operands[0].dtype() == DType::bf16;
}

bool is_column_view(const Node& node) {
  if (node.is(ops::broadcast_to)) return true;
  if (!node.is(ops::split) && !node.is(ops::slice)) return false;
  const Shape& from = node.operands[0].shape();
  const int64_t width = node.types[0].shape[-1];
  return keeps_rows(node, from.rank() - 1) && width > 1 && from[-1] % width == 0 &&
         node.attributes.get_int("start", 0) % width == 0;
}

bool is_concat_of_units(const Node& node) {
  if (!node.is(ops::concat) || !keeps_rows(node, node.types[0].shape.rank() - 1)) return false;
  const ColumnUnit columns = columns_of(node);
  // One column is a number per row, not a unit of wider values.
  return std::ranges::all_of(node.operands,
                             [&](Value operand) {
                               const int64_t width = width_of(operand.shape());
                               return width > 1 && is_whole_parts(width, columns.unit);
                             }) &&
         is_whole_parts(columns.widest, columns.unit);
}

const Shape& domain_of(const Node& node) {
  const bool reduces = is_row_reduction(node) || is_inner_reduction(node);
  return reduces ? node.operands[0].shape() : node.types[0].shape;
}

ColumnUnit columns_of(const Node& node) {
  ColumnUnit columns;
  const auto add = [&](const Shape& shape) {
    if (width_of(shape) > 1) columns.add(width_of(shape));
  };
  add(domain_of(node));
  for (const Type& type : node.types) add(type.shape);
  if (node.is(ops::concat) && keeps_rows(node, node.types[0].shape.rank() - 1)) {
    for (Value operand : node.operands) add(operand.shape());
  }
  return columns;
}

int64_t RowModel::unit_of(Value value) const {
  const int index = space[size_t(value.node->id)];
  return index < 0 ? 1 : spaces[size_t(index)].unit;
}

int RowModel::parts_of(Value value) const {
  const int64_t unit = unit_of(value);
  return space[size_t(value.node->id)] < 0 || unit == 0 ? 1 : int(width_of(value.shape()) / unit);
}

std::optional<RowModel> analyse_rows(const Graph& body, std::string* why_not) {
  try {
    return Analysis(body).run();
  } catch (const Mismatch& mismatch) {
    if (why_not != nullptr) *why_not = mismatch.reason;
    return std::nullopt;
  }
}

}  // namespace graphc::core
