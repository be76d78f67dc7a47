// SPDX-License-Identifier: Apache-2.0
// A user-defined op: a record is everything that graphc knows about an op.
#pragma once

#include "frontend/graphc.h"
#include "ir/ops/infer.h"

using namespace graphc::core;

/// x / (1 + |x|): in (-1, 1) like tanh, without an exponential.
inline constinit const Op softsign_op{
    .name = "softsign",
    .doc = "x / (1 + abs(x)) of each element.",
    .infer = [](const Node& node) -> std::vector<Type> {
      expect(node, 1);
      expect_floating(node, 0);
      return same_as_operand(node);
    },
    .scalar =
        [](const Node&, std::span<const Scalar> x) {
          return x[0] / (1 + emit(ScalarOp::abs, x[0].dtype(), x[0]));
        },
    // The derivative is 1 / (1 + |x|)^2.
    .vjp = [](const Node& node, std::span<const Value> dy) -> Values {
      return {dy[0] / square(1 + abs(node.operands[0]))};
    },
};

/// The function that users call. Errors carry their line.
inline Value softsign(Value x, Where where = Where::here()) {
  return apply1(softsign_op, {x}, {}, where);
}
