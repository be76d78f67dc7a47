// SPDX-License-Identifier: Apache-2.0
#include "codegen/cuda/machine.h"

#include <limits>

namespace graphc::cuda {

Machine gpu_machine() {
  Machine machine;
  machine.target = "the CUDA target";
  machine.lanes = 32;
  machine.registers = 32;
  machine.workers = 1;
  // A launch of a few rows at a time would leave most of the GPU without work.
  machine.block_bytes = std::numeric_limits<int64_t>::max() / 4;
  machine.products = {{DType::f32, DType::f32, DType::f32, 1},
                      {DType::f64, DType::f64, DType::f64, 1}};
  return machine;
}

}  // namespace graphc::cuda
