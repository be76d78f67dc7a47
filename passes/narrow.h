// SPDX-License-Identifier: Apache-2.0
// The values that a graph stores in bf16 if products round their factors to bf16: the analysis
// behind the pass precision.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "ir/scan.h"
#include "passes/amplified.h"
#include "passes/gate_codes.h"

namespace graphc::core {

/// The properties of a value that follow from its computation.
struct ValueOrigin {
  bool narrow = false;          ///< stored in bf16
  bool computed = false;        ///< every element depends on a product
  bool of_rows = false;         ///< one number per row: a sum or maximum along rows
  std::vector<GateCode> codes;  ///< storage codes of its gates, if it is stored in codes
};

/// The f32 values of a graph, or of a loop's body, that are stored in bf16. A value with any other
/// reader than these stays f32:
///
/// - products round it anyway: if nothing else reads it, no result changes;
/// - loops that read it step by step, and sums over rows: pre-activations, values saved for the
///   derivative of a loop, gradients of pre-activations. It is rounded once more, to within 2^-8
///   relative error, as the factors behind it were. The same holds for values saved by a loop whose
///   elementwise products are stored in bf16 after the loop. Gates are stored in codes
///   (gate_codes.h), and only if their readers take one at a time: loops, a split, or an op on one
///   gate.
///
/// In the second case these stay f32: loop carries and parts of them, because errors of a state
/// accumulate; per-row numbers such as means; values with elements that depend on no product, such
/// as counters and masks; values that one sum over rows alone reads, which its kernel computes; and
/// values read by an op that amplifies errors more than a product does, such as exp (amplified.h).
/// Inputs, states and results keep their declared types.
class NarrowValues {
 public:
  /// For a graph; or for a loop's body, with the origins of its inputs and which of its results are
  /// bf16. `amplifiers` belong to the graph.
  NarrowValues(const Graph& graph, const Amplifiers& amplifiers,
               const std::vector<ValueOrigin>& inputs, const std::vector<bool>& results);

  bool contains(Value value) const { return flags_of(value).origin.narrow; }
  /// For a value stored in bf16: whether it is read only by products, possibly through views.
  bool is_exact(Value value) const { return !flags_of(value).beside_products; }
  /// For a value that would be bf16 if nothing amplified its error: the amplifying node. Otherwise
  /// null.
  const Node* kept_for(Value value) const { return flags_of(value).kept_for; }
  /// The storage codes of the value's gates; empty if it has none or is stored unchanged.
  const std::vector<GateCode>& codes_of(Value value) const { return flags_of(value).origin.codes; }
  /// The origins of a loop body's inputs; for its streams, also whether and how they are bf16.
  std::vector<ValueOrigin> inputs_of(const Scan& scan) const;

 private:
  struct Flags {
    bool read = false;             ///< by anything
    bool beside_products = false;  ///< by loops, sums over rows, and ops that compute narrow values
    bool by_narrow = false;        ///< by a multiplication whose result is rounded or summed
    int sums = 0;                  ///< number of sums over rows that read it, also through views
    bool beside_sums = false;      ///< of `beside_products`, by anything but sums over rows
    int products = 0;              ///< number of products that read it, also through views
    bool codes_lost = false;       ///< a reader would have its gates decoded in memory
    bool elsewhere = false;        ///< by anything else
    bool may_be_rounded = false;   ///< although not only products read it
    const Node* kept_for = nullptr;
    ValueOrigin origin;
  };

  const Flags& flags_of(Value value) const {
    return flags_[size_t(value.node->id)][size_t(value.index)];
  }
  Flags& flags_of(Value value) { return flags_[size_t(value.node->id)][size_t(value.index)]; }

  /// Computes the origins of the node's results from those of its operands.
  void find_origins(const Node& node);
  void find_origins_of(const Scan& scan);
  ValueOrigin origin_of(Value value) const;
  /// Records the readers of the graph's values, from last to first.
  void note_readers(const Graph& graph);
  void note_reader(const Node& node, size_t operand);
  bool is_narrow(Value value) const;
  bool is_in_sum(Value value) const;
  bool may_be_narrow(Value value) const;
  bool would_be_narrow(Value value) const;

  const Amplifiers& amplifiers_;
  std::vector<std::vector<Flags>> flags_;  // by node and result
};

/// Whether the node only moves or concatenates whole elements.
bool moves_whole(const Node& node);
/// Whether the node reads an operand as a factor of a matrix product.
bool multiplies(const Node& node);
/// Whether it is a sum over the rows of a matrix, the form that the pass reductions gives to sums
/// over leading axes.
bool sums_over_rows(const Node& node);

}  // namespace graphc::core
