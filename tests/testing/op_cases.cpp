// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/op_cases.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/scan.h"
#include "tests/testing/with_extent.h"

namespace graphc::core::testing {
namespace {

GraphPtr graph_of(const Op& op, const Sample& sample) {
  auto graph = std::make_unique<Graph>(std::string(op.name));
  Values operands, results;
  for (const Type& type : sample.operands) operands.push_back(graph->input(type, "x"));
  const Node& node = graph->add(op, operands, sample.attributes);
  for (int i = 0; i < node.results(); ++i) results.push_back(node.result(i));
  graph->set_results(results);
  return freeze(std::move(graph));
}

/// The graph with another extent, alone or with its multiples (gates and units); null if the op
/// rejects it.
GraphPtr changed(const Graph& graph, int64_t from, int64_t to) {
  for (bool multiples : {false, true}) {
    try {
      return with_extent(graph, from, to, multiples);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<const Op*> sampled_ops() {
  std::vector<const Op*> ops;
  for (const Op* op : all_ops()) {
    if (op->samples != nullptr) ops.push_back(op);
  }
  return ops;
}

std::vector<OpCase> op_cases(const Op& op) {
  std::vector<OpCase> cases;
  int number = 0;
  for (const Sample& sample : op.samples()) {
    const std::string name = fmt::format("{} {}", op.name, number++);
    const GraphPtr graph = graph_of(op, sample);
    cases.push_back(
        {.name = name, .graph = graph, .index_limit = sample.index_limit, .as_sampled = true});
    for (int64_t from : extents_of(*graph)) {
      for (int64_t to : {int64_t{0}, int64_t{1}, from + 16}) {
        if (to == from) continue;
        const GraphPtr other = changed(*graph, from, to);
        if (!other || equal(*other, *graph)) continue;
        // Keeps indices inside a table with this many rows.
        const int64_t limit = sample.index_limit == from ? to : sample.index_limit;
        cases.push_back({fmt::format("{}, {} for {}", name, to, from), other, limit});
      }
    }
  }
  return cases;
}

std::vector<OpCase> dtype_cases(const Op& op) {
  std::vector<OpCase> cases;
  const auto add_cases = [&](DType from, DType to) {
    int number = 0;
    for (Sample sample : op.samples()) {
      const std::string name =
          fmt::format("{} {}, {} for {}", op.name, number++, name_of(to), name_of(from));
      bool any = false;
      for (Type& type : sample.operands) {
        any |= type.dtype == from;
        if (type.dtype == from) type.dtype = to;
      }
      if (sample.attributes.get_dtype("dtype", to) == from) {
        any = true;
        sample.attributes.set("dtype", to);
      }
      if (!any) continue;
      try {
        const bool whole = from == DType::f32 && !is_floating(to);
        cases.push_back({name, graph_of(op, sample), sample.index_limit, whole});
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::internal) throw;
      }
    }
  };
  for (DType to :
       {DType::bf16, DType::f64, DType::i32, DType::i64, DType::u32, DType::u8, DType::boolean})
    add_cases(DType::f32, to);
  for (DType to : {DType::i64, DType::u32, DType::u8}) add_cases(DType::i32, to);
  return cases;
}

std::vector<OpCase> leaf_cases(const Op& op) {
  std::vector<OpCase> cases = op_cases(op);
  for (OpCase& c : cases) {
    auto graph = std::make_unique<Graph>(c.graph->name());
    const Node& node = *c.graph->results()[0].node;
    Values leaves, results;
    for (Value operand : node.operands) {
      const Type& type = operand.type();
      const bool numbers = is_floating(type.dtype) || c.index_limit == 1;
      if (numbers && type.dtype != DType::boolean && type.shape.rank() > 0)
        leaves.push_back(iota(*graph, type.shape, type.shape.rank() - 1, type.dtype));
      else
        leaves.push_back(splat(*graph, c.index_limit == 0 ? 0 : 1, type));
    }
    const Node& copy = copy_node(node, leaves, *graph);
    for (int i = 0; i < copy.results(); ++i) results.push_back(copy.result(i));
    graph->set_results(results);
    c.graph = freeze(std::move(graph));
    c.name += ", of leaves";
  }
  return cases;
}

namespace {

enum class Operands { streams, captures, in_turn, carried };

/// Builds a scan with two steps around a node.
class LoopAround {
 public:
  LoopAround(const Graph& graph, Operands place)
      : node_(*graph.results()[0].node),
        place_(place),
        outside_(std::make_unique<Graph>(graph.name())),
        body_(std::make_unique<Graph>("step")),
        operands_(node_.operands.size()) {
    parts_.steps = 2;
  }

  /// Whether no stream or emit has too many axes, and the carry is numeric.
  bool fits() const {
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (is_stream(i) && node_.operands[i].shape().rank() == Shape::kMaxRank) return false;
    }
    for (const Type& type : node_.types) {
      if (type.shape.rank() == Shape::kMaxRank) return false;
    }
    return place_ != Operands::carried ||
           (!operands_.empty() && is_floating(node_.operands[0].dtype()));
  }

  GraphPtr run() {
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (is_stream(i)) add_input(i, parts_.streams);
    }
    const Type& type = node_.types[0];
    parts_.initial.push_back(outside_->input(type, "c"));
    const Value carry = body_->input(type, "c");
    if (place_ == Operands::carried) add_input(0, parts_.initial);
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (!operands_[i]) add_input(i, parts_.captures);
    }
    const Node& copy = copy_node(node_, operands_, *body_);
    const Value sum =
        type.dtype == DType::boolean ? logical_xor(carry, copy.result(0)) : carry + copy.result(0);
    const bool needed_each_step = place_ == Operands::carried && type.dtype == DType::f32;
    Values results{needed_each_step ? tanh(sum) : sum};
    if (place_ == Operands::carried) results.push_back(operands_[0] * 0.5);
    for (int i = 0; i < copy.results(); ++i) results.push_back(copy.result(i));
    body_->set_results(results);
    parts_.body = freeze(std::move(body_));
    const Node& scan = add_scan(*outside_, std::move(parts_));
    Values all;
    for (int i = 0; i < scan.results(); ++i) all.push_back(scan.result(i));
    outside_->set_results(all);
    return freeze(std::move(outside_));
  }

 private:
  bool is_stream(size_t i) const {
    if (place_ == Operands::carried) return i > 0;
    return place_ == Operands::streams || (place_ == Operands::in_turn && i % 2 == 1);
  }

  void add_input(size_t i, Values& list) {
    const Type& type = node_.operands[i].type();
    const bool stream = &list == &parts_.streams;
    list.push_back(
        outside_->input({type.dtype, stream ? type.shape.insert(0, 2) : type.shape}, "x"));
    operands_[i] = body_->input(type, "x");
  }

  const Node& node_;
  const Operands place_;
  std::unique_ptr<Graph> outside_, body_;
  ScanParts parts_;
  Values operands_;
};

}  // namespace

std::vector<OpCase> loop_cases(const Op& op) {
  std::vector<OpCase> cases;
  const char* names[] = {"streams", "captures", "in turn", "carried"};
  int number = 0;
  for (const OpCase& c : op_cases(op)) {
    ++number;
    for (Operands place :
         {Operands::streams, Operands::captures, Operands::in_turn, Operands::carried}) {
      if (!c.as_sampled && (int(place) + number) % 3 != 0) continue;
      LoopAround loop(*c.graph, place);
      if (!loop.fits()) continue;
      cases.push_back({.name = fmt::format("{}, in a loop: {}", c.name, names[int(place)]),
                       .graph = loop.run(),
                       .index_limit = c.index_limit,
                       .as_sampled = c.as_sampled});
    }
  }
  return cases;
}

std::vector<Literal> random_arguments(const OpCase& c, unsigned seed, double low, double high) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> real{float(low), float(high)};
  std::vector<Literal> arguments;
  for (Value input : c.graph->inputs()) {
    Literal literal(Type{DType::f64, input.shape()});
    const int64_t limit = input.dtype() == DType::boolean ? 2 : std::max<int64_t>(c.index_limit, 1);
    for (double& x : literal.mutable_data<double>()) {
      const bool is_index = c.index_limit > 1 || input.dtype() == DType::boolean || !c.whole;
      if (is_floating(input.dtype())) {
        x = double(real(random));
      } else if (is_index) {
        x = double(random() % uint64_t(limit));
      } else {
        x = std::ceil(3 * double(real(random)));
        if (x == 0) x = 4;
        if (input.dtype() == DType::u8 || input.dtype() == DType::u32) x = std::abs(x);
      }
    }
    arguments.push_back(literal.converted(input.dtype()));
  }
  return arguments;
}

}  // namespace graphc::core::testing
