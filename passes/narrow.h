// SPDX-License-Identifier: Apache-2.0
// Which values a graph stores in bf16, where products round their factors to bf16: what the pass
// precision goes by.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "ir/scan.h"

namespace graphc {

/// The values of f32 of a graph, or of the body of a loop, that are stored in bf16. What computes
/// anything else with a value than one of these does keeps it in f32:
///
/// - products round it anyway: if nothing else reads it, no result changes;
/// - loops read it step by step, and sums over rows add it up: pre-gates, what a loop saves for its
///   derivative, gradients of pre-gates. It is rounded once more, to within 2^-8 of itself, as the
///   factors were that it comes from.
///
/// Of the second kind these stay f32: what a loop carries, because errors of a state add up;
/// numbers of a row, such as its mean; and what no product has gone into, such as counters and
/// masks. Inputs, states and results are as they are declared.
class NarrowValues {
 public:
  /// `inputs` and `results` say which of these are bf16 already: streams and emits, of a body.
  /// They may be shorter than the lists.
  NarrowValues(const Graph& graph, const std::vector<bool>& inputs,
               const std::vector<bool>& results);

  bool contains(Value value) const { return flags_of(value).narrow; }
  /// Whether nothing but products reads it, the views of it among them.
  bool is_exact(Value value) const { return !flags_of(value).beside_products; }

 private:
  struct Flags {
    bool read = false;             ///< by anything
    bool beside_products = false;  ///< by loops and sums over rows
    bool elsewhere = false;        ///< by anything else
    bool computed = false;         ///< a product has gone into it
    bool narrow = false;
  };

  const Flags& flags_of(Value value) const {
    return flags_[size_t(value.node->id)][size_t(value.index)];
  }
  Flags& flags_of(Value value) { return flags_[size_t(value.node->id)][size_t(value.index)]; }

  void note_readers(const Graph& graph);
  void note_reader(const Node& node, size_t operand);
  /// What the node's results are, once its operands are known.
  void classify(const Node& node);
  /// The same of a loop's, whose other results stay f32.
  void classify_emits(const Scan& scan);
  bool may_be_narrow(Value value) const;
  bool is_narrow(Value value) const;
  bool is_computed(Value value) const { return flags_of(value).computed; }

  std::vector<std::vector<Flags>> flags_;  // by node and result
};

/// A node that only says where elements lie, or puts values one behind the other.
bool moves_whole(const Node& node);
/// Whether the node reads an operand as the factor of a product.
bool multiplies(const Node& node);

}  // namespace graphc
