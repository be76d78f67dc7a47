// SPDX-License-Identifier: Apache-2.0
// From the graph of a model, which is that of the whole batch, the graph of one of several ranks.
//
// Inputs, states and results stay whole: every rank is given all rows and takes its own. A value is
// held in one of three forms (holding.h): whole, as parts along an axis, or as terms of a sum. From
// the axes of the inputs these forms go through the graph, by a rule for each op; a collective is
// added where a sum of terms meets work that is not linear, where a part does not do, and where a
// result or the next value of a state has to be whole. Gradients by what every rank has are summed
// at once. Where no rule fits, every rank computes the node whole, with a remark: the choice of
// axes decides how much the ranks share out, never what they compute.
//
// A rank may have several shards of the batch. Then parts and terms are several values, and what is
// done to one is the same whoever has it: sums over shards have one tree, and no bit of a result
// depends on the number of ranks.
#include "passes/replicate/replicate.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "passes/passes.h"
#include "passes/replicate/replicator.h"

namespace graphc::core {
namespace {

template <typename... Args>
Error usage(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorKind::usage, {}, fmt::format(format, std::forward<Args>(args)...));
}

Shards shards_of(const Replication& how) {
  const int64_t count = how.shards == 0 ? how.ranks : how.shards;
  if (how.ranks < 1) throw usage("ranks: wanted 1 or more: found {}", how.ranks);
  if (how.rank < 0 || how.rank >= how.ranks)
    throw usage("rank {} is none of {} ranks", how.rank, how.ranks);
  const bool power = count > 0 && (count & (count - 1)) == 0;
  if (how.shards != 0 && (!power || count % how.ranks != 0)) {
    throw usage(
        "shards: wanted a power of two that is divided by the number of ranks, {}: found {}",
        how.ranks, how.shards);
  }
  if (how.gradients != DType::f32 && how.gradients != DType::bf16)
    throw usage("gradients are sent in f32 or bf16: found {}", to_string(how.gradients));
  if (how.gradients == DType::bf16 && how.shards != 0) {
    throw usage(
        "gradients in bf16 are rounded when ranks send them, so no bit would depend on "
        "shards alone: wanted one or the other");
  }
  Shards shards{how.ranks, how.rank, count, {}, how.gradients};
  const int64_t own = count / how.ranks;
  for (int64_t k = 0; k < own; ++k) shards.own.push_back(how.rank * own + k);
  return shards;
}

/// Sets what stands for an input of which each shard has its part.
void share_out(Replicator& replicator, Value input, Value whole, int axis, const Shards& shards) {
  const Holding holding = parts_along(axis);
  if (!divides(input.shape(), holding, shards.count)) {
    throw input_error(input.node->where, "the batch of %{}, axis {} of {}, is not divided by {} {}",
                      input.name(), axis, to_string(input.type()), shards.count,
                      shards.count == shards.ranks ? "ranks" : "shards");
  }
  const WhereScope scope(input.node->where);
  Values parts;
  for (const int64_t shard : shards.own)
    parts.push_back(part_of(whole, holding, shard, shards.count));
  replicator.set(input, holding, std::move(parts), whole);
}

}  // namespace

GraphPtr replicated(const GraphPtr& graph, const Replication& how, Remarks& remarks) {
  const Shards shards = shards_of(how);
  if (shards.count == 1) return graph;
  auto to = std::make_unique<Graph>(graph->name());
  Replicator replicator(*graph, *to, shards, &remarks);
  Values inputs, states;
  for (const Value input : graph->inputs())
    inputs.push_back(to->input(input.type(), input.name(), input.node->where));
  for (const Value state : graph->states())
    states.push_back(to->state(state.type(), state.name(), state.node->where));
  bool any = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value input = graph->inputs()[i];
    const int axis = i < how.axes.size() ? how.axes[i] : -1;
    if (axis >= input.shape().rank()) {
      throw usage("axes: input %{} has {} axes: found axis {}", input.name(), input.shape().rank(),
                  axis);
    }
    any |= axis >= 0;
    if (axis >= 0) {
      share_out(replicator, input, inputs[i], axis, shards);
    } else {
      replicator.set(input, kWhole, {inputs[i]});
    }
  }
  for (size_t i = 0; i < states.size(); ++i)
    replicator.set(graph->states()[i], kWhole, {states[i]});
  if (!any) {
    remarks.add("no input has a batch: every rank computes everything");
    return graph;
  }
  replicator.run();
  Values results;
  for (const Value result : graph->results()) results.push_back(replicator.whole(result));
  to->set_results(std::move(results));
  for (const Next& next : graph->next())
    to->set_next(replicator.whole(next.state), replicator.whole(next.value));
  // Without what was computed in a form that nothing needs.
  return rewrite(
      *freeze(std::move(to)),
      [](const Node&, const Values&, Graph&) -> std::optional<Values> { return std::nullopt; });
}

namespace {

DType gradients_of(const PassOptions& options) {
  const std::string word = options.get_string("gradients", "f32");
  if (word != "f32" && word != "bf16")
    throw usage("replicate: gradients are sent in f32 or bf16: found '{}'", word);
  return word == "bf16" ? DType::bf16 : DType::f32;
}

GraphPtr run_replicate(const GraphPtr& graph, const PassOptions& options, Remarks& remarks) {
  Replication how{.ranks = options.get_int("ranks", 1),
                  .rank = options.get_int("rank", 0),
                  .shards = options.get_int("shards", 0),
                  .gradients = gradients_of(options),
                  .axes = {}};
  for (const std::string& axis : options.get_list("axes")) {
    if (axis == "whole") {
      how.axes.push_back(-1);
    } else if (axis.size() == 1 && axis[0] >= '0' && axis[0] < '0' + Shape::kMaxRank) {
      how.axes.push_back(axis[0] - '0');
    } else {
      throw usage("replicate: axes are numbers or 'whole', joined by '+': found '{}'", axis);
    }
  }
  return replicated(graph, how, remarks);
}

}  // namespace

constinit const Pass passes::replicate{
    .name = "replicate",
    .summary = "makes the graph of one of several ranks, which share out a batch",
    .options = "ranks,rank,shards,gradients,axes",
    .run = run_replicate,
};

}  // namespace graphc::core
