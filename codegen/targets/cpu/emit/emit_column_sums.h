// SPDX-License-Identifier: Apache-2.0
// The loops of nests that iterate over the rows and reduce each column. LLVM's types appear by name
// only.
#pragma once

#include <vector>

#include "codegen/nest/program.h"
#include "codegen/targets/cpu/emit/emit_body.h"
#include "codegen/targets/cpu/emit/emit_loops.h"

namespace graphc::core::cpu {

/// Emits a nest of kind column_wise: strips of columns and, in each strip, all rows, a few at a
/// time.
///
/// The columns of a row in a strip are contiguous, so the processor prefetches them. The
/// accumulators of a strip, for every level of pieces (BodyEmitter::kTermsOfPiece), fit in the
/// first-level cache. With few rows (NestProgram::few_terms) the accumulators of a block of columns
/// stay in registers.
class ColumnSumsEmitter : private LoopEmitter {
 public:
  /// The arguments of `body` must be set, and its level `once` emitted.
  ColumnSumsEmitter(llvm::IRBuilderBase& builder, llvm::Function* function, BodyEmitter& body,
                    const NestProgram& program);

  void emit(const LoopRange& rows, const LoopRange& columns);

 private:
  /// Accumulators of a strip in memory, one for each vector of columns and each reduction.
  using Sums = llvm::Value*;

  llvm::Type* type_of(size_t reduction);
  int64_t bytes_of(size_t reduction);  ///< per column
  Sums make_sums();
  Value* place_of(Sums sums, I64 offset, size_t reduction);
  /// Emits body(offset in the strip, column) for all vectors of the strip.
  void for_each_vector(const std::function<void(I64, I64)>& body);
  void clear(Sums sums);
  void add(Sums from, Sums to);
  void emit_piece(size_t level, I64 begin, I64 end);
  void emit_rows(I64 begin, I64 end, int at_once);
  void store();
  /// The columns from `first` on, a vector for each mask: all rows at once, sums in registers.
  void emit_few_rows(const LoopRange& rows, I64 first, const Values& masks);

  BodyEmitter& body_;
  const int lanes_, vectors_;
  const bool few_rows_;
  const std::vector<BodyEmitter::Reduction> all_;
  int64_t strip_ = 0;       ///< in columns
  std::vector<Sums> sums_;  ///< for each level of pieces, the shortest first
  LoopRange columns_{};     ///< of the strip
};

}  // namespace graphc::core::cpu
