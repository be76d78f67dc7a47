// SPDX-License-Identifier: Apache-2.0
// Compiles CUDA text and loads the kernels on a device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/compile.h"
#include "codegen/targets/cuda/text/kernel_text.h"
#include "runtime/cuda/device.h"
#include "runtime/files/file_cache.h"

namespace graphc::core::cuda {

/// A kernel and the module that contains it.
struct LoadedKernel {
  Module module;
  Kernel kernel;
};

using KernelPtr = std::shared_ptr<const LoadedKernel>;

/// How texts are compiled.
struct CodeOptions {
  std::string architecture;  ///< as compile_text() expects it
  FileCache files;           ///< cache of images compiled by other processes
};

/// The texts' kernels, in order. Kernels are taken from this process's cache or loaded from the
/// files of other processes; the remaining texts are compiled in parallel and stored in files. Adds
/// the stages `codegen` and `link` and the numbers of kernels to the report, and a remark if no
/// file can be written.
std::vector<KernelPtr> load_kernels(const DevicePtr& device, const std::vector<KernelText>& texts,
                                    const CodeOptions& options, CompileReport& report);

/// The options with which every text is compiled. They prevent the contraction of a product and a
/// sum unless the text requests it, so that a value has the same bits wherever it is computed.
std::vector<std::string> compiler_options();

/// See Target::clear_code_cache and Target::objects_made.
void clear_code_cache();
int64_t kernels_made();

}  // namespace graphc::core::cuda
