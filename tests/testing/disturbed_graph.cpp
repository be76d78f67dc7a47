// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/disturbed_graph.h"

#include "ir/build.h"
#include "ir/composite.h"
#include "ir/rewrite.h"
#include "ir/scan.h"
#include "tests/testing/rounding_bound.h"
#include "tests/testing/rounding_bound_scalar.h"

namespace graphc::core::testing {
namespace {

/// The golden angle: neighbours are far apart, and no two elements have the same angle.
constexpr double kGoldenAngle = 2.39996322972865332;

class Disturber {
 public:
  explicit Disturber(double turn) : turn_(turn) {}

  GraphPtr graph(const Graph& from, bool inputs) {
    auto to = std::make_unique<Graph>(from.name());
    Values arguments;
    for (Value input : from.inputs()) {
      const Value same = to->input(input.type(), input.name());
      arguments.push_back(inputs ? disturbed(same, *to) : same);
    }
    to->set_results(body(from, arguments, *to));
    return freeze(std::move(to));
  }

 private:
  Values body(const Graph& from, const Values& arguments, Graph& to) {
    return inline_graph(from, arguments, to,
                        [this](const Node& node, const Values& operands, Graph& graph) {
                          return replaced(node, operands, graph);
                        });
  }

  std::optional<Values> replaced(const Node& node, const Values& operands, Graph& to) {
    if (is_composite(node.op)) return body(*body_of(node), operands, to);
    const bool loop = node.is(ops::scan);
    if (!loop && moves_elements(node)) return std::nullopt;
    const Node& copy = loop ? copy_node(node, operands, to, {graph(Scan(node).body(), false)})
                            : copy_node(node, operands, to);
    Values results;
    for (int i = 0; i < copy.results(); ++i)
      results.push_back(loop ? copy.result(i) : disturbed(copy.result(i), to));
    return results;
  }

  Value disturbed(Value value, Graph& to) {
    if (value.dtype() != DType::f32) return value;
    const Shape& shape = value.shape();
    const Value position = cast(iota(to, Shape{shape.elements()}), DType::f32);
    const Value angle = reshape(position * kGoldenAngle, shape) + (turn_ + double(++values_));
    return value * (sin(angle) * kUnitRoundoff + 1.0);
  }

  double turn_;
  int values_ = 0;
};

}  // namespace

GraphPtr disturbed_graph(const Graph& graph, double turn) {
  return Disturber(turn).graph(graph, true);
}

}  // namespace graphc::core::testing
