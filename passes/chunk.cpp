// SPDX-License-Identifier: Apache-2.0
// Turns row-wise work around a product whose result is too large to store into a loop over chunks
// of rows: per-row values are sliced and emitted, sums over rows are carried. The logits of a large
// vocabulary, their loss and both gradients then exist only for one chunk at a time.
//
// A remainder of rows is computed once more after the loop. The chunk size depends only on shapes,
// never on threads.
#include "passes/chunk.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/mutant.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "ir/scan.h"
#include "passes/passes.h"
#include "passes/region.h"

namespace graphc::core {
namespace {

Shape with_rows(int64_t rows, const Shape& shape, int axes) {
  Shape rest = shape;
  for (int axis = 0; axis < axes; ++axis) rest = rest.without(0);
  return rest.insert(0, rows);
}

/// Rewrites a cluster as a body over some rows, and the graph around it.
class Chunker {
 public:
  Chunker(const Graph& from, const RowCluster& cluster) : from_(from), cluster_(cluster) {
    for (const Node& node : from.nodes()) {
      if (!cluster.has(node)) continue;
      members_.push_back(&node);
      if (cluster.members.at(node.id).role == RowRole::contraction) sums_.push_back(node.result());
      for (size_t i = 0; i < node.operands.size(); ++i) find_outside(node, i);
    }
    const std::vector<std::vector<int>> uses = value_uses(from);
    for (const Node* member : members_) {
      for (int i = 0; i < member->results(); ++i) {
        const Value value = member->result(i);
        if (cluster.has_rows(value) && uses[size_t(member->id)][size_t(i)] > uses_inside(value))
          emits_.push_back(value);
      }
    }
  }

  GraphPtr run(int64_t chunk) {
    auto to = std::make_unique<Graph>(from_.name());
    ValueMap known(from_);
    for (Value input : from_.inputs())
      known.set(input, to->input(input.type(), input.name(), input.node->where));
    for (Value state : from_.states())
      known.set(state, to->state(state.type(), state.name(), state.node->where));
    Values outside;
    for (const Outside& value : streams_) outside.push_back(value.value);
    for (const Outside& value : captures_) outside.push_back(value.value);
    copy_cone(from_, known, outside, *to);
    write_loop(chunk, known, *to);
    Values results = copy_cone(from_, known, from_.results(), *to);
    Values next;
    for (const Next& assigned : from_.next()) next.push_back(assigned.value);
    next = copy_cone(from_, known, next, *to);
    to->set_results(std::move(results));
    for (size_t i = 0; i < next.size(); ++i) to->set_next(known(from_.next()[i].state), next[i]);
    return freeze(std::move(to));
  }

 private:
  /// A value from outside the cluster: its rows, or all of it.
  struct Outside {
    Value value;
    Shape shape;   ///< the shape to broadcast (streams) or reshape (captures) it to first
    int axes = 0;  ///< leading axes of the shape that are rows; 0 for captures
    bool operator==(const Outside&) const = default;
  };

  int uses_inside(Value value) const {
    int uses = 0;
    for (const Node* member : members_) uses += int(std::ranges::count(member->operands, value));
    return uses;
  }

  bool is_member(Value value) const { return cluster_.has(*value.node); }

  /// Constants and iotas are recreated in the body.
  static bool is_made_again(Value value) {
    return splat_value(value).has_value() || value.node->is(ops::iota);
  }

  /// How an operand of a member enters the body.
  Outside outside(const Node& node, size_t i) const {
    const Value value = node.operands[i];
    const RowMember member = cluster_.members.at(node.id);
    const Shape& shape = value.shape();
    if (node.is(ops::matmul)) {
      if (member.role == RowRole::contraction) return {value, shape, 1};
      return i == 0 ? Outside{value, shape, member.axes} : Outside{value, shape, 0};
    }
    const Shape& result = node.types[0].shape;
    const int missing = result.rank() - shape.rank();
    const int lead = std::max(0, member.axes - missing);
    bool alike = true;
    for (int axis = 0; axis < lead; ++axis) alike &= shape[axis] == 1;
    Shape rest = shape;
    for (int axis = 0; axis < lead; ++axis) rest = rest.without(0);
    if (alike && cluster_.rows > 1) return {value, rest, 0};
    Shape whole = rest;
    for (int axis = member.axes; axis-- > 0;) whole = whole.insert(0, result[axis]);
    return {value, whole, member.axes};
  }

  void find_outside(const Node& node, size_t i) {
    if (is_member(node.operands[i])) return;
    const Outside found = outside(node, i);
    if (made_in_body(found)) return;
    std::vector<Outside>& list = found.axes > 0 ? streams_ : captures_;
    if (std::ranges::find(list, found) == list.end()) list.push_back(found);
  }

  /// An iota along the rows is an ordinary stream.
  static bool made_in_body(const Outside& value) {
    if (!is_made_again(value.value)) return false;
    if (!value.value.node->is(ops::iota)) return true;
    const int axis = int(value.value.node->attributes.get_int("axis", 0));
    return value.axes > 0 ? value.value.shape() == value.shape && axis >= value.axes
                          : value.value.shape() == value.shape;
  }

  Value make_in_body(const Outside& value, int64_t rows, Graph& body) const {
    const Shape shape = value.axes > 0 ? with_rows(rows, value.shape, value.axes) : value.shape;
    const Node& leaf = *value.value.node;
    if (value.axes == 0 && leaf.is(ops::iota)) return copy_node(leaf, {}, body).result();
    if (!leaf.is(ops::iota))
      return splat(body, *splat_value(value.value), {leaf.types[0].dtype, shape});
    const int axis = int(leaf.attributes.get_int("axis", 0));
    return graphc::core::iota(body, shape, axis - value.axes + 1, leaf.types[0].dtype);
  }

  /// The attributes of a member for rows on one axis.
  Attributes attributes(const Node& node, int64_t rows) const {
    Attributes changed = node.attributes;
    const RowMember member = cluster_.members.at(node.id);
    if (node.is(ops::reshape) || node.is(ops::broadcast_to)) {
      const Shape shape = with_rows(rows, node.types[0].shape, member.axes);
      changed.set("shape", std::vector<int64_t>(shape.begin(), shape.end()));
    }
    const int axes = node.operands.empty() ? 0 : operand_axes(node);
    if (node.attributes.find("axis") != nullptr)
      changed.set("axis", node.attributes.get_int("axis", 0) - axes + 1);
    if (node.attributes.find("axes") == nullptr) return changed;
    std::vector<int64_t> mapped;
    if (member.role == RowRole::contraction) mapped.push_back(0);
    for (int64_t axis : node.attributes.get_ints("axes")) {
      if (axis >= axes) mapped.push_back(axis - axes + 1);
    }
    changed.set("axes", mapped);
    return changed;
  }

  int operand_axes(const Node& node) const {
    for (Value operand : node.operands) {
      if (is_member(operand)) return cluster_.members.at(operand.node->id).axes;
    }
    return cluster_.members.at(node.id).axes;
  }

  /// The cluster for this many rows: from streams, carries and captures to next values and emits.
  GraphPtr body(int64_t rows) const {
    auto graph = std::make_unique<Graph>("chunk");
    std::vector<Value> streams, captures;
    ValueMap made(from_);
    for (const Outside& stream : streams_) {
      streams.push_back(graph->input(
          {stream.value.dtype(), with_rows(rows, stream.shape, stream.axes)}, stream.value.name()));
    }
    Values carries, next;
    for (Value sum : sums_) carries.push_back(graph->input(sum_type(sum), sum.name()));
    for (const Outside& capture : captures_)
      captures.push_back(
          graph->input({capture.value.dtype(), capture.shape}, capture.value.name()));
    for (const Node* node : members_) {
      Values operands;
      for (size_t i = 0; i < node->operands.size(); ++i) {
        const Value operand = node->operands[i];
        if (is_member(operand)) {
          operands.push_back(made(operand));
          continue;
        }
        const Outside from = outside(*node, i);
        const auto& list = from.axes > 0 ? streams_ : captures_;
        const auto place = std::ranges::find(list, from) - list.begin();
        operands.push_back(made_in_body(from)
                               ? make_in_body(from, rows, *graph)
                               : (from.axes > 0 ? streams : captures)[size_t(place)]);
      }
      const Node& copy = graph->add(node->op, std::move(operands), attributes(*node, rows),
                                    node->regions, node->where, node->names);
      for (int i = 0; i < node->results(); ++i) made.set(node->result(i), copy.result(i));
    }
    for (size_t i = 0; i < sums_.size(); ++i) next.push_back(carries[i] + made(sums_[i]));
    for (Value emit : emits_) next.push_back(made(emit));
    graph->set_results(std::move(next));
    return freeze(std::move(graph));
  }

  /// A sum that keeps its axes keeps one for all rows.
  Type sum_type(Value sum) const {
    const Node& node = *sum.node;
    if (!node.attributes.get_bool("keep", false)) return sum.type();
    return {sum.dtype(), with_rows(1, sum.shape(), cluster_.members.at(node.id).axes)};
  }

  void write_loop(int64_t chunk, ValueMap& known, Graph& to) {
    const WhereScope where(cluster_.seed->where);
    const int64_t chunks = cluster_.rows / chunk, rest = cluster_.rows % chunk;
    ScanParts parts;
    Values left_over;
    for (const Outside& stream : streams_) {
      const Value whole = broadcast_to(known(stream.value), stream.shape);
      const Value rows = reshape(whole, with_rows(cluster_.rows, stream.shape, stream.axes));
      const Value first = slice(rows, 0, 0, chunks * chunk);
      parts.streams.push_back(reshape(first, rows.shape().with(0, chunk).insert(0, chunks)));
      if (rest > 0) left_over.push_back(slice(rows, 0, chunks * chunk, cluster_.rows));
    }
    for (Value sum : sums_) parts.initial.push_back(splat(to, 0, sum_type(sum)));
    for (const Outside& capture : captures_)
      parts.captures.push_back(reshape(known(capture.value), capture.shape));
    const Values captures = parts.captures;
    parts.body = body(chunk);
    parts.steps = chunks;
    const Node& loop = add_scan(to, std::move(parts), cluster_.seed->where);
    Values sums, behind;
    for (size_t i = 0; i < sums_.size(); ++i) sums.push_back(loop.result(int(emits_.size() + i)));
    if (rest > 0) {
      left_over.insert(left_over.end(), sums.begin(), sums.end());
      left_over.insert(left_over.end(), captures.begin(), captures.end());
      behind = inline_graph(*body(rest), left_over, to);
      if (!mutated(Mutant::chunk_remainder_skipped))
        sums.assign(behind.begin(), behind.begin() + long(sums_.size()));
    }
    for (size_t i = 0; i < sums_.size(); ++i)
      known.set(sums_[i], reshape(sums[i], sums_[i].shape()));
    for (size_t i = 0; i < emits_.size(); ++i) {
      Value rows = loop.result(int(i));
      rows = reshape(rows, rows.shape().without(0).with(0, chunks * chunk));
      if (rest > 0) rows = concat({rows, behind[sums_.size() + i]}, 0);
      known.set(emits_[i], reshape(rows, emits_[i].shape()));
    }
  }

  const Graph& from_;
  const RowCluster& cluster_;
  std::vector<const Node*> members_;
  Values sums_, emits_;
  std::vector<Outside> streams_, captures_;
};

/// The rows per chunk: as many as fit, in chunks of equal size if that takes at most a quarter more
/// chunks; otherwise of nearly equal size. The remainder, computed after the loop, needs as much
/// memory again.
int64_t chunk_rows(const RowCluster& cluster, int64_t bytes) {
  const int64_t row_bytes = cluster.seed->types[0].shape[-1] * 4;
  const int64_t most = std::max<int64_t>(1, bytes / row_bytes);
  const int64_t chunks = (cluster.rows + most - 1) / most;
  for (int64_t even = chunks; even <= chunks + chunks / 4; ++even) {
    if (cluster.rows % even == 0) return cluster.rows / even;
  }
  return (cluster.rows + chunks - 1) / chunks;
}

/// Whether each value may have an axis of chunks beside that of rows.
bool has_room(const Graph& graph, const RowCluster& cluster) {
  const auto has_more = [](Value value) { return value.shape().rank() < Shape::kMaxRank; };
  return std::ranges::all_of(graph.nodes(), [&](const Node& node) {
    return !cluster.has(node) ||
           (has_more(node.result()) && std::ranges::all_of(node.operands, has_more));
  });
}

GraphPtr run_chunk(const GraphPtr& graph, const PassOptions& options, Remarks& remarks) {
  // Measured: a value that fits in memory is faster whole, because each chunk reads and writes
  // every sum over the rows (docs/decisions/0004).
  const int64_t bytes = options.get_int("bytes", kLargestWhole);
  const int64_t fewest = options.get_int("rows", 128);
  if (bytes < 4 || fewest < 1)
    throw Error(ErrorKind::usage, {}, "chunk: bytes is at least 4 and rows at least 1");
  GraphPtr result = graph;
  std::vector<std::string> kept;
  for (bool again = true; again;) {
    again = false;
    const std::vector<bool> live = live_nodes(*result);
    for (const Node& node : result->nodes()) {
      if (!live[size_t(node.id)] || !node.is(ops::matmul) || node.types[0].shape.rank() < 2 ||
          node.types[0].shape.elements() * 4 <= bytes || node.operands[1].shape().rank() != 2 ||
          node.attributes.get_bool("transpose_a", false) ||
          std::ranges::find(kept, node.names[0]) != kept.end())
        continue;
      RowCluster cluster = row_cluster(*result, node, bytes);
      const int64_t chunk = std::max(chunk_rows(cluster, bytes), fewest);
      if (cluster.why_not.empty() && chunk >= cluster.rows)
        cluster.why_not = fmt::format("{} rows are too few for chunks of {}", cluster.rows, chunk);
      if (cluster.why_not.empty() && !has_room(*result, cluster))
        cluster.why_not = fmt::format("a value beside it has {} axes", Shape::kMaxRank);
      if (!cluster.why_not.empty()) {
        kept.push_back(node.names[0]);
        remarks.add(node, "kept whole: " + cluster.why_not);
        continue;
      }
      remarks.add(node, fmt::format("in chunks of {} of {} rows", chunk, cluster.rows));
      result = Chunker(*result, cluster).run(chunk);
      again = true;
      break;
    }
  }
  return result;
}

}  // namespace

constinit const Pass passes::chunk{
    .name = "chunk",
    .summary = "does row-wise work around a product too large to keep for some rows at a time",
    .options = "bytes,rows",
    .run = run_chunk,
};

}  // namespace graphc::core
