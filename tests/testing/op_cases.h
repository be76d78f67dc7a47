// SPDX-License-Identifier: Apache-2.0
// Every op on the operands of its samples, and on the same with other extents.
#pragma once

#include <string>
#include <vector>

#include "ir/literal.h"
#include "ir/op.h"

namespace graphc::core::testing {

/// A graph of one node.
struct OpCase {
  std::string name;         ///< the op, the number of the sample, the extent that was changed
  GraphPtr graph;           ///< inputs are the operands, results those of the node
  int64_t index_limit = 1;  ///< integers among the inputs are drawn from [0, index_limit)
  bool whole = false;       ///< integers stand where the sample has floats: none is 0
  bool as_sampled = false;  ///< the sample's own extents
};

/// The ops that have samples: what graphs are made of, and in every test of graphs.
std::vector<const Op*> sampled_ops();

/// The samples of the op, and each with every extent in turn changed to 0, to 1, and to 16 more
/// than it was, where the op's inference takes it.
std::vector<OpCase> op_cases(const Op& op);

/// The samples of the op with every f32 an f64, i32, i64, u32, u8 or bool, where its inference
/// takes it.
std::vector<OpCase> dtype_cases(const Op& op);

/// The cases of the op with leaves of the graph for operands, iotas and constants: no inputs.
std::vector<OpCase> leaf_cases(const Op& op);

/// The cases of the op in the body of a loop of two steps that adds its first result to a carry and
/// emits all of them. Its operands are streams, captures, the one and the other in turn, or a carry
/// and streams: with the sample's own extents each of these, with others those whose turn it is.
std::vector<OpCase> loop_cases(const Op& op);

/// Random arguments: floats in [low, high) that are f32 numbers, integers below the case's limit;
/// of a whole case three times such a float, away from 0, without sign where there is none.
std::vector<Literal> random_arguments(const OpCase& c, unsigned seed, double low, double high);

}  // namespace graphc::core::testing
