// SPDX-License-Identifier: Apache-2.0
// Computes a loop whose rows carry a matrix in chunks of steps, where the matrix follows a linear
// recurrence: a decay of the matrix plus outer products whose factors do not depend on it, or of
// which one is a read of the matrix. So are linear attention, the delta rule and its gated forms,
// RWKV-7 and mLSTM; an LSTM is not, whose gates read the state. Then the products of a chunk's
// steps with each other need no order, and are products of matrices; in order are only a few
// products for each chunk (chunked_loop.h). Derivatives are those of the new form: this runs before
// autodiff.
//
// The loop is divided in three: a loop over the carries that hold no matrix, the loop over chunks,
// and what is computed of reads, which is done for all steps at once.
//
//     steps=N         chunks of N steps, for every loop that has the form
//     differentiated  only loops that a gradient goes through, with at least two chunks of
//                     matrices of 32 x 32 and decays that are one number; more than 16 KB if what
//                     is written reads the matrix. A training step takes 0.5 to 0.95 of the time.
//                     A forward pass alone takes 1.1 to 1.6 times as long, and decays of keys,
//                     whose products inside a chunk are no product of matrices, 2 times.
//
// A derivative of chunks keeps about five times what it keeps of single steps whose states are
// computed again (passes/remat.cpp). So long loops are differentiated in segments of some chunks: a
// loop over segments carries the matrix, and its step is a loop of one step that the derivative
// computes again (ir/scan.h, save_every).
//
// With neither of them no loop is divided. segment=N says how many steps a segment has.
//
// Sums are taken in another order than step by step: results agree to rounding, not in their bits.
#include "passes/recurrence/chunk_recurrence.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "ir/build.h"
#include "ir/scan.h"
#include "passes/kernels/matrix_rows.h"
#include "passes/passes.h"
#include "passes/recurrence/chunked_loop.h"
#include "passes/region.h"
#include "passes/scan_blocks.h"

namespace graphc::core {
namespace {

/// The most bytes that a derivative keeps of a loop in one piece, and of a segment.
constexpr double kMostKept = 1 << 30, kMostOfSegment = 1 << 28;

/// Of a matrix that shares a first-level cache of 32 KB with its derivative.
constexpr int64_t kBytesInCache = 1 << 14;

class ChunkRecurrence {
 public:
  ChunkRecurrence(const Scan& scan, const Values& operands, int64_t length)
      : scan_(scan), operands_(operands), length_(length) {}

  /// Why the loop stays as it is; empty if it can be divided, and if, for `auto_only`, that is
  /// faster. Finds what crosses from the loop over other carries.
  std::string try_out(bool auto_only) {
    Graph scratch("scratch");
    Values stand_ins;
    for (Value operand : operands_) stand_ins.push_back(scratch.input(operand.type(), "operand"));
    KnownSteps known(scan_, stand_ins, scratch);
    const LinearLoop loop = linear_loop(scan_, known);
    if (!loop.why_not.empty()) return loop.why_not;
    for (const LinearCarry& carry : loop.carries) {
      if (std::string why = why_not_in_chunks(carry); !why.empty()) return why;
      if (auto_only && !is_faster(carry)) return "chunks would not make it faster";
    }
    read_before_late(known, loop);
    crossing_ = known.crossing();
    return {};
  }

  /// The steps of a segment, of several chunks; all of the loop's if it needs no segments.
  int64_t steps_of_segment() const {
    double of_step = 0;
    for (size_t k = 0; k < scan_.initial().size(); ++k) {
      if (is_matrix(k)) of_step += kept_bytes(scan_.initial()[k].shape());
    }
    if (of_step * double(scan_.steps()) <= kMostKept) return scan_.steps();
    int64_t steps = 2 * length_;
    while (2 * of_step * double(steps) <= kMostOfSegment) steps *= 2;
    return std::min(steps, scan_.steps());
  }

  /// Whether the values of a step may have three more axes: the derivative stacks them by segment,
  /// by the one step of its loop, and by step.
  bool has_room_for_segments() const {
    const auto has_room = [](Value value) { return value.shape().rank() + 3 <= Shape::kMaxRank; };
    return std::ranges::all_of(scan_.body_streams(), has_room) &&
           std::ranges::all_of(scan_.emits(), has_room);
  }

  /// The same by a loop over segments of so many steps.
  Values build_segments(int64_t steps, Graph& to) {
    Values operands = operands_;
    for (size_t k = 0; k < scan_.initial().size(); ++k) {
      // As a row: what is done with it is not a matrix of each row.
      Value& initial = operands[scan_.streams().size() + k];
      if (is_matrix(k)) initial = reshape(initial, as_row(initial.shape()));
    }
    const AddSteps segment = [&](const ScanOperands& from, int64_t count, Graph& in) {
      return add_segment(from, count, in);
    };
    Values results = in_blocks(scan_, operands, steps, segment, segment, to);
    for (size_t k = 0; k < scan_.initial().size(); ++k) {
      Value& last = results[scan_.emits().size() + k];
      if (is_matrix(k)) last = reshape(last, scan_.initial()[k].shape());
    }
    return results;
  }

  Values build(Graph& to) {
    KnownSteps known(scan_, operands_, to);
    Values finals = add_other_carries(known);
    const LinearLoop loop = linear_loop(scan_, known);
    for (const LinearCarry& carry : loop.carries) {
      const Shape& shape = scan_.initial()[carry.index].shape();
      const AxesOfRows axes{shape, carry.key_axis};
      const Chunks chunks{scan_.steps(), length_, axes.rows(), scan_.reverse()};
      const Value initial = operands_[scan_.streams().size() + carry.index];
      const ChunkedCarry done = chunked_carry(carry, axes, chunks, initial);
      finals[carry.index] = done.final;
      for (size_t i = 0; i < carry.reads.size(); ++i) {
        const Value inner = carry.reads[i].first;
        known.set(inner, reshape(done.reads[i], inner.shape().insert(0, scan_.steps())));
      }
    }
    Values results;
    for (Value emit : scan_.emits()) {
      const Batched value = known.computed(emit);
      results.push_back(value.stacked
                            ? value.value
                            : broadcast_to(value.value, emit.shape().insert(0, scan_.steps())));
    }
    results.insert(results.end(), finals.begin(), finals.end());
    return results;
  }

 private:
  static Shape as_row(const Shape& shape) {
    return shape.without(shape.rank() - 1).with(shape.rank() - 2, shape[-1] * shape[-2]);
  }

  /// A loop of one step, which does `steps` steps in chunks.
  StepsDone add_segment(const ScanOperands& from, int64_t steps, Graph& to) const {
    auto body = std::make_unique<Graph>(scan_.body().name());
    ScanParts whole, inside;
    whole.initial = from.initial;
    whole.captures = from.captures;
    for (const Value stream : from.streams) {
      whole.streams.push_back(reshape(stream, stream.shape().insert(0, 1)));
      inside.streams.push_back(body->input(stream.type(), stream.name()));
    }
    for (size_t k = 0; k < from.initial.size(); ++k) {
      const Value carry = scan_.body_carries()[k];
      const Value found = body->input(from.initial[k].type(), carry.name());
      inside.initial.push_back(is_matrix(k) ? reshape(found, carry.shape()) : found);
    }
    for (const Value capture : from.captures)
      inside.captures.push_back(body->input(capture.type(), capture.name()));
    Values operands;
    for (const Values* part : {&inside.streams, &inside.initial, &inside.captures})
      operands.insert(operands.end(), part->begin(), part->end());
    inside.body = scan_.node().regions[0];
    inside.steps = steps;
    inside.reverse = scan_.reverse();
    const Scan scan(add_scan(*body, std::move(inside), scan_.node().where));
    ChunkRecurrence chunks(scan, operands, length_);
    const std::string why = chunks.try_out(false);
    GRAPHC_CHECK(why.empty(), "a segment is not as the loop: {}", why);
    const Values done = chunks.build(*body);
    const size_t emits = scan_.emits().size(), carries = from.initial.size();
    Values results;
    for (size_t k = 0; k < carries; ++k)
      results.push_back(reshape(done[emits + k], from.initial[k].shape()));
    results.insert(results.end(), done.begin(), done.begin() + long(emits));
    body->set_results(std::move(results));
    whole.body = freeze(std::move(body));
    whole.steps = whole.save_every = 1;
    const Scan segment(add_scan(to, std::move(whole), scan_.node().where));
    StepsDone all;
    for (size_t k = 0; k < carries; ++k) all.carries.push_back(segment.final(k));
    for (size_t i = 0; i < emits; ++i)
      all.stacks.push_back(reshape(segment.emitted(i), segment.emitted(i).shape().without(0)));
    return all;
  }

  /// Whether chunks make a training step faster on a CPU: see above.
  bool is_faster(const LinearCarry& carry) const {
    constexpr int64_t kExtent = 32;
    const Shape& shape = scan_.initial()[carry.index].shape();
    const Value decay = carry.next.decay;
    // Such writes need the inverse of a triangular matrix for each chunk, and single steps of a
    // matrix in the cache are faster than that.
    const bool needs_inverse = std::ranges::any_of(
        carry.next.writes, [](const Write& write) { return bool(write.values.keys); });
    const int64_t bytes = shape[-1] * shape[-2] * size_of(scan_.initial()[carry.index].dtype());
    if (needs_inverse && bytes <= kBytesInCache) return false;
    if (steps_of_segment() < scan_.steps() && !has_room_for_segments()) return false;
    return scan_.steps() >= 2 * length_ && shape[-1] >= kExtent && shape[-2] >= kExtent && decay &&
           decay.shape()[2] == 1;
  }

  /// About what the derivative keeps of a step: 14 vectors of keys and of values, six rows of
  /// products of steps with each other, and a part of the matrix of each chunk.
  double kept_bytes(const Shape& carry) const {
    const double keys_and_values = double(carry[-1] + carry[-2]);
    const double rows = double(carry.elements()) / double(carry[-1] * carry[-2]);
    const double of_step = 14 * keys_and_values + 6 * double(length_) +
                           double(carry[-1] * carry[-2]) / double(length_);
    return double(size_of(scan_.initial()[0].dtype())) * rows * of_step;
  }

  /// What late work and results read that depends on other carries.
  void read_before_late(KnownSteps& known, const LinearLoop& loop) const {
    const std::vector<bool> needs = needs_matrix(loop);
    const auto read = [&](Value value) {
      if (!needs[size_t(value.node->id)]) known.get(value);
    };
    for (const Node& node : scan_.body().nodes()) {
      if (!loop.is_late[size_t(node.id)]) continue;
      for (Value operand : node.operands) read(operand);
    }
    for (Value emit : scan_.emits()) read(emit);
  }

  std::vector<bool> needs_matrix(const LinearLoop& loop) const {
    Values matrices;
    for (const LinearCarry& carry : loop.carries)
      matrices.push_back(scan_.body_carries()[carry.index]);
    return dependents(scan_.body(), matrices);
  }

  /// The loop over the carries without a matrix, which emits what crosses. Returns the last values
  /// of these carries.
  Values add_other_carries(KnownSteps& known) {
    Values finals(scan_.initial().size());
    const Graph& body = scan_.body();
    std::vector<size_t> others;
    for (size_t k = 0; k < finals.size(); ++k) {
      if (!is_matrix(k)) others.push_back(k);
    }
    if (others.empty()) return finals;
    auto copy = std::make_unique<Graph>(body.name());
    ValueMap inputs(body);
    ScanParts parts;
    const auto add = [&](size_t i, Values& list) {
      const Value input = body.inputs()[i];
      inputs.set(input, copy->input(input.type(), input.name(), input.node->where));
      list.push_back(operands_[i]);
    };
    const size_t streams = scan_.streams().size(), carries = scan_.initial().size();
    Values wanted;
    for (size_t i = 0; i < streams; ++i) add(i, parts.streams);
    for (size_t k : others) {
      add(streams + k, parts.initial);
      wanted.push_back(scan_.next()[k]);
    }
    for (size_t i = streams + carries; i < operands_.size(); ++i) add(i, parts.captures);
    for (Value value : crossing_.values()) wanted.push_back(value);
    copy->set_results(copy_cone(body, inputs, wanted, *copy));
    parts.body = freeze(std::move(copy));
    parts.steps = scan_.steps();
    parts.reverse = scan_.reverse();
    const Scan added(add_scan(known.graph(), std::move(parts), scan_.node().where));
    for (size_t i = 0; i < crossing_.size(); ++i)
      known.set(crossing_.values()[i], added.emitted(i));
    for (size_t i = 0; i < others.size(); ++i) finals[others[i]] = added.final(i);
    return finals;
  }

  bool is_matrix(size_t carry) const {
    return scan_.body_carries()[carry].shape().rank() == matrix_row_axes(scan_) + 2;
  }

  const Scan& scan_;
  const Values& operands_;
  int64_t length_;
  ValueSet crossing_;  ///< what the loop over other carries emits
};

GraphPtr run_chunk_recurrence(const GraphPtr& graph, const PassOptions& options, Remarks& remarks) {
  const bool auto_only = options.get_bool("differentiated", false);
  const int64_t length = options.get_int("steps", auto_only ? kStepsOfChunk : 0);
  if (length == 0) return graph;
  if (length < 2) {
    throw Error(
        ErrorKind::usage, {},
        fmt::format("chunk-recurrence: wanted chunks of 2 steps or more: found {}", length));
  }
  if (options.get_int("segment", 1) < 1) {
    throw Error(ErrorKind::usage, {},
                fmt::format("chunk-recurrence: wanted segments of 1 step or more: found {}",
                            options.get_int("segment", 1)));
  }
  const std::vector<bool> differentiated = differentiated_nodes(*graph);
  return rewrite(
      *graph, [&](const Node& node, const Values& operands, Graph& to) -> std::optional<Values> {
        if (!node.is(ops::scan)) return std::nullopt;
        const Scan scan(node);
        if (matrix_row_axes(scan) == 0 || scan.steps() < 2) return std::nullopt;
        if (auto_only && (!differentiated[size_t(node.id)] || scan.save_every() > 0))
          return std::nullopt;
        ChunkRecurrence loop(scan, operands, length);
        if (const std::string why = loop.try_out(auto_only); !why.empty()) {
          remarks.add(node, fmt::format("goes step by step: {}", why));
          return std::nullopt;
        }
        remarks.add(node,
                    fmt::format("{} steps are computed in chunks of {}", scan.steps(), length));
        if (scan.save_every() > 0) {
          remarks.notify(node, fmt::format("save_every = {} has no effect: the loop is computed in "
                                           "chunks, and the state of each of them is saved",
                                           scan.save_every()));
        }
        const WhereScope scope(node.where);
        const int64_t segment = options.get_int("segment", loop.steps_of_segment());
        if (!differentiated[size_t(node.id)] || segment >= scan.steps() ||
            !loop.has_room_for_segments())
          return loop.build(to);
        remarks.add(node,
                    fmt::format("the derivative computes segments of {} steps again", segment));
        return loop.build_segments(segment, to);
      });
}

}  // namespace

constinit const Pass passes::chunk_recurrence{
    .name = "chunk-recurrence",
    .summary = "computes linear recurrences of matrices in chunks of steps, by products",
    .options = "differentiated,segment,steps",
    .run = run_chunk_recurrence,
};

}  // namespace graphc::core
