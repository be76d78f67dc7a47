// SPDX-License-Identifier: Apache-2.0
// Kernel: a view of a `kernel` node that names its parts, as ir/scan.h does for a `scan`, with the
// row model of its body.
#pragma once

#include <optional>
#include <string>

#include "ir/graph.h"
#include "ir/kernel_family.h"
#include "passes/kernels/row_model.h"

namespace graphc::core {

class Kernel {
 public:
  /// `node` has the op `kernel`. Throws ErrorKind::input, at the node, if its family is missing or
  /// unknown, or is not that of its body.
  explicit Kernel(const Node& node);

  const Node& node() const { return *node_; }
  Family family() const { return family_; }
  const Graph& body() const { return node_->region(); }
  /// The node of the body's first result; for a recurrent kernel, its scan.
  const Node& first() const { return *body().results()[0].node; }
  /// What is computed row by row: the body; of a recurrent kernel, the step of its scan.
  const Graph& step() const;
  /// The row model of step(), analysed once; none for the families that have no rows, or if the
  /// body breaks a rule, which why_no_rows() then names.
  const std::optional<RowModel>& rows() const { return rows_; }
  const std::string& why_no_rows() const { return why_no_rows_; }

 private:
  const Node* node_;
  Family family_;
  std::optional<RowModel> rows_;
  std::string why_no_rows_;
};

/// The family of a kernel with this body, which has results.
Family family_of(const Graph& body);

/// Whether the node is a kernel of this family. Throws as Kernel() does if it has no family.
bool is_kernel_of(const Node& node, Family family);

/// Adds a kernel around a body, of the body's family.
const Node& add_kernel(Graph& graph, Values operands, GraphPtr body, Where where,
                       std::vector<std::string> names);

}  // namespace graphc::core
