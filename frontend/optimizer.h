// SPDX-License-Identifier: Apache-2.0
// Optimizers: assignments of parameters, written in the operations users have. A rate is a number,
// an input of the graph or an expression of states: changing it compiles nothing again.
#pragma once

#include <optional>

#include "frontend/state.h"

namespace graphc {

/// sqrt of the sum of the squares of all elements: f32[].
Value global_norm(const Values& gradients, Where where = Where::here());

/// Each gradient times limit / max(norm, limit): their global norm is at most `limit` after it.
/// `norm` is used in the place of their own global norm when it is given.
Values clip_by_global_norm(const Values& gradients, Operand limit, Value norm = {},
                           Where where = Where::here());

/// Stochastic gradient descent: p = p - rate * gradient.
struct Sgd {
  Operand rate = 0.01;
  std::optional<double> clip_norm = {};  ///< clip the gradients by their global norm first

  void update(const Params& params, const Values& gradients, Where where = Where::here()) const;
};

/// Assigns the parameters one step down the gradient of the loss; returns the gradients.
Values minimize(Value loss, const Params& params, const Sgd& optimizer,
                Where where = Where::here());

}  // namespace graphc
