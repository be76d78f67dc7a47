// SPDX-License-Identifier: Apache-2.0
// Turns a caller's inputs into an executable's arguments: checks lengths, pads rounded-up sizes,
// converts element types to the precision, and adds the inputs that the caller does not pass.
#pragma once

#include "frontend/model.h"
#include "runtime/executable.h"

namespace graphc::core {

/// What one call knows about its inputs besides their types.
struct InputRules {
  Extents extents;  ///< extents of the named dims, as the caller passes them
  std::vector<InputBound> bounds;
  std::map<std::string, std::string> lengths;  ///< see TracedGraph
};

InputRules rules_of(const TracedGraph& traced);

/// The inputs of the signature, in its order. The caller's inputs are padded with 0 to the
/// signature's shapes. Throws ErrorKind::input for lengths that are out of bounds.
std::vector<Tensor> arguments_of(const Signature& signature, const InputRules& rules,
                                 const std::vector<Tensor>& inputs);

/// The same for a run on a GPU. Inputs in its memory stay there and must have the signature's
/// types. Lengths are read from it, after the work that is in `stream` now.
std::vector<AnyTensor> arguments_on_device(const Signature& signature, const InputRules& rules,
                                           const std::vector<AnyTensor>& inputs,
                                           DeviceStream stream);

/// Throws ErrorKind::input, naming the row, for lengths that are out of bounds. Those on a GPU are
/// read after the work that is in `stream` now.
void check_lengths(const AnyTensor& lengths, const InputBound& bound, DeviceStream stream = 0);

/// A tensor of this shape with the elements of `from` at the same indices and 0 elsewhere; `from`
/// itself if it already has the shape.
Tensor fitted(const Tensor& from, const Shape& shape);

}  // namespace graphc::core
