// SPDX-License-Identifier: Apache-2.0
#include "frontend/initializers.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "frontend/functions.h"
#include "frontend/intervals.h"
#include "frontend/orthonormal.h"
#include "ir/evaluate.h"
#include "passes/pipeline.h"

namespace graphc::core {
namespace {

/// 64-bit FNV-1a.
uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ uint8_t(c)) * 0x100000001b3u;
  return hash;
}

void expect_f32(const char* name, const Type& type) {
  if (type.dtype != DType::f32)
    throw input_error({}, "{}: draws f32: the state is {}", name, to_string(type));
}

/// Collects the host-drawn values on this thread during its lifetime.
class HostDraws {
 public:
  explicit HostDraws(Graph& graph) : graph_(graph), outer_(std::exchange(current_, this)) {}
  HostDraws(const HostDraws&) = delete;
  HostDraws& operator=(const HostDraws&) = delete;
  ~HostDraws() { current_ = outer_; }

  /// A value of this type, computed by `draw` from the key, for the initialiser `name`.
  static Value add(const char* name, Value key, const Type& type,
                   std::function<Literal(int64_t, int)> draw) {
    if (current_ == nullptr || key.node->graph != &current_->graph_) {
      throw input_error(
          {}, "{}: it draws the first value of a state, in no other graph than an initialiser's",
          name);
    }
    current_->found_.push_back({key, std::move(draw)});
    return current_->graph_.input(type, name);
  }

  const std::vector<HostDraw>& found() const { return found_; }
  static Graph* current_graph() { return current_ == nullptr ? nullptr : &current_->graph_; }

 private:
  static thread_local HostDraws* current_;

  Graph& graph_;
  HostDraws* outer_;
  std::vector<HostDraw> found_;
};

thread_local HostDraws* HostDraws::current_ = nullptr;

}  // namespace

Graph* graph_of_initializer() { return HostDraws::current_graph(); }

Initializer zeros() { return constant(0); }

Initializer constant(Numeral value) {
  return [value](Value key, const Type& type) { return splat(*key.node->graph, value, type); };
}

Initializer uniform(double limit, Where where) {
  expect_in("uniform", "limit", limit, kFromZero, where);
  return [limit](Value key, const Type& type) {
    expect_f32("uniform", type);
    return uniform(key, type.shape) * (2 * limit) - limit;
  };
}

Initializer normal(double deviation, Where where) {
  expect_in("normal", "deviation", deviation, kFromZero, where);
  return [deviation](Value key, const Type& type) {
    expect_f32("normal", type);
    return normal(key, type.shape) * deviation;
  };
}

Initializer glorot_uniform() {
  return [](Value key, const Type& type) {
    if (type.shape.rank() != 2)
      throw input_error({}, "glorot_uniform: the state is a matrix: found {}", to_string(type));
    const int64_t both = std::max<int64_t>(type.shape[0] + type.shape[1], 1);
    return uniform(std::sqrt(6.0 / double(both)), {})(key, type);
  };
}

Initializer orthogonal(double gain, Where where) {
  expect_in("orthogonal", "gain", gain, kFinite, where);
  return [gain](Value key, const Type& type) {
    expect_f32("orthogonal", type);
    if (type.shape.rank() != 2)
      throw input_error({}, "orthogonal: the state is a matrix: found {}", to_string(type));
    const auto draw = [shape = type.shape, gain](int64_t number, int threads) {
      return orthonormal_matrix(number, shape, gain, threads);
    };
    return HostDraws::add("orthogonal", key, type, draw);
  };
}

Initializer parts(std::vector<Initializer> initializers) {
  return [initializers = std::move(initializers)](Value key, const Type& type) {
    const int64_t count = int64_t(initializers.size()), width = type.shape[-1];
    if (count == 0 || width % count != 0) {
      throw input_error({}, "parts: {} has no {} equal parts along its last axis", to_string(type),
                        count);
    }
    Values values;
    for (int64_t i = 0; i < count; ++i) {
      values.push_back(initializers[size_t(i)](fold_in(key, i),
                                               {type.dtype, type.shape.with(-1, width / count)}));
    }
    return concat(values, type.shape.rank() - 1);
  };
}

InitialGraph initial_graph(const Initializer& initializer, const Type& type, Where where) {
  if (!initializer)
    throw input_error(where, "a state of {} has no initialiser: zeros() is one", to_string(type));
  try {
    auto graph = std::make_unique<Graph>("initial");
    HostDraws draws(*graph);
    const Value value = initializer(graph->input({DType::i64, {}}, "key"), type);
    if (value.type() != type) {
      throw input_error(where, "the initialiser of a state of {} gives {}", to_string(type),
                        to_string(value.type()));
    }
    Values results{value};
    for (const HostDraw& draw : draws.found()) results.push_back(draw.key);
    graph->set_results(results);
    return {freeze(std::move(graph)), draws.found()};
  } catch (Error& error) {
    throw error.at(where);
  }
}

Literal InitialGraph::value(int64_t key, int threads) const {
  std::vector<Literal> inputs{Literal::of(key)};
  for (const Value input : graph->inputs()) {
    if (input != graph->inputs()[0]) inputs.emplace_back(input.type());
  }
  // A key may depend on values drawn before it, never on later ones.
  for (size_t i = 0; i < draws.size(); ++i) {
    const bool given = draws[i].key == graph->inputs()[0];
    const int64_t its_key =
        given ? key : evaluate(*graph, inputs).results[i + 1].data<int64_t>()[0];
    inputs[i + 1] = draws[i].draw(its_key, threads);
  }
  return evaluate(*graph, inputs).results[0];
}

bool is_exact(const GraphPtr& graph) {
  const GraphPtr expanded = run_pipeline(graph, parse_pipeline("expand"), {.verify = false}).graph;
  return std::ranges::all_of(expanded->nodes(), [](const Node& node) {
    if (is_elementwise(node.op)) return is_exact(scalar_code(node));
    return node.is(ops::input) || node.is(ops::constant) || node.is(ops::iota) ||
           node.is(ops::reshape) || node.is(ops::broadcast_to) || node.is(ops::concat) ||
           node.is(ops::transpose) || node.is(ops::slice) || node.is(ops::split);
  });
}

Literal initial_value(const Initializer& initializer, const Type& type, int64_t key, Where where) {
  return initial_graph(initializer, type, where).value(key);
}

int64_t initial_key(uint64_t seed, std::string_view name) {
  auto graph = std::make_unique<Graph>("key");
  const Value key =
      fold_in(graph->input({DType::i64, {}}, "seed"), graph->input({DType::i64, {}}, "name"));
  graph->set_results({key});
  return evaluate(*freeze(std::move(graph)),
                  {Literal::of(int64_t(seed)), Literal::of(int64_t(hash_of(name)))})
      .results[0]
      .data<int64_t>()[0];
}

}  // namespace graphc::core
