// SPDX-License-Identifier: Apache-2.0
// Products whose operands come to shared memory by asynchronous copies (PTX ISA, "cp.async"),
// several stages ahead: no registers hold them on their way, and the loads of one stage are hidden
// by the products of those before it. Operands lie as in memory, lines of terms, or terms of lines;
// fragments come from there by ldmatrix, transposed where terms are not side by side.
#pragma once

#include <string>
#include <vector>

#include "codegen/targets/cuda/text/kernel_text.h"

namespace graphc::core::cuda::internal {

/// The device functions that it calls, as text.
std::string pipelined_functions(const NestForm& form);
/// The body of the kernel of a nest whose form is pipelined, without the braces. It takes the
/// dynamic shared memory of PipelineLayout::all().
std::string pipelined_body(const NestProgram& program, const std::vector<Parameter>& parameters,
                           const NestForm& form, NestGrid& grid);

}  // namespace graphc::core::cuda::internal
