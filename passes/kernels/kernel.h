// SPDX-License-Identifier: Apache-2.0
// Kernel: a view of a `kernel` node that names its parts, as ir/scan.h does for a `scan`.
#pragma once

#include "ir/graph.h"
#include "ir/kernel_family.h"

namespace graphc::core {

class Kernel {
 public:
  /// `node` has the op `kernel`. Throws ErrorKind::input, at the node, if its family is missing or
  /// unknown, or if a recurrent kernel is not a loop.
  explicit Kernel(const Node& node);

  const Node& node() const { return *node_; }
  Family family() const { return family_; }
  const Graph& body() const { return node_->region(); }
  /// The node of the body's first result; for a recurrent kernel, its scan.
  const Node& first() const { return *body().results()[0].node; }

 private:
  const Node* node_;
  Family family_;
};

/// The form of a kernel's body, which determines its lowering.
enum class BodyForm : uint8_t {
  row_program,       ///< has a row model (passes/kernels/row_model.h)
  loop,              ///< a scan whose step has one
  table,             ///< rows of a table by index
  column_reduction,  ///< a sum or maximum over axes other than the last
  inner_reductions,  ///< elementwise work on matrices, some of it reduced over their rows
  concatenation,     ///< of operands, along any axis
  batched_product,   ///< a matrix for each index of the leading axes
};
BodyForm form_of(const Kernel& kernel);

/// Whether the node is a kernel of this family.
bool is_kernel_of(const Node& node, Family family);

/// Adds a kernel of the family around a body.
const Node& add_kernel(Graph& graph, Family family, Values operands, GraphPtr body, Where where,
                       std::vector<std::string> names);

}  // namespace graphc::core
