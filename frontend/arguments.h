// SPDX-License-Identifier: Apache-2.0
// What an executable takes for what a caller brings: lengths that are checked, sizes rounded up,
// element types of the precision, and the inputs that nobody brings.
#pragma once

#include "frontend/model.h"
#include "runtime/executable.h"

namespace graphc::core {

/// What is known of the inputs of one call beside their types.
struct InputRules {
  Extents extents;  ///< that named dims stand for, as the caller brings them
  std::vector<InputBound> bounds;
  std::map<std::string, std::string> lengths;  ///< see TracedGraph
};

InputRules rules_of(const TracedGraph& traced);

/// The inputs of the signature, in its order: those of the caller, in theirs, padded with 0 to the
/// signature's shapes. Throws ErrorKind::input for lengths that are out of bounds.
std::vector<Tensor> arguments_of(const Signature& signature, const InputRules& rules,
                                 const std::vector<Tensor>& inputs);

/// Throws ErrorKind::input, naming the row, for lengths that are out of bounds.
void check_lengths(const Tensor& lengths, const InputBound& bound);

/// A tensor of the shape whose elements are those of `from` at the same indices, and 0 where it has
/// none; `from` itself when it has the shape.
Tensor fitted(const Tensor& from, const Shape& shape);

}  // namespace graphc::core
