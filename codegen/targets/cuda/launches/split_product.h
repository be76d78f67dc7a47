// SPDX-License-Identifier: Apache-2.0
// Products of few tiles and many terms: blocks divide the terms, too.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "codegen/step/plan.h"

namespace graphc::core::cuda {

/// A nest with one product as two: each part of the terms is summed by blocks of its own, to
/// scratch memory; then the rest of the nest adds the parts in their order. Both calls are of
/// `plan`, whose last buffer stands for the scratch memory.
struct SplitProduct {
  std::shared_ptr<const Plan> plan;
  NestCall product, rest;
  int64_t parts = 0;          ///< of the terms, all equal
  int64_t scratch_bytes = 0;  ///< of the sums, [parts, rows, columns] of f32
};

/// Finds the products of a plan that are worth it: pipelined ones (text/pipelined_form.h) whose
/// tiles leave multiprocessors idle for longer than the rest takes as a launch of its own.
class SplitProducts {
 public:
  /// The plan must outlive it. `shared_bytes` is what a block has.
  SplitProducts(const Plan& plan, int64_t shared_bytes)
      : plan_(plan), shared_bytes_(shared_bytes) {}

  /// The call as two; null: it stays one launch.
  std::shared_ptr<const SplitProduct> find(const NestCall& call);

 private:
  int64_t parts_of(const NestCall& call) const;
  NestCall product_of(const NestCall& call, int64_t parts) const;
  int program_of_product(const NestCall& call);
  int program_of_rest(const NestCall& call, int64_t parts);

  const Plan& plan_;
  const int64_t shared_bytes_;
  std::shared_ptr<Plan> split_;  ///< null until there is a product
  std::map<int, int> products_;  ///< programs of products, by those of calls
  std::map<std::pair<int, int64_t>, int> rests_;
};

}  // namespace graphc::core::cuda
