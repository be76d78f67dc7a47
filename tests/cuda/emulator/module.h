// SPDX-License-Identifier: Apache-2.0
// A text of CUDA C++ as the emulator holds it: parsed, checked and compiled once, run often.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace graphc::core::cuda_emulator {

struct Program;

/// A parameter of a kernel as cuLaunchKernel reads it.
struct ParameterType {
  size_t size = 0;  ///< bytes
  bool pointer = false;
};

/// One `extern "C" __global__` function. Immutable; lives as long as its module.
class Kernel {
 public:
  explicit Kernel(std::unique_ptr<const Program> program);
  ~Kernel();

  const std::string& name() const;
  const std::vector<ParameterType>& parameters() const;  ///< in order
  unsigned most_threads() const;                         ///< of a block: its __launch_bounds__
  size_t static_shared() const;                          ///< bytes of its own shared memory
  size_t local_bytes() const;                            ///< of a thread
  const Program& program() const { return *program_; }

 private:
  std::unique_ptr<const Program> program_;
};

/// The functions of one text. Immutable once parsed; several threads may run its kernels.
class Module {
 public:
  /// Throws ErrorKind::input, "NAME:LINE:COLUMN: error: found X, wanted Y", at what is outside the
  /// subset that README.md describes.
  explicit Module(std::string_view text, std::string_view name = "text");
  ~Module();

  const Kernel* find(std::string_view name) const;  ///< null: there is none
  std::vector<std::string> kernels() const;         ///< names, in the text's order

 private:
  std::vector<std::unique_ptr<const Kernel>> kernels_;
};

}  // namespace graphc::core::cuda_emulator
