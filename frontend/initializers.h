// SPDX-License-Identifier: Apache-2.0
// Initialisers: how the first value of a state is drawn. Each is a graph from the state's key, so a
// user-defined one is an ordinary function.
#pragma once

#include <functional>
#include <vector>

#include "frontend/state.h"
#include "ir/literal.h"

namespace graphc::core {

Initializer zeros();
/// The number, exact for all 64 bits of an integer; the type of the state must be able to represent
/// it.
Initializer constant(Numeral value);
/// Uniform in [-limit, limit). Throws ErrorKind::input, as the next ones do, for a number that is
/// negative or not finite.
Initializer uniform(double limit, Where where = Where::here());
/// Normal with mean 0.
Initializer normal(double deviation, Where where = Where::here());
/// Uniform with limit sqrt(6 / (in + out)) for a matrix [in, out] as stored, with all packed gates.
Initializer glorot_uniform();
/// A random matrix times `gain` with orthonormal rows or columns, whichever are fewer, uniformly
/// distributed over directions (Saxe et al. 2014). It is not computed by a graph: throws
/// ErrorKind::input if called for anything but the first value of a state, and for a gain that is
/// not finite.
Initializer orthogonal(double gain = 1, Where where = Where::here());
/// Parts of equal width along the last axis, each with its own initialiser and key: a bias whose
/// forget gate starts at 1 is `parts({zeros(), constant(1), zeros(), zeros()})`.
Initializer parts(std::vector<Initializer> initializers);

/// A value drawn by host code instead of a graph: an input of the graph that uses it.
struct HostDraw {
  Value key;  ///< i64[], of that graph
  std::function<Literal(int64_t key, int threads)> draw;
};

/// How the first value of a state is drawn.
struct InitialGraph {
  /// Its inputs are the key (i64[]) and the host-drawn values, in order. Its first result is the
  /// value; then come the keys of the host draws.
  GraphPtr graph;
  std::vector<HostDraw> draws;

  /// Evaluated by the reference evaluator in f32; the bits do not depend on `threads`.
  Literal value(int64_t key, int threads = 1) const;
};

/// The graph that the active initialiser on this thread builds, or null: `filled` and other sources
/// add their nodes to it.
Graph* graph_of_initializer();
/// The graph that draws a value of this type.
InitialGraph initial_graph(const Initializer& initializer, const Type& type, Where where);
/// Whether every target computes bit-identical results: after expanding composites, only exact
/// elementwise operations and data movement.
bool is_exact(const GraphPtr& graph);
/// The value, computed by the reference evaluator in f32.
Literal initial_value(const Initializer& initializer, const Type& type, int64_t key, Where where);
/// The key of a state, from `seed` and the state's name: adding a state does not change the others.
int64_t initial_key(uint64_t seed, std::string_view name);

}  // namespace graphc::core
