// SPDX-License-Identifier: Apache-2.0
#include "frontend/param_groups.h"

#include "frontend/intervals.h"

namespace graphc::core {

Values minimize(Value loss, const std::vector<ParamGroup>& groups, GroupOptions options,
                Where where) {
  expect_training("minimize", where);
  if (options.clip_norm) expect_in("minimize", "clip_norm", *options.clip_norm, kAboveZero, where);
  if (options.clip_value)
    expect_in("minimize", "clip_value", *options.clip_value, kAboveZero, where);
  Params all;
  for (const ParamGroup& group : groups) {
    expect_distinct("minimize", group.params, where);
    all = all + group.params;
  }
  expect_distinct("minimize", all, where);
  expect_none_declared_later(loss, all, where);
  const Values computed = gradients(loss, all, where);
  Values used = computed;
  if (options.clip_value) used = clip_by_value(used, *options.clip_value, where);
  if (options.clip_norm) used = clip_by_global_norm(used, *options.clip_norm, {}, where);
  auto first = used.begin();
  for (const ParamGroup& group : groups) {
    const auto last = first + std::ptrdiff_t(group.params.size());
    group.update(group.params, Values(first, last), where);
    first = last;
  }
  return computed;
}

}  // namespace graphc::core
