// SPDX-License-Identifier: Apache-2.0
// In which type ranks send what they sum.
#pragma once

#include "ir/graph.h"

namespace graphc::core {

/// The type in which ranks send the operands of an all_reduce of f32: f32, or bf16. Then what a
/// rank has, once it has added its own terms, is rounded, and the sum over the ranks once more.
inline DType sent_as(const Node& all_reduce) {
  return all_reduce.attributes.get_dtype("sent", DType::f32);
}

}  // namespace graphc::core
