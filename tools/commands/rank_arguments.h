// SPDX-License-Identifier: Apache-2.0
// The arguments of verbs that show or check the graph of one of several ranks.
#pragma once

#include <string>
#include <vector>

#include "codegen/compile.h"
#include "ir/graph.h"

namespace graphc::core::commands {

struct RankArguments {
  int ranks = 1, rank = 0, shards = 0;
  DType gradients = DType::f32;    ///< the type in which they are sent
  std::vector<std::string> batch;  ///< "x=1": the axis of the batch of input x

  bool given() const { return ranks > 1 || shards > 1; }
};

/// The ranks of a graph, without an engine. Of a graph in a file the batch is what --batch says,
/// else axis 1 of what a loop takes step by step and axis 0 of every other input that is not a
/// scalar. `axes`, if it is not null, has those of a model instead. Throws ErrorKind::usage for a
/// name that is no input and for an axis that it does not have.
RankOptions ranks_of(const RankArguments& arguments, const Graph& graph,
                     const std::vector<int>* axes = nullptr);

}  // namespace graphc::core::commands
