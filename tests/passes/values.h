// SPDX-License-Identifier: Apache-2.0
// What tests of passes share: random arguments, the same values before and after, gradients against
// finite differences. Everything is evaluated in f64.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/evaluate.h"
#include "ir/graph.h"

namespace graphc::core::testing {

struct Arguments {
  std::vector<Literal> inputs;
  std::map<std::string, Literal> states;
};

/// Floats of all different values in [low, high), integers in [0, index_limit), random bools.
struct Ranges {
  double low = -1, high = 1;
  int64_t index_limit = 2;
};
Arguments random_arguments(const Graph& graph, unsigned seed, const Ranges& ranges = {});

/// The graph after the passes of the list.
GraphPtr after(const GraphPtr& graph, std::string_view passes);

/// Expects results and `next` of both graphs, for the same random arguments, to agree to
/// `tolerance`.
void expect_same_values(const GraphPtr& a, const GraphPtr& b, unsigned seed,
                        double tolerance = 1e-6, const Ranges& ranges = {});

/// The graph whose results are one number made of all floating-point results of `graph`, each
/// element weighed differently, and then the gradient of that number with respect to every
/// floating-point input and state.
GraphPtr with_gradients(const GraphPtr& graph);

/// Expects that the gradients, made by `passes` (which contain autodiff), agree with central
/// differences along kDirections random directions; returns the largest derivative seen. A
/// direction in which the differences forwards and backwards disagree, as they do at a kink or a
/// jump, is left out and counted in `kinks`, or a failure where that is not asked for.
double expect_gradients(const GraphPtr& graph, std::string_view passes, unsigned seed,
                        const Ranges& ranges = {}, int* kinks = nullptr);
inline constexpr unsigned kDirections = 2;

/// The sum of the products of their elements, in f64.
double dot(const Literal& a, const Literal& b);

/// How many nodes of the op there are, in the graph and in its regions.
int count(const Graph& graph, std::string_view op);
/// The same without regions.
int count_here(const Graph& graph, std::string_view op);

}  // namespace graphc::core::testing
