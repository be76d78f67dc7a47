// SPDX-License-Identifier: Apache-2.0
// Composites: ops defined by a body in our own text, instantiated for the operands' types.
//
// In a body, `$name` is the node's attribute `name`, and `$name:default` is the attribute or the
// default. For a parameter %x: `$x.shape` is its shape as a list; `$x.dtype` its dtype; `$x.last`
// its last axis; `$x.width` the extent of that axis; `$x.axes` the list of its axes; `$x.column`
// its extents followed by 1, without brackets; `$x.rotated` the permutation that moves the first
// axis to the end; `$x.index` an integer dtype that can represent every integer of %x and count
// beyond; `$x.mirror` the number for which neg(%x) - `$x.mirror` reverses the order of all numbers
// of the dtype (plain -x does not for integers: -0 is still the smallest unsigned one, and the
// smallest signed one has no negative); `$x.lowest` the smallest number of the dtype, -inf for
// floats.
#pragma once

#include "ir/graph.h"

namespace graphc::core {

/// The body of a composite node for its operand types and attributes: a graph whose inputs are the
/// operands. Throws ErrorKind::input if they do not fit.
GraphPtr body_of(const Node& node);

/// The `infer` of composites: the result types of the body.
std::vector<Type> infer_by_body(const Node& node);

}  // namespace graphc::core
