// SPDX-License-Identifier: Apache-2.0
#include "passes/recurrence/chunked_loop.h"

#include <algorithm>
#include <memory>

#include "ir/build.h"
#include "ir/scan.h"

namespace graphc::core {
namespace {

bool reads_matrix(const Write& write) { return bool(write.values.keys); }

class ChunkedLoop {
 public:
  ChunkedLoop(const LinearCarry& carry, const AxesOfRows& axes, const Chunks& chunks, Value initial)
      : carry_(carry), axes_(axes), chunks_(chunks), initial_(initial), to_(*initial.node->graph) {}

  ChunkedCarry run() {
    sort_writes();
    products_ = chunk_products(decay(), keys_of_reads(), keys_of_writes());
    solve();
    return loop();
  }

 private:
  Value keys(Value x) const { return chunks_.of_steps(x ? x : zero(), axes_.keys(), 0); }
  Value values(Value x) const { return chunks_.of_steps(x ? x : zero(), axes_.values(), 0); }
  Value zero() const { return splat(to_, 0, {initial_.dtype(), Shape{1, 1, 1}}); }

  /// The write that reads the matrix is the last.
  void sort_writes() {
    writes_ = carry_.next.writes;
    std::ranges::stable_partition(writes_, [](const Write& write) { return !reads_matrix(write); });
    solves_ = !writes_.empty() && reads_matrix(writes_.back());
  }

  Value decay() const {
    const Value d = carry_.next.decay;
    if (d && is_splat(d, 1)) return {};
    return chunks_.of_steps(d ? d : zero(), d ? d.shape()[2] : 1, 1);
  }

  /// Of every read of the carry; last, of the write that reads.
  Values keys_of_reads() const {
    Values all;
    for (const auto& [value, read] : carry_.reads) all.push_back(keys(read.keys));
    if (solves_) all.push_back(keys(writes_.back().values.keys));
    return all;
  }
  Values keys_of_writes() const {
    Values all;
    for (const Write& write : writes_) all.push_back(keys(write.keys));
    return all;
  }

  /// The constant part of a read with what writes that read nothing add to it: [..., i, values].
  Value constant(const ReadForm& read, size_t index) const {
    Value sum = values(read.constant);
    for (size_t n = 0; n < writes_.size() - size_t(solves_); ++n)
      sum = sum + matmul(products_.weights[index][n], written_[n]);
    return sum;
  }

  /// The u of all steps of a chunk are T (a + Y S), where Y and a are of the write that reads and T
  /// is the inverse of I minus its weights on its own earlier steps.
  void solve() {
    const size_t known = writes_.size() - size_t(solves_);
    for (size_t n = 0; n < known; ++n) written_.push_back(values(writes_[n].values.constant));
    for (size_t m = 0; m < carry_.reads.size(); ++m)
      constants_.push_back(constant(carry_.reads[m].second, m));
    if (!solves_) return;
    const size_t own = carry_.reads.size();
    const Value inverse = inverse_of_unit_lower(products_.weights[own][known]);
    solved_ = matmul(inverse, constant(writes_.back().values, own));
    solved_reads_ = matmul(inverse, products_.reads[own]);
  }

  /// The loop's step as it is built: streams of chunks on one side, inputs of the body on the
  /// other.
  struct Step {
    ScanParts parts;
    std::unique_ptr<Graph> body = std::make_unique<Graph>("chunk");
    Value stream(Value chunks) {
      parts.streams.push_back(chunks);
      return body->input({chunks.dtype(), chunks.shape().without(0)}, "chunk");
    }
  };

  ChunkedCarry loop() {
    Step step;
    const size_t known = writes_.size() - size_t(solves_);
    Values u, x, reads, constants, own_weights;
    for (size_t n = 0; n < known; ++n) u.push_back(step.stream(written_[n]));
    for (Value write : products_.writes) x.push_back(step.stream(write));
    for (size_t m = 0; m < carry_.reads.size(); ++m) {
      reads.push_back(step.stream(products_.reads[m]));
      constants.push_back(step.stream(constants_[m]));
      if (solves_) own_weights.push_back(step.stream(products_.weights[m][known]));
    }
    Value solved, solved_reads;
    if (solves_) {
      solved = step.stream(solved_);
      solved_reads = step.stream(solved_reads_);
    }
    const Value decay = whole(products_.decay) ? Value{} : step.stream(products_.decay);
    const Value first = matrix_of(initial_);
    const Value s = step.body->input(first.type(), "state");
    if (solves_) u.push_back(solved + matmul(solved_reads, s));
    Value next = decay ? s * decay : s;
    for (size_t n = 0; n < x.size(); ++n) next = next + matmul(x[n], u[n], true);
    Values results{next};
    for (size_t m = 0; m < reads.size(); ++m) {
      Value read = constants[m] + matmul(reads[m], s);
      if (solves_) read = read + matmul(own_weights[m], u.back());
      results.push_back(read);
    }
    step.body->set_results(results);
    step.parts.initial = {first};
    step.parts.body = freeze(std::move(step.body));
    step.parts.steps = chunks_.count();
    const Scan scan(add_scan(to_, std::move(step.parts)));
    ChunkedCarry done{{}, carry_of(scan.final(0))};
    for (size_t m = 0; m < carry_.reads.size(); ++m)
      done.reads.push_back(chunks_.to_steps(scan.emitted(m)));
    return done;
  }

  /// Whether the decay is 1.
  static bool whole(Value decay) { return is_splat(decay, 1); }

  /// The carry as [rows, keys, values], and back.
  bool keys_last() const { return axes_.key_axis > axes_.value_axis(); }
  Value matrix_of(Value carry) const {
    const Shape& shape = carry.shape();
    const Value rows = reshape(carry, {axes_.rows(), shape[-2], shape[-1]});
    return keys_last() ? transpose(rows, {0, 2, 1}) : rows;
  }
  Value carry_of(Value matrix) const {
    return reshape(keys_last() ? transpose(matrix, {0, 2, 1}) : matrix, axes_.carry);
  }

  const LinearCarry& carry_;
  const AxesOfRows& axes_;
  const Chunks& chunks_;
  Value initial_;
  Graph& to_;
  std::vector<Write> writes_;
  bool solves_ = false;  ///< a write reads the matrix
  ChunkProducts products_;
  Values written_, constants_;   ///< u of the writes that read nothing; constant parts of reads
  Value solved_, solved_reads_;  ///< T a and T Y
};

}  // namespace

std::string why_not_in_chunks(const LinearCarry& carry) {
  const auto reading = std::ranges::count_if(carry.next.writes, reads_matrix);
  if (reading > 1) return "several writes of a step read the matrix";
  if (carry.next.writes.empty()) return "no step writes to the matrix";
  return {};
}

ChunkedCarry chunked_carry(const LinearCarry& carry, const AxesOfRows& axes, const Chunks& chunks,
                           Value initial) {
  return ChunkedLoop(carry, axes, chunks, initial).run();
}

}  // namespace graphc::core
