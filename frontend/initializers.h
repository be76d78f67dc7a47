// SPDX-License-Identifier: Apache-2.0
// Initialisers: how the first value of a state is drawn. Each is a graph from the state's key, so a
// user's own is a function of the same kind.
#pragma once

#include <functional>
#include <vector>

#include "frontend/state.h"
#include "ir/literal.h"

namespace graphc::core {

Initializer zeros();
/// The number, with all 64 bits of an integer; the type of the state must have it.
Initializer constant(Numeral value);
/// Uniform in [-limit, limit). Throws ErrorKind::input, as the next ones do, for a number that is
/// not finite or below 0.
Initializer uniform(double limit, Where where = Where::here());
/// Normal with mean 0.
Initializer normal(double deviation, Where where = Where::here());
/// Uniform with limit sqrt(6 / (in + out)) over a matrix [in, out] as it is stored, packed gates
/// and all.
Initializer glorot_uniform();
/// A matrix, times `gain`, whose rows or columns, whichever are fewer, are orthonormal and equally
/// likely in every direction (Saxe et al. 2014). No graph computes it: it throws ErrorKind::input
/// where it is called for anything but the first value of a state, and for a gain that is not
/// finite.
Initializer orthogonal(double gain = 1, Where where = Where::here());
/// Parts of equal width along the last axis, each from its own initialiser and key: a bias whose
/// forget gate starts at 1 is `parts({zeros(), constant(1), zeros(), zeros()})`.
Initializer parts(std::vector<Initializer> initializers);

/// A value that code of ours draws, not a graph: an input of the graph that uses it.
struct HostDraw {
  Value key;  ///< i64[], of that graph
  std::function<Literal(int64_t key, int threads)> draw;
};

/// How the first value of a state is drawn.
struct InitialGraph {
  /// From the key (i64[]) and the values that are drawn outside of it, in their order, its inputs.
  /// The first result is the value; then comes the key of each of those.
  GraphPtr graph;
  std::vector<HostDraw> draws;

  /// By the reference evaluator in f32; the bits do not depend on `threads`.
  Literal value(int64_t key, int threads = 1) const;
};

/// The graph that the initialiser at work on this thread writes, or null: where `filled` and other
/// values that are made of nothing go there.
Graph* graph_of_initializer();
/// The graph that draws a value of the type.
InitialGraph initial_graph(const Initializer& initializer, const Type& type, Where where);
/// Whether every target computes the graph to the same bits: composites by their bodies, then only
/// exact elementwise work and moving about.
bool is_exact(const GraphPtr& graph);
/// The value, computed by the reference evaluator in f32.
Literal initial_value(const Initializer& initializer, const Type& type, int64_t key, Where where);
/// The key of a state: `seed` and the state's name, so that adding a state moves no other.
int64_t initial_key(uint64_t seed, std::string_view name);

}  // namespace graphc::core
