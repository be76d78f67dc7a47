// SPDX-License-Identifier: Apache-2.0
// The product of a nest by cuBLASLt, and the rest of the nest as a separate kernel.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "codegen/step/footprint.h"
#include "codegen/targets/cuda/launch.h"
#include "codegen/targets/cuda/text/kernel_text.h"
#include "runtime/cuda/cublaslt.h"

namespace graphc::core::cuda {

/// An alternative to the kernel of a nest: the product by the library, then the rest, which reads
/// the product from scratch memory. A nest that consists only of its product has no rest.
struct LibraryForm {
  ProductShape shape;
  LaunchValue left, right, result;
  std::optional<Launch> rest;
  /// The library's access that replaces one of the record: it reads a state instead of the state's
  /// panels.
  std::optional<MemoryAccess> instead;
};

/// Finds the nests of a plan that cuBLASLt can compute in part: those with one product of f32 or of
/// bf16 whose operands are matrices in memory that the library can read.
class LibraryForms {
 public:
  /// The plan must outlive it.
  explicit LibraryForms(const Plan& plan);

  /// The library's part of the call: operands and strides; nothing if the library cannot compute
  /// it.
  struct Found {
    ProductShape shape;
    Address left, right;
    const Address* result = nullptr;  ///< destination of the product; null: there is a rest
    NestCall rest;                    ///< of rest_plan()
  };
  /// `record` is the index of the plan's record that contains the call, with the loops around it.
  std::optional<Found> find(const NestCall& call, size_t record);

  /// A plan with the buffers of the plan and the programs of the rests. Its last buffer represents
  /// scratch memory.
  const Plan& rest_plan() const { return rests_; }
  /// Bytes of scratch memory for a product.
  static int64_t scratch_bytes(const ProductShape& shape);

 private:
  bool find_operands(const NestCall& call, size_t record, Found& found) const;
  void make_rest(const NestCall& call, Found& found);

  const Plan& plan_;
  std::map<int, size_t> first_write_;  ///< for each buffer, the first record that writes it
  Plan rests_;
  std::map<int, int> rest_programs_;  ///< by program of the original plan
};

}  // namespace graphc::core::cuda
