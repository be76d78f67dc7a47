// SPDX-License-Identifier: Apache-2.0
// Groups of parameters with an optimizer each, as PyTorch's param_groups, updated together.
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

/// Parameters and the optimizer that updates them.
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

/// What is done to the gradients of all groups before an optimizer sees its own.
struct GroupOptions {
  std::optional<double> clip_norm = {};  ///< the limit of the global norm over all groups
  std::optional<double> clip_value =
      {};  ///< before that each element into [-clip_value, clip_value]
};

/// Assigns the parameters of each group one step of its optimizer; returns the gradients, group by
/// group. An optimizer's own `clip_norm` is of its group alone, after that of all. Throws
/// ErrorKind::input as minimize() of one optimizer, and for a parameter of two groups.
Values minimize(Value loss, const std::vector<ParamGroup>& groups, GroupOptions options = {},
                Where where = Where::here());

}  // namespace graphc::core
