// SPDX-License-Identifier: Apache-2.0
// Sizes that vary: one compiled graph for many. A graph is compiled for the sizes it is called
// with; a session that rounds a dim up compiles for a few of its sizes and pads what it is given.
//
//   Session session(m, {.round_up = {{"steps", to_multiple_of(16)}}});
//
// Inputs are padded with 0 behind their ends, results cut to what they would have been. That is
// right where the graph makes nothing of what is padded: where its loops and layers have lengths
// (ScanOptions::lengths) and its losses are means over them (frontend/lengths.h). The lengths are
// an input of the user's, or Inputs::length(): what the caller brought.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "frontend/arguments.h"

namespace graphc::core {

/// From an extent to the one that is compiled for, no smaller.
using RoundUp = std::function<int64_t(int64_t)>;

/// To a multiple of `step`. Throws ErrorKind::usage when that is less than 1.
RoundUp to_multiple_of(int64_t step);
/// To a power of two.
RoundUp to_power_of_two();
/// To the least of these that is large enough; an extent beyond them stays what it is.
RoundUp to_one_of(std::vector<int64_t> sizes);

/// By the name of the dim: "steps".
using RoundUps = std::map<std::string, RoundUp, std::less<>>;

/// A call as it is made, and as it is compiled.
struct RoundedCall {
  GivenTypes called;  ///< types of the inputs as the caller brings them
  GivenTypes inputs;  ///< the same, rounded up
  std::vector<Type> results;
  InputRules rules;
};

/// Traces a graph for what it is called with, `traced_as` in the graph's element types, and says
/// what is to be compiled. Throws what Model::trace() throws, and ErrorKind::usage when `rounds`
/// makes an extent smaller.
RoundedCall round_call(Model& model, std::string_view graph, const GivenTypes& called,
                       const GivenTypes& traced_as, const RoundUps& rounds);

}  // namespace graphc::core
