// SPDX-License-Identifier: Apache-2.0
// Goes through a graph of the whole batch, node by node, and adds to another graph what one rank
// computes of it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "passes/pass.h"
#include "passes/replicate/holding.h"

namespace graphc::core {

/// What is known of the nodes that a Replicator has added.
struct Replicated {
  bool communicates = false;  ///< some are collectives
  bool by_place = false;      ///< some depend on which shard it is
};

class Replicator {
 public:
  /// Adds to `to`. Remarks are made where `remarks` is not null.
  Replicator(const Graph& from, Graph& to, Shards shards, Remarks* remarks);

  /// Sets what stands for an input, a state or another value of the old graph: one value if it is
  /// whole, else one for each own shard.
  void set(Value old, const Holding& holding, Values held);
  /// The same for a value that is there in both forms.
  void set(Value old, const Holding& holding, Values held, Value whole);
  /// All live nodes, in order. Nodes get this line if it is one, else their own.
  void run(Where line = {});
  ~Replicator();

  // --- for the rules of ops (passes/replicate/rules.h) ---

  const Shards& shards() const { return shards_; }
  Graph& to() { return to_; }
  Remarks* remarks() { return remarks_; }
  const Replicated& found() const { return found_; }
  void note(const Replicated& inner);

  const Holding& holding(Value old) const { return known(old).holding; }
  /// The value on every rank: gathers parts and sums terms, once.
  Value whole(Value old);
  /// The sum of terms of the value, sent in this type.
  Value sum(Value old, const Values& terms, DType sent = DType::f32);
  /// The value in another form: parts are cut out of the whole, or computed by place.
  Values as(Value old, const Holding& holding);
  /// Adds a node for each own shard (or one, if the result is whole) and sets its results.
  /// `operands` are their forms, in order; `holdings` are those of the results.
  void add(const Node& node, const std::vector<Values>& operands, const Attributes& attributes,
           const std::vector<Holding>& holdings);
  void add(const Node& node, const std::vector<Values>& operands, const Holding& holding);
  /// The nodes of a composite's body in place of the node.
  void add_body(const Node& node, GraphPtr body);
  /// Every rank computes the node whole; `why` is for a remark, if operands are gathered for it.
  void add_whole(const Node& node, std::string_view why = {});
  Where line_of(const Node& node) const { return line_ ? line_ : node.where; }
  /// A name for what shards have of a value.
  static std::string name_of(const std::string& value, const Holding& holding);

 private:
  struct Known {
    Holding holding;
    Values held;  ///< empty: nothing is known
    Value whole;
    std::vector<std::pair<Holding, Values>> others;
    Replicator* inner = nullptr;  ///< has computed it, as `in_body`
    Value in_body;
  };
  struct Inlined;

  Known& known(Value old) { return known_.at(size_t(old.node->id)).at(size_t(old.index)); }
  const Known& known(Value old) const {
    return known_.at(size_t(old.node->id)).at(size_t(old.index));
  }
  /// Whether the value is whole and computed from the places of elements: as random masks are.
  bool is_by_place(Value old) const;
  Values parts(Value old, const Holding& holding);
  Values of_place(Value old, const Holding& holding);

  const Graph& from_;
  Graph& to_;
  const Shards shards_;
  Remarks* const remarks_;
  Where line_;
  Replicated found_;
  std::vector<std::vector<Known>> known_;
  std::vector<std::unique_ptr<Inlined>> inlined_;
  std::vector<bool> by_place_;  ///< for each node: is_by_place()
};

}  // namespace graphc::core
