// SPDX-License-Identifier: Apache-2.0
// The parameters of a nest's kernel: their kinds, their names, and the values that a call passes.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "codegen/step/plan.h"
#include "codegen/targets/cuda/text/text.h"

namespace graphc::core::cuda {

/// An additional destination of a store of a nest: the shared memory of every block of a cluster
/// (loop_exchange.h), which holds a left operand in the tiles that a product reads.
struct HandedOn {
  int operand = 0;         ///< the stored operand
  std::string to;          ///< the variable with the address of the left operand
  int64_t first_term = 0;  ///< the first of the left operand's terms that are stored
  int tile_rows = 0;       ///< rows of the product's tile
  /// Elements from one tile, row or term to the next.
  std::string tile_stride, row_stride, term_stride;
  int64_t blocks = 1;  ///< blocks per cluster
  bool operator==(const HandedOn&) const = default;
};

/// How an operand of a product comes to shared memory by asynchronous copies.
struct CopiedOperand {
  /// Whether memory has its terms side by side; otherwise its rows, or its columns.
  bool along_terms = true;
  int bytes = 16;  ///< of a copy: 4, 8 or 16
  bool operator==(const CopiedOperand&) const = default;
};

/// A product whose operands are copied several stages ahead (pipelined_form.h).
struct PipelinedForm {
  std::array<CopiedOperand, 2> operands;  ///< left and right
  std::vector<size_t> pairs;              ///< stores that write two columns at a time
  bool in_panels = false;                 ///< whether the right operand is
  bool operator==(const PipelinedForm&) const = default;
};

/// The properties of a call, besides its program, that determine the text of its kernel.
struct NestForm {
  int outer = 0;                      ///< number of outer axes
  std::vector<int64_t> panel_widths;  ///< of each product's right operand; 0: it is not in panels
  /// The numbers of rows and columns, only as far as they determine the tile size: 16, 32 or 64; 64
  /// or 128 where the product is pipelined.
  int tile_rows = 64, tile_columns = 64;
  /// Whether it is for the kernel of a loop whose blocks own rows and columns (loop_placement.h).
  bool owned = false;
  int staged_k = 0;  ///< terms in shared memory at a time; 0: as many as are useful
  std::optional<PipelinedForm> pipelined;
  bool far = false;  ///< whether 31 bits may not count the elements of a piece of a product
  size_t nest = 0;   ///< its number in the loop's kernel, if the blocks own rows and columns
  /// For each product, whether the block's columns of its right operand stay in shared memory
  /// during the whole loop, in the variable resident_name(); otherwise they are read in every step.
  std::vector<bool> resident;
  /// The same for its left operand in this step, in exchanged_name().
  std::vector<bool> exchanged;
  std::vector<HandedOn> handed_on;
  bool operator==(const NestForm&) const = default;
  std::string resident_name(size_t product) const;
  std::string exchanged_name(size_t product) const;
  /// Equal for calls that share a kernel of their own or a part of a merged one, given equal
  /// programs.
  std::string key() const;
};
NestForm form_of(const NestCall& call);
/// The same for the kernel of a loop whose blocks divide each nest anew. The pieces of all its
/// nests are in shared memory, so they are short.
NestForm streamed_form_of(const NestCall& call);

/// The kinds of parameters. Strides are in elements of the operand. A stride is a parameter only if
/// the program moves along it.
enum class ParameterKind : uint8_t {
  base,     ///< start of an operand; for an iota its first index
  literal,  ///< the number
  row,      ///< strides of an operand
  part,
  column,
  outer,  ///< ... along an outer axis
  left,   ///< start of the left operand of a product
  left_row,
  left_k,
  left_outer,
  right_outer,
  right,    ///< start of the right operand
  right_k,  ///< strides of the right operand, unless it is in panels
  right_part,
  right_column,
  right_block,  ///< from one block of panels to the next
  k,            ///< number of terms of a product
  rows,
  columns,
  extent,  ///< of an outer axis
};

struct Parameter {
  ParameterKind kind = ParameterKind::base;
  int index = 0;     ///< of the operand or product
  int axis = 0;      ///< outer axis
  std::string type;  ///< "const float*"
  std::string name;
};

/// The parameters of a program's kernel. Their names are those of the buffers of `call`, one of the
/// calls that use the kernel.
std::vector<Parameter> parameters_of(const Plan& plan, const NestCall& call);
/// The same for several nests in one kernel: names are made unique by `names`. `rows`, `columns`
/// and extents have the same names in each nest.
std::vector<Parameter> parameters_of(const Plan& plan, const NestCall& call, Names& names);

/// The value that a call passes for a parameter that is not an address: a number in its first
/// bytes.
int64_t number_for(const Parameter& parameter, const Plan& plan, const NestCall& call);
/// The element type that a parameter of address kind points to.
DType dtype_of(const Parameter& parameter, const NestProgram& program);
/// The address for a parameter of address kind: base (not of an iota), left or right.
const Address* address_for(const Parameter& parameter, const Plan& plan, const NestCall& call);

}  // namespace graphc::core::cuda
