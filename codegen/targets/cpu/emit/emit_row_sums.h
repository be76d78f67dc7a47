// SPDX-License-Identifier: Apache-2.0
// The loops of nests that reduce the few columns of each row. LLVM's types appear by name only.
#pragma once

#include <vector>

#include "codegen/nest/program.h"
#include "codegen/targets/cpu/emit/emit_body.h"
#include "codegen/targets/cpu/emit/emit_loops.h"

namespace graphc::core::cpu {

/// Emits a nest of kind row_wise with few terms (NestProgram::few_terms): groups of as many rows as
/// a vector has lanes.
///
/// A row of few columns ends in the sum of one vector's lanes, which takes longer than its terms.
/// The vectors of a group are transposed while they are summed, so a group costs about what one row
/// does, and its sums are stored as one vector. Rows of a group are computed a few at a time, which
/// read what does not depend on the row once.
class RowSumsEmitter : private LoopEmitter {
 public:
  /// The arguments of `body` must be set, and its level `once` emitted.
  RowSumsEmitter(llvm::IRBuilderBase& builder, llvm::Function* function, BodyEmitter& body,
                 const NestProgram& program);

  void emit(const LoopRange& rows, const LoopRange& columns);

 private:
  using Places = std::vector<BodyEmitter::Place>;

  /// The rows of a range, some at a time, of the group that begins at `group`.
  void emit_rows(I64 group, const LoopRange& rows, int at_once);
  /// Columns of some rows: adds them to `sums`, those of one row after those of another.
  Values emit_columns(Places rows, const LoopRange& columns, bool masked, const Values& sums);
  /// The address of a row's accumulator in the memory of its group.
  llvm::Value* place_of(size_t reduction, I64 row_in_group);
  llvm::Type* type_of(size_t reduction);
  int64_t bytes_of(size_t reduction);  ///< of an accumulator

  BodyEmitter& body_;
  const int lanes_;
  const std::vector<BodyEmitter::Reduction> all_;
  std::vector<llvm::Value*> groups_;  ///< of each reduction, the accumulators of a group's rows
  LoopRange columns_{};
  llvm::Value* whole_ = nullptr;  ///< the end of the whole vectors of a row
};

}  // namespace graphc::core::cpu
