// SPDX-License-Identifier: Apache-2.0
// Groups of parameters with one optimizer each, updated together, like PyTorch's param_groups.
//
//   minimize(loss, {{body.params(), Sgd{.rate = 0.01}}, {head.params(), Adam{}}}, {.clip_norm =
//   5});
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "frontend/optimizer.h"

namespace graphc::core {

/// Parameters and their optimizer.
struct ParamGroup {
  template <typename Optimizer>
    requires requires(const Optimizer& o, const Params& p, const Values& g) { o.update(p, g); }
  ParamGroup(Params which, Optimizer optimizer)
      : params(std::move(which)),
        update([o = std::move(optimizer)](const Params& p, const Values& g, Where where) {
          o.update(p, g, where);
        }) {}

  Params params;
  std::function<void(const Params& params, const Values& gradients, Where where)> update;
};

/// Clipping over the gradients of all groups, before each optimizer sees its own.
struct GroupOptions {
  std::optional<double> clip_norm = {};  ///< the limit of the global norm over all groups
  std::optional<double> clip_value =
      {};  ///< before that each element into [-clip_value, clip_value]
};

/// Assigns each group's parameters one step of its optimizer; returns the gradients, group by
/// group. An optimizer's own `clip_norm` applies to its group alone, after the global one. Throws
/// ErrorKind::input as minimize() with one optimizer does, and for a parameter in two groups.
Values minimize(Value loss, const std::vector<ParamGroup>& groups, GroupOptions options = {},
                Where where = Where::here());

}  // namespace graphc::core
