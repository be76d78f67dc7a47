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

Gpu gpu_of(std::string_view architecture) {
  Gpu gpu;
  const auto is = [&](std::string_view name) { return architecture.starts_with(name); };
  if (architecture.empty() || is("sm_90")) return gpu;
  // CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": shared memory
  // of a block. Multiprocessors: A100, A10, L40, B200.
  if (is("sm_80")) return {.multiprocessors = 108, .shared_bytes = 163 << 10};
  if (is("sm_86")) return {.multiprocessors = 72, .shared_bytes = 99 << 10};
  if (is("sm_89")) return {.multiprocessors = 142, .shared_bytes = 99 << 10};
  if (is("sm_10")) return {.multiprocessors = 148, .shared_bytes = 227 << 10};
  // What every GPU has that the text is for.
  return {.multiprocessors = 40, .shared_bytes = 64 << 10};
}

}  // namespace graphc::cuda
