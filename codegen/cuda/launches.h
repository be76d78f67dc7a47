// SPDX-License-Identifier: Apache-2.0
// A plan as launches: what the host puts into a stream for a step, fixed when it is compiled.
#pragma once

#include <vector>

#include "codegen/cuda/row_kernels.h"
#include "codegen/plan/position.h"

namespace graphc::cuda {

/// One launch of a kernel.
struct Launch {
  /// What it gives for a parameter.
  struct Value {
    KernelArgument::Kind kind = KernelArgument::Kind::number;
    int64_t number = 0;
    BufferPlace place;  ///< of an address
  };
  int kernel = 0;  ///< of Launches::kernels
  Grid grid;
  std::vector<Value> arguments;
  bool meets = false;  ///< its blocks wait for each other: as many as the device holds, or fewer
};

struct Launches {
  std::vector<KernelText> kernels;  ///< distinct
  std::vector<Launch> forms;        ///< that makes each of the plan's forms
  std::vector<Launch> step;
  std::vector<const TableCall*> tables;  ///< by Fault::record - 1
  int64_t scratch_bytes = 0;
};

/// The launches of a plan made for gpu_machine(), which outlives them. Every step of a loop has its
/// own.
Launches make_launches(const Plan& plan);

}  // namespace graphc::cuda
