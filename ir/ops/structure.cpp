// SPDX-License-Identifier: Apache-2.0
// The records of scan, grad and kernel.
#include "ir/ops/infer.h"
#include "ir/scan.h"

namespace graphc::core {
namespace {

void expect_type(const Node& node, std::string_view what, size_t i, const Type& found,
                 const Type& wanted) {
  if (found == wanted) return;
  throw input_error({}, "{}: {} {} is {}: the body has {}", node.op.name, what, i, to_string(found),
                    to_string(wanted));
}

std::vector<Type> infer_scan(const Node& node) {
  expect_attributes(node, {"streams", "carries", "steps", "reverse", "save_every"});
  GRAPHC_CHECK(node.regions.size() == 1, "scan has {} regions", node.regions.size());
  const Graph& body = node.region();
  const int64_t streams = node.attributes.get_int("streams", 0),
                carries = node.attributes.get_int("carries", 0);
  const int64_t steps = node.attributes.get_int("steps", -1);
  if (steps < 0)
    throw input_error({}, "scan: attribute 'steps' is the number of steps: found {}", steps);
  if (const int64_t every = node.attributes.get_int("save_every", 1); every < 1)
    throw input_error({}, "scan: attribute 'save_every' is at least 1: found {}", every);
  if (!body.states().empty() || !body.next().empty())
    throw input_error({}, "scan: a body has no states");
  if (body.inputs().size() != node.operands.size() || streams < 0 || carries < 0 ||
      size_t(streams + carries) > node.operands.size() || body.results().size() < size_t(carries)) {
    throw input_error({},
                      "scan: {} streams, {} carries and {} operands do not fit a body of {} inputs "
                      "and {} results",
                      streams, carries, node.operands.size(), body.inputs().size(),
                      body.results().size());
  }
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Type &found = type_of(node, int(i)), &wanted = body.inputs()[i].type();
    if (i >= size_t(streams)) {
      expect_type(node, i < size_t(streams + carries) ? "carry" : "capture", i, found, wanted);
    } else if (found.shape.rank() == 0 || found.shape[0] != steps) {
      throw input_error({}, "scan: stream {} has {} steps along axis 0: found {}", i, steps,
                        to_string(found));
    } else {
      expect_type(node, "a step of stream", i, {found.dtype, found.shape.without(0)}, wanted);
    }
  }
  std::vector<Type> types;
  for (size_t i = size_t(carries); i < body.results().size(); ++i) {
    const Type& type = body.results()[i].type();
    if (type.shape.rank() == Shape::kMaxRank)
      throw input_error({}, "scan: an emit has at most {} axes: found {}", Shape::kMaxRank - 1,
                        to_string(type));
    types.push_back({type.dtype, type.shape.insert(0, steps)});
  }
  for (size_t i = 0; i < size_t(carries); ++i) {
    expect_type(node, "next of carry", i, body.results()[i].type(),
                body.inputs()[size_t(streams) + i].type());
    types.push_back(body.results()[i].type());
  }
  return types;
}

std::vector<Type> infer_grad(const Node& node) {
  expect_attributes(node, {});
  if (node.operands.size() < 2)
    throw input_error({}, "grad: takes a loss and at least one leaf: found {} operands",
                      node.operands.size());
  if (type_of(node, 0).shape.rank() != 0 || !is_floating(type_of(node, 0).dtype)) {
    throw input_error({}, "grad: the loss is a floating-point scalar: found {}",
                      to_string(type_of(node, 0)));
  }
  std::vector<Type> types;
  for (size_t i = 1; i < node.operands.size(); ++i) {
    const Value leaf = node.operands[i];
    if (!leaf.node->is(ops::input) && !leaf.node->is(ops::state) && !leaf.node->is(ops::watch)) {
      throw input_error(
          {}, "grad: %{} is not an input, a state or the result of watch: it is the result of '{}'",
          leaf.name(), leaf.node->op.name);
    }
    if (!is_floating(leaf.dtype())) {
      throw input_error({}, "grad: a leaf is floating-point: found %{} of {}", leaf.name(),
                        to_string(leaf.type()));
    }
    types.push_back(leaf.type());
  }
  return types;
}

std::vector<Type> infer_kernel(const Node& node) {
  GRAPHC_CHECK(node.regions.size() == 1, "kernel has {} regions", node.regions.size());
  const Graph& body = node.region();
  if (body.inputs().size() != node.operands.size()) {
    throw input_error({}, "kernel: {} operands for a body of {} inputs", node.operands.size(),
                      body.inputs().size());
  }
  for (size_t i = 0; i < node.operands.size(); ++i) {
    expect_type(node, "operand", i, type_of(node, int(i)), body.inputs()[i].type());
  }
  std::vector<Type> types;
  for (Value result : body.results()) types.push_back(result.type());
  return types;
}

}  // namespace

constinit const Op ops::scan{
    .name = "scan",
    .doc =
        "A loop over {steps}: slices streams along axis 0, carries values from step to step, "
        "stacks what it emits.",
    .infer = infer_scan,
};

constinit const Op ops::grad{
    .name = "grad",
    .doc =
        "The derivative of a scalar loss, as a function of the graph's leaves, with respect to "
        "each further operand: "
        "inputs, states or results of watch.",
    .infer = infer_grad,
};

constinit const Op ops::kernel{
    .name = "kernel",
    .doc = "A region compiled as one kernel of {family}; it computes what its body computes.",
    .infer = infer_kernel,
};

}  // namespace graphc::core
