// SPDX-License-Identifier: Apache-2.0
// The product of a nest by cuBLASLt, and the rest of the nest as a kernel of its own.
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

/// A way to do a nest beside its kernel: the product by the library, then the rest, which reads the
/// product from scratch memory. A nest that is nothing but its product has no rest.
struct LibraryForm {
  ProductShape shape;
  LaunchValue left, right, result;
  std::optional<Launch> rest;
  /// What the library reads in the place of what the record does: a state for its panels.
  std::optional<MemoryAccess> instead;
};

/// Finds what nests of a plan cuBLASLt can take part in: those of one product of f32 or of bf16,
/// whose operands lie as matrices, in memory that the library can read.
class LibraryForms {
 public:
  /// The plan outlives it.
  explicit LibraryForms(const Plan& plan);

  /// What a library does of the call: operands and strides; nothing where it cannot.
  struct Found {
    ProductShape shape;
    Address left, right;
    const Address* result = nullptr;  ///< where the product goes; null: there is a rest
    NestCall rest;                    ///< of rest_plan()
  };
  /// `record` is the number of the plan's record that the call is in, with the loops around it.
  std::optional<Found> find(const NestCall& call, size_t record);

  /// A plan with the buffers of the plan and the programs of the rests. Its last buffer stands for
  /// scratch memory.
  const Plan& rest_plan() const { return rests_; }
  bool is_scratch(const Address& address) const {
    return address.buffer == int(rests_.buffers.size()) - 1;
  }
  /// Bytes of scratch memory that a product takes.
  static int64_t scratch_bytes(const ProductShape& shape);

 private:
  bool find_operands(const NestCall& call, size_t record, Found& found) const;
  void make_rest(const NestCall& call, Found& found);

  const Plan& plan_;
  std::map<int, size_t> first_write_;  ///< of buffers, the record
  Plan rests_;
  std::map<int, int> rest_programs_;  ///< by program of the plan
};

}  // namespace graphc::core::cuda
