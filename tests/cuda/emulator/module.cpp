// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulator/module.h"

#include <utility>

#include "ir/error.h"
#include "tests/cuda/emulator/code.h"
#include "tests/cuda/emulator/compiler.h"
#include "tests/cuda/emulator/parser.h"

namespace graphc::core::cuda_emulator {

Kernel::Kernel(std::unique_ptr<const Program> program) : program_(std::move(program)) {}
Kernel::~Kernel() = default;

const std::string& Kernel::name() const { return program_->name; }
const std::vector<ParameterType>& Kernel::parameters() const { return program_->parameters; }
unsigned Kernel::most_threads() const { return program_->most_threads; }
size_t Kernel::static_shared() const { return program_->static_shared; }
size_t Kernel::local_bytes() const { return program_->local_bytes; }

Module::Module(std::string_view text, std::string_view name) {
  const Functions functions = Parser(text, intern_file_name(name)).functions();
  for (const auto& function : functions)
    if (function->is_kernel)
      kernels_.push_back(std::make_unique<const Kernel>(Compiler(*function).program()));
}

Module::~Module() = default;

const Kernel* Module::find(std::string_view name) const {
  for (const auto& kernel : kernels_)
    if (kernel->name() == name) return kernel.get();
  return nullptr;
}

std::vector<std::string> Module::kernels() const {
  std::vector<std::string> names;
  for (const auto& kernel : kernels_) names.push_back(kernel->name());
  return names;
}

}  // namespace graphc::core::cuda_emulator
