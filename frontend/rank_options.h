// SPDX-License-Identifier: Apache-2.0
// Which ranks and shards a session compiles a graph for, and which axes of its inputs they share
// out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/compile.h"
#include "frontend/model.h"
#include "frontend/session.h"

namespace graphc::core {

/// Throws ErrorKind::usage for shards that are no power of two, or that the ranks do not divide.
void check_ranks(const SessionOptions& options);

/// For each input of the graph the axis with the dim `batch`, or -1.
std::vector<int> batch_axes(const TracedGraph& traced, std::string_view batch);

/// The ranks of a graph: one where its batch is not shared out.
RankOptions rank_options(const SessionOptions& options, const TracedGraph& traced);

/// Whether the graph has a batch that ranks or shards do not divide.
bool batch_is_odd(const SessionOptions& options, const TracedGraph& traced);

/// What has to divide a batch, for messages: "4 ranks", "8 shards".
std::string shards_text(const SessionOptions& options);

}  // namespace graphc::core
