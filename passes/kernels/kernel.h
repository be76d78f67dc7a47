// SPDX-License-Identifier: Apache-2.0
// Kernel: a view of a `kernel` node that names its parts, as ir/scan.h's is of a `scan`.
#pragma once

#include <string_view>

#include "ir/graph.h"

namespace graphc::core {

/// What a kernel does; the word for it stands in the node's attribute `family`.
enum class Family : uint8_t {
  map,        ///< elements and sums along rows, for every row
  gemm,       ///< a product, and what follows it element by element
  recurrent,  ///< a whole loop, of whose rows each is computed by itself
  rows,       ///< rows of a table by index
};

/// The family's word in text: "map".
std::string_view name_of(Family family);

class Kernel {
 public:
  /// Of a node of op `kernel`. Throws ErrorKind::input, at the node, if it has no family, one that
  /// there is not, or if a recurrent kernel is anything but a loop.
  explicit Kernel(const Node& node);

  const Node& node() const { return *node_; }
  Family family() const { return family_; }
  const Graph& body() const { return node_->region(); }
  /// The node that makes the body's first result: a recurrent kernel's scan.
  const Node& first() const { return *body().results()[0].node; }

 private:
  const Node* node_;
  Family family_;
};

/// What a kernel's body is, and so how it is lowered.
enum class BodyForm : uint8_t {
  rows,              ///< has a model of rows (passes/kernels/row_model.h)
  loop,              ///< a scan whose step has one
  table,             ///< rows of a table by index
  column_reduction,  ///< a sum or maximum over other axes than the last
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
