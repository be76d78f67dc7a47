// SPDX-License-Identifier: Apache-2.0
// Every op on the operands of its samples, and on variants with other extents.
#pragma once

#include <string>
#include <vector>

#include "ir/literal.h"
#include "ir/op.h"

namespace graphc::core::testing {

/// A graph with one node.
struct OpCase {
  std::string name;         ///< the op, the index of the sample, the changed extent
  GraphPtr graph;           ///< inputs are the operands, results those of the node
  int64_t index_limit = 1;  ///< integers among the inputs are drawn from [0, index_limit)
  bool whole = false;       ///< integers in place of the sample's floats, never 0
  bool as_sampled = false;  ///< with the sample's own extents
};

/// The ops that have samples: those that can be tested in graphs.
std::vector<const Op*> sampled_ops();

/// The samples of the op, and variants of each in which one extent at a time is changed to 0, to 1,
/// and by +16, if the op's inference accepts it.
std::vector<OpCase> op_cases(const Op& op);

/// The samples of the op with f64, i32, i64, u32, u8 or bool in place of f32, if its inference
/// accepts it.
std::vector<OpCase> dtype_cases(const Op& op);

/// The cases of the op with iotas and constants of the graph as operands: no inputs.
std::vector<OpCase> leaf_cases(const Op& op);

/// The cases of the op in the body of a loop with two steps, which adds its first result to a carry
/// and emits all results. Its operands are streams, captures, alternately both, or a carry and
/// streams: cases with the sample's own extents get each of these forms, others get one in
/// rotation.
std::vector<OpCase> loop_cases(const Op& op);

/// Random arguments: f32 numbers in [low, high), integers below the case's limit; for a `whole`
/// case, integers of three times that range, not 0, and nonnegative for unsigned types.
std::vector<Literal> random_arguments(const OpCase& c, unsigned seed, double low, double high);

}  // namespace graphc::core::testing
