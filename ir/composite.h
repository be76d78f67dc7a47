// SPDX-License-Identifier: Apache-2.0
// Composites: ops whose meaning is a body in our own text, instantiated for the operands' types.
//
// In a body `$name` stands for the node's attribute `name` and `$name:default` for it or the
// default; for a parameter %x, `$x.shape` is its shape as a list, `$x.dtype` its dtype, `$x.last`
// its last axis, `$x.width` the extent of that axis, `$x.axes` the list of its axes, `$x.column`
// its extents followed by 1, without brackets, `$x.rotated` the permutation that brings the first
// axis behind the others, `$x.index` an integer dtype that holds whatever integers %x holds and
// counts on beyond them, and `$x.mirror` the number with which neg(%x) - `$x.mirror` reverses the
// order of all numbers of the dtype, which -x does not do for integers: -0 is the least unsigned
// one still, and the least signed one has no negative. `$x.lowest` is the least number of the
// dtype: -inf of floats.
#pragma once

#include "ir/graph.h"

namespace graphc::core {

/// The body of a composite node for its operands' types and attributes: a graph whose inputs are
/// the operands. Throws ErrorKind::input when they do not fit.
GraphPtr body_of(const Node& node);

/// The `infer` of composites: the types of the body's results.
std::vector<Type> infer_by_body(const Node& node);

}  // namespace graphc::core
