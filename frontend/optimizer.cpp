// SPDX-License-Identifier: Apache-2.0
#include "frontend/optimizer.h"

#include "frontend/functions.h"

namespace graphc {

Value global_norm(const Values& gradients, Where where) {
  if (gradients.empty()) throw input_error(where, "global_norm: takes at least one gradient");
  const WhereScope scope(where);
  Value total = sum(square(gradients[0]));
  for (size_t i = 1; i < gradients.size(); ++i) total = total + sum(square(gradients[i]));
  return sqrt(total);
}

Values clip_by_global_norm(const Values& gradients, Operand limit, Value norm, Where where) {
  const WhereScope scope(where);
  if (!norm) norm = global_norm(gradients, where);
  // Not limit / norm bounded by 1: at norm 0 that is a quotient by zero.
  const Value factor = limit / maximum(norm, limit);
  Values clipped;
  for (Value gradient : gradients) clipped.push_back(gradient * factor);
  return clipped;
}

void Sgd::update(const Params& params, const Values& gradients, Where where) const {
  if (params.size() != gradients.size()) {
    throw input_error(where, "sgd: {} parameters and {} gradients", params.size(),
                      gradients.size());
  }
  const WhereScope scope(where);
  const Values steps =
      clip_norm ? clip_by_global_norm(gradients, *clip_norm, {}, where) : gradients;
  for (size_t i = 0; i < params.size(); ++i) {
    Param param = params[i];
    param = param - rate * steps[i];
  }
}

Values minimize(Value loss, const Params& params, const Sgd& optimizer, Where where) {
  const Values d = gradients(loss, params, where);
  optimizer.update(params, d, where);
  return d;
}

}  // namespace graphc
