// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/pitch.h"

#include <algorithm>
#include <vector>

#include "codegen/lower/context.h"
#include "ir/op.h"
#include "passes/kernels/fuse.h"
#include "passes/kernels/kernel.h"
#include "passes/region.h"

namespace graphc::core {
namespace {

/// The multiply-adds of the largest product in a kernel's body that has the input as a factor; 0:
/// there is none.
int64_t work_with(const Graph& body, Value input) {
  int64_t most = 0;
  for (const Node& node : body.nodes()) {
    if (!node.is(ops::matmul)) continue;
    const auto is_factor = [&](Value operand) {
      return operand == input || (is_widening(*operand.node) && operand.node->operands[0] == input);
    };
    if (std::ranges::none_of(node.operands, is_factor)) continue;
    const Shape& left = node.operands[0].shape();
    const bool transposed = node.attributes.get_bool("transpose_a", false);
    most = std::max(most, node.result().shape().elements() * left[transposed ? -2 : -1]);
  }
  return most;
}

/// Whether the kernel reads what it reads, and writes what it writes, by strides.
bool has_strides(const Node& node) {
  if (!node.is(ops::kernel)) return false;
  const Family family = Kernel(node).family();
  return family == Family::map || family == Family::gemm || family == Family::reduction;
}

/// A reshape of which rows stay rows.
bool leaves_rows(const Node& node) {
  const Shape &from = node.operands[0].shape(), &to = node.types[0].shape;
  return node.is(ops::reshape) && from.rank() > 1 && to.rank() > 1 && from[-1] == to[-1];
}

/// What reads the values of a graph.
class Readers {
 public:
  explicit Readers(const Graph& graph) {
    readers_.resize(graph.nodes().size());
    for (const Node& node : graph.nodes()) {
      for (const Value operand : node.operands) readers_[size_t(operand.node->id)].push_back(&node);
    }
    for (const Value result : graph.results()) leaves_.add(result);
    for (const Next& next : graph.next()) leaves_.add(next.value);
  }

  /// The multiply-adds of the largest product that reads the value; 0: there is none, or something
  /// reads it that needs it without space between its rows.
  int64_t work_by_strides(Value value) const {
    if (leaves_.contains(value)) return 0;
    int64_t most = 0;
    bool all = true;
    for (const Node* reader : readers_[size_t(value.node->id)]) {
      if (std::ranges::find(reader->operands, value) == reader->operands.end()) continue;
      if (is_widening(*reader) || leaves_rows(*reader)) {
        const int64_t work = work_by_strides(reader->result());
        all &= work > 0;
        most = std::max(most, work);
        continue;
      }
      if (!has_strides(*reader)) return 0;
      for (size_t i = 0; i < reader->operands.size(); ++i) {
        if (reader->operands[i] == value)
          most = std::max(most, work_with(reader->region(), reader->region().inputs()[i]));
      }
    }
    return all ? most : 0;
  }

 private:
  std::vector<std::vector<const Node*>> readers_;  // by node
  ValueSet leaves_;                                // results and next values
};

}  // namespace

void find_pitched(LowerContext& context, const Graph& graph) {
  const int64_t pitch = context.machine().pitch;
  if (pitch == 0) return;
  const Readers readers(graph);
  for (const Node& node : graph.nodes()) {
    if (!has_strides(node)) continue;
    for (int i = 0; i < node.results(); ++i) {
      const Value value = node.result(i);
      const Shape& shape = value.shape();
      if (value.dtype() != DType::bf16 || shape.rank() < 2) continue;
      const int64_t row = shape[-1] * size_of(DType::bf16);
      if (row > pitch && row % pitch != 0 &&
          readers.work_by_strides(value) >= context.machine().pitched_from)
        context.pitched.emplace(&node, i);
    }
  }
}

}  // namespace graphc::core
