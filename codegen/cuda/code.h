// SPDX-License-Identifier: Apache-2.0
// CUDA text to kernels in a device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/cuda/kernel_text.h"
#include "runtime/cuda/device.h"

namespace graphc::cuda {

/// A kernel and the module that it lives in.
struct LoadedKernel {
  Module module;
  Kernel kernel;
};

/// What became of a list of texts.
struct LoadedCode {
  std::vector<std::shared_ptr<const LoadedKernel>> kernels;  ///< in the order of the texts
  double compile_s = 0;                                      ///< NVRTC
  double load_s = 0;                                         ///< into the device
  int64_t compiled = 0, cached = 0;
};

/// Compiles texts, several at a time, and loads them; what this process has already is taken from
/// its cache.
LoadedCode load_kernels(const DevicePtr& device, const std::vector<KernelText>& texts);

/// The options that every text is compiled with: no product and sum is joined, unless the text says
/// so, so that a value has the same bits wherever it is computed.
std::vector<std::string> compiler_options();

/// See Target::clear_code_cache and Target::objects_made.
void clear_code_cache();
int64_t kernels_made();

}  // namespace graphc::cuda
