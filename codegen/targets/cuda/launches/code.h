// SPDX-License-Identifier: Apache-2.0
// CUDA text to kernels in a device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/compile.h"
#include "codegen/targets/cuda/text/kernel_text.h"
#include "runtime/cuda/device.h"
#include "runtime/files/file_cache.h"

namespace graphc::core::cuda {

/// A kernel and the module that it lives in.
struct LoadedKernel {
  Module module;
  Kernel kernel;
};

using KernelPtr = std::shared_ptr<const LoadedKernel>;

/// What is to become of texts.
struct CodeOptions {
  std::string architecture;  ///< as compile_text() takes it
  FileCache files;           ///< of what other processes have compiled
};

/// The texts' kernels, in their order. What this process has already is taken from its cache, the
/// images of other processes from their files; the other texts are compiled, several at a time, and
/// kept in files. The report gets the phases `codegen` and `link`, the numbers of kernels, and a
/// remark if no file can be written.
std::vector<KernelPtr> load_kernels(const DevicePtr& device, const std::vector<KernelText>& texts,
                                    const CodeOptions& options, CompileReport& report);

/// The options that every text is compiled with: no product and sum is joined, unless the text says
/// so, so that a value has the same bits wherever it is computed.
std::vector<std::string> compiler_options();

/// See Target::clear_code_cache and Target::objects_made.
void clear_code_cache();
int64_t kernels_made();

}  // namespace graphc::core::cuda
