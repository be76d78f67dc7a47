// SPDX-License-Identifier: Apache-2.0
// Variable sizes with few compilations. A graph is compiled for the sizes it is called with; a
// session that rounds a dim up compiles for fewer sizes and pads its inputs.
//
//   Session session(m, {.round_up = {{"steps", to_multiple_of(16)}}});
//
// Inputs are padded with 0 at their ends, and results are cut to their true sizes. This is correct
// only if the padding does not affect the results: the graph's loops and layers must take lengths
// (ScanOptions::lengths), and its losses must be means over the lengths (frontend/lengths.h). The
// lengths are a user's input or Inputs::length(), the extent that the caller passed.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "frontend/arguments.h"

namespace graphc::core {

/// From an extent to the compiled extent, which is at least as large.
using RoundUp = std::function<int64_t(int64_t)>;

/// To a multiple of `step`. Throws ErrorKind::usage if `step` is less than 1.
RoundUp to_multiple_of(int64_t step);
/// To a power of two.
RoundUp to_power_of_two();
/// To the smallest of these that is large enough; larger extents stay unchanged.
RoundUp to_one_of(std::vector<int64_t> sizes);

/// By dim name, e.g. "steps".
using RoundUps = std::map<std::string, RoundUp, std::less<>>;

/// A call as made and as compiled.
struct RoundedCall {
  GivenTypes called;  ///< types of the caller's inputs
  GivenTypes inputs;  ///< the same, rounded up
  std::vector<Type> results;
  InputRules rules;
};

/// Traces a graph for the types of a call and determines what to compile; `traced_as` are these
/// types in the graph's element types. Throws what Model::trace() throws, and ErrorKind::usage if
/// `rounds` decreases an extent.
RoundedCall round_call(Model& model, std::string_view graph, const GivenTypes& called,
                       const GivenTypes& traced_as, const RoundUps& rounds);

}  // namespace graphc::core
