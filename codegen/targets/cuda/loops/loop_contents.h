// SPDX-License-Identifier: Apache-2.0
// What the shared memory of a block, and its registers, hold before the first step of a loop whose
// blocks own rows and columns.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/targets/cuda/loops/loop_placement.h"
#include "codegen/targets/cuda/loops/owned_ranges.h"
#include "codegen/targets/cuda/text/kernel_text.h"

namespace graphc::core::cuda {

/// A nest of the body with its parameters, whose names are unique among the nests.
struct LoopNest {
  const NestCall* call = nullptr;
  const NestProgram* program = nullptr;
  std::vector<Parameter> parameters;
  Grid grid;  ///< as in a separate launch
};

/// Writes the text that fills them.
class LoopContents {
 public:
  /// `bases`: by pointer of a nest, the kernel's parameter it comes from.
  LoopContents(const LoopPlacement& placement, const OwnedRanges& ranges,
               const std::vector<LoopNest>& nests, const std::map<std::string, std::string>& bases)
      : placement_(placement), ranges_(ranges), nests_(nests), bases_(bases) {}

  void write(TextWriter& before) const;

 private:
  void write_resident(TextWriter& before, const ResidentMatrix& matrix) const;
  void write_exchange(TextWriter& before, const Exchange& exchange) const;
  void write_counted(TextWriter& before, const CountedProduct& product) const;
  /// Brings the pointer to a product's right operand into scope.
  void bind_right(TextWriter& before, size_t nest, size_t product) const;

  const LoopPlacement& placement_;
  const OwnedRanges& ranges_;
  const std::vector<LoopNest>& nests_;
  const std::map<std::string, std::string>& bases_;
};

}  // namespace graphc::core::cuda
