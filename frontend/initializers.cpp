// SPDX-License-Identifier: Apache-2.0
#include "frontend/initializers.h"

#include <algorithm>
#include <cmath>

#include "frontend/functions.h"
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

}  // namespace

Initializer zeros() { return constant(0); }

Initializer constant(double value) {
  return [value](Value key, const Type& type) { return splat(*key.node->graph, value, type); };
}

Initializer uniform(double limit) {
  return [limit](Value key, const Type& type) {
    expect_f32("uniform", type);
    return uniform(key, type.shape) * (2 * limit) - limit;
  };
}

Initializer normal(double deviation) {
  return [deviation](Value key, const Type& type) {
    expect_f32("normal", type);
    return normal(key, type.shape) * deviation;
  };
}

Initializer glorot_uniform() {
  return [](Value key, const Type& type) {
    if (type.shape.rank() != 2)
      throw input_error({}, "glorot_uniform: the state is a matrix: found {}", to_string(type));
    return uniform(std::sqrt(6.0 / double(type.shape[0] + type.shape[1])))(key, type);
  };
}

Initializer orthogonal(double gain) {
  return [gain](Value key, const Type& type) {
    expect_f32("orthogonal", type);
    if (type.shape.rank() != 2)
      throw input_error({}, "orthogonal: the state is a matrix: found {}", to_string(type));
    // Newton and Schulz's iteration to the orthogonal factor: each singular value s below 1 becomes
    // 1.5 s - 0.5 s^3. The smallest grow by half each time; 48 times are enough for 10^-7.
    const Value drawn = normal(key, type.shape);
    Value x = drawn / sqrt(sum(square(drawn)));
    const bool wide = type.shape[1] > type.shape[0];
    for (int i = 0; i < 48; ++i) {
      const Value gram = wide ? matmul(x, x, false, true) : matmul(x, x, true, false);
      x = 1.5 * x - 0.5 * (wide ? matmul(gram, x) : matmul(x, gram));
    }
    return x * gain;
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
      values.push_back(initializers[size_t(i)](fold_in(key, double(i)),
                                               {type.dtype, type.shape.with(-1, width / count)}));
    }
    return concat(values, type.shape.rank() - 1);
  };
}

GraphPtr initial_graph(const Initializer& initializer, const Type& type, Where where) {
  try {
    auto graph = std::make_unique<Graph>("initial");
    const Value value = initializer(graph->input({DType::i64, {}}, "key"), type);
    if (value.type() != type) {
      throw input_error(where, "the initialiser of a state of {} gives {}", to_string(type),
                        to_string(value.type()));
    }
    graph->set_results({value});
    return freeze(std::move(graph));
  } catch (Error& error) {
    throw error.at(where);
  }
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
  return evaluate(*initial_graph(initializer, type, where), {Literal::of(key)}).results[0];
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
