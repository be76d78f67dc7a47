// SPDX-License-Identifier: Apache-2.0
// Which values a graph stores in bf16, where products round their factors to bf16: what the pass
// precision goes by.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "ir/scan.h"
#include "passes/amplified.h"
#include "passes/gate_codes.h"

namespace graphc::core {

/// What is known of a value where it comes from.
struct ValueOrigin {
  bool narrow = false;    ///< it is stored in bf16
  bool computed = false;  ///< a product has gone into it, and nothing lies beside that has had none
  bool of_rows = false;   ///< it is a number for each row: a sum or maximum along rows
  std::vector<GateCode> codes;  ///< of gates that it consists of, where they are stored in these
};

/// The values of f32 of a graph, or of the body of a loop, that are stored in bf16. What computes
/// anything else with a value than one of these does keeps it in f32:
///
/// - products round it anyway: if nothing else reads it, no result changes;
/// - loops read it step by step, and sums over rows add it up: pre-gates, what a loop saves for its
///   derivative, gradients of pre-gates. It is rounded once more, to within 2^-8 of itself, as the
///   factors were that it comes from. So is what a loop saves if products with it are stored in
///   bf16, element by element, behind the loop. Gates are stored in codes (gate_codes.h), and only
///   where whoever reads them takes one at a time: loops, a split, or what computes with one.
///
/// Of the second kind these stay f32: what a loop carries, parts of it too, because errors of a
/// state add up; numbers of a row, such as its mean; what has elements into which no product has
/// gone, such as counters and masks; and what is read by something that makes more of an error than
/// a product does, such as exp (amplified.h). Inputs, states and results are as they are declared.
class NarrowValues {
 public:
  /// Of a graph; or of the body of a loop, of whose inputs the origins are known, and of whose
  /// results these are bf16. `amplifiers` are those of the graph.
  NarrowValues(const Graph& graph, const Amplifiers& amplifiers,
               const std::vector<ValueOrigin>& inputs, const std::vector<bool>& results);

  bool contains(Value value) const { return flags_of(value).origin.narrow; }
  /// Of a value that is stored in bf16: whether nothing but products reads it, the views of it
  /// among them.
  bool is_exact(Value value) const { return !flags_of(value).beside_products; }
  /// Of a value that would be stored in bf16 if nothing amplified its error: what does. Else null.
  const Node* kept_for(Value value) const { return flags_of(value).kept_for; }
  /// How the gates that the value consists of are stored; empty if it is none, or stored as it is.
  const std::vector<GateCode>& codes_of(Value value) const { return flags_of(value).origin.codes; }
  /// The origins of the inputs of a loop's body; of its streams also whether and how they are bf16.
  std::vector<ValueOrigin> inputs_of(const Scan& scan) const;

 private:
  struct Flags {
    bool read = false;             ///< by anything
    bool beside_products = false;  ///< by loops, sums over rows and what computes narrow values
    bool by_narrow = false;        ///< by what multiplies it to narrow values
    int products = 0;              ///< that read it, the views of it among them
    bool codes_lost = false;       ///< read by what would have its gates decoded in memory
    bool elsewhere = false;        ///< by anything else
    bool may_be_rounded = false;   ///< though others than products read it
    const Node* kept_for = nullptr;
    ValueOrigin origin;
  };

  const Flags& flags_of(Value value) const {
    return flags_[size_t(value.node->id)][size_t(value.index)];
  }
  Flags& flags_of(Value value) { return flags_[size_t(value.node->id)][size_t(value.index)]; }

  /// Where the node's results come from, once that is known of its operands.
  void find_origins(const Node& node);
  void find_origins_of(const Scan& scan);
  ValueOrigin origin_of(Value value) const;
  /// What reads the values of the graph, from the last to the first.
  void note_readers(const Graph& graph);
  void note_reader(const Node& node, size_t operand);
  bool is_narrow(Value value) const;
  bool would_be_narrow(Value value) const;

  const Amplifiers& amplifiers_;
  std::vector<std::vector<Flags>> flags_;  // by node and result
};

/// A node that only says where elements lie, or puts values one behind the other.
bool moves_whole(const Node& node);
/// Whether the node reads an operand as the factor of a product.
bool multiplies(const Node& node);
/// A sum over the rows of a matrix: what the pass reductions makes of one over the leading axes.
bool sums_over_rows(const Node& node);

}  // namespace graphc::core
