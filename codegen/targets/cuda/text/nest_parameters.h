// SPDX-License-Identifier: Apache-2.0
// The parameters of a nest's kernel: which there are, what they are called, and what a call gives
// for each.
#pragma once

#include <string>
#include <vector>

#include "codegen/step/plan.h"
#include "codegen/targets/cuda/text/text.h"

namespace graphc::core::cuda {

/// Where a store of a nest also goes: into the shared memory of every block of a cluster
/// (loop_exchange.h), where a left operand lies in the tiles that a product reads.
struct HandedOn {
  int operand = 0;         ///< that is stored
  std::string to;          ///< the variable that says where the left operand lies
  int64_t first_term = 0;  ///< the first of its terms that are stored
  int tile_rows = 0;       ///< of the product
  /// Elements from one of them to the next.
  std::string tile_stride, row_stride, term_stride;
  int64_t blocks = 1;  ///< of the cluster
  bool operator==(const HandedOn&) const = default;
};

/// What of a call, besides its program, decides the text of its kernel.
struct NestForm {
  int outer = 0;                      ///< axes around the rows
  std::vector<int64_t> panel_widths;  ///< of each product's right operand; 0: it lies as a matrix
  /// Rows and columns as far as they decide how large a tile is: 16, 32 or 64.
  int tile_rows = 64, tile_columns = 64;
  /// In the kernel of a loop whose blocks own rows and columns (loop_placement.h).
  bool owned = false;
  int staged_terms = 0;  ///< of k that lie in shared memory at a time; 0: as many as are of use
  /// For each product the variable that has the block's columns of its right operand during the
  /// whole loop; empty: they are read in every step.
  std::vector<std::string> held;
  /// The same of its left operand in this step.
  std::vector<std::string> exchanged;
  std::vector<HandedOn> handed_on;
  bool operator==(const NestForm&) const = default;
  /// Equal for calls that share a kernel, given equal programs.
  std::string key() const;
};
NestForm form_of(const NestCall& call);
/// The same in the kernel of a loop whose blocks share out each nest anew: the pieces of all its
/// nests lie in shared memory, so they are short.
NestForm streamed_form_of(const NestCall& call);

/// What a parameter is. Strides are in elements of what they are a stride of, and a stride is only
/// a parameter where the program moves along it.
enum class ParameterKind : uint8_t {
  base,     ///< where an operand begins; of an iota the index there
  literal,  ///< the number
  row,      ///< strides of an operand
  part,
  column,
  outer,  ///< ... along an axis around the rows
  left,   ///< where the left operand of a product begins
  left_row,
  left_k,
  left_outer,
  right,    ///< where the right operand begins
  right_k,  ///< strides of the right operand, unless it lies in panels
  right_part,
  right_column,
  right_block,  ///< from one block of panels to the next
  terms,        ///< how many a product has: k
  rows,
  columns,
  extent,  ///< of an axis around the rows
};

struct Parameter {
  ParameterKind kind = ParameterKind::base;
  int index = 0;     ///< of the operand or product
  int axis = 0;      ///< around the rows
  std::string type;  ///< "const float*"
  std::string name;
};

/// The parameters of a program's kernel. Names are those of the buffers of `call`, one of the calls
/// that the kernel is for.
std::vector<Parameter> parameters_of(const Plan& plan, const NestCall& call);
/// The same where several nests stand in one kernel: names that `names` has not made yet. `rows`,
/// `columns` and extents are called so in each.
std::vector<Parameter> parameters_of(const Plan& plan, const NestCall& call, Names& names);

/// What a call gives for a parameter that is not an address: a number in its first bytes.
int64_t number_for(const Parameter& parameter, const Plan& plan, const NestCall& call);
/// The type of what a parameter that is an address leads to.
DType dtype_of(const Parameter& parameter, const NestProgram& program);
/// The address for one that is: of kind base (not of an iota), left or right.
const Address* address_for(const Parameter& parameter, const Plan& plan, const NestCall& call);

}  // namespace graphc::core::cuda
