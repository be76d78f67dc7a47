// SPDX-License-Identifier: Apache-2.0
// Scan: the only loop. A view of a `scan` node that names its parts.
//
// operands        streams [steps, ...]  ++  initial values of carries  ++  captures
// body inputs     one step of each stream [...]  ++  carries  ++  captures
// body results    next value of each carry  ++  emits [...]
// node results    emits stacked [steps, ...]  ++  final carries
//
// Steps run 0 .. steps-1, or steps-1 .. 0 with {reverse}; an emit is at the index of its step
// either way. All carries take their next values at once. With no steps the emits are empty and the
// final carries are the initial values.
//
// {save_every = N} changes no value: the derivative keeps the carries of every N-th step and
// computes the steps between again (passes/remat.cpp). With N >= steps it keeps the initial carries
// alone.
#pragma once

#include <span>

#include "ir/op.h"

namespace graphc::core {

class Scan {
 public:
  explicit Scan(const Node& node);

  const Node& node() const { return *node_; }
  const Graph& body() const { return node_->region(); }
  int64_t steps() const { return steps_; }
  bool reverse() const { return reverse_; }
  /// Of which steps the derivative keeps the carries: every so many; 0: it keeps what it needs of
  /// every step.
  int64_t save_every() const { return save_every_; }

  std::span<const Value> streams() const { return std::span(node_->operands).first(streams_); }
  std::span<const Value> initial() const {
    return std::span(node_->operands).subspan(streams_, carries_);
  }
  std::span<const Value> captures() const {
    return std::span(node_->operands).subspan(streams_ + carries_);
  }

  std::span<const Value> body_streams() const { return std::span(body().inputs()).first(streams_); }
  std::span<const Value> body_carries() const {
    return std::span(body().inputs()).subspan(streams_, carries_);
  }
  std::span<const Value> body_captures() const {
    return std::span(body().inputs()).subspan(streams_ + carries_);
  }

  std::span<const Value> next() const { return std::span(body().results()).first(carries_); }
  std::span<const Value> emits() const { return std::span(body().results()).subspan(carries_); }

  Value emitted(size_t i) const { return node_->result(int(i)); }
  Value final(size_t i) const { return node_->result(int(emits().size() + i)); }

 private:
  const Node* node_;
  size_t streams_, carries_;
  int64_t steps_;
  bool reverse_;
  int64_t save_every_;
};

/// The parts of a scan to add; see the layout above.
struct ScanParts {
  Values streams, initial, captures;
  GraphPtr body;
  int64_t steps = 0;
  bool reverse = false;
  int64_t save_every = 0;
};

/// Adds the scan to the graph. Results are named like the body's unless `names` has them.
const Node& add_scan(Graph& graph, ScanParts parts, Where where = {},
                     std::vector<std::string> names = {});

}  // namespace graphc::core
