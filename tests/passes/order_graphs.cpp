// SPDX-License-Identifier: Apache-2.0
#include "tests/passes/order_graphs.h"

#include "ir/text.h"
#include "tests/passes/cells.h"
#include "tests/passes/values.h"

namespace graphc::core::testing::ordered {

GraphPtr written_out() {
  std::string text =
      "graph @f(%x: f32[6,3,5]) state (%u: f32[5,5]) {\n"
      "  %h0 = constant {dtype = f32, shape = [3,5], value = 0}\n";
  for (int i = 0; i < 6; ++i)
    text += fmt::format(
        "  %h{1} = tanh(add(reshape(slice(%x) {{axis = 0, start = {0}, limit = {1}}}) "
        "{{shape = [3,5]}}, matmul(%h{0}, %u)))\n",
        i, i + 1);
  return parse_graph(text + "  return %h6\n}");
}

namespace {

GraphPtr cell(size_t index) { return parse_cell(all_cells()[index]); }

}  // namespace

GraphPtr lstm() { return cell(0); }
GraphPtr lstm_training() { return with_gradients(cell(0)); }
GraphPtr last_output() { return cell(1); }
GraphPtr lstm_gates_training() { return with_gradients(cell(2)); }

GraphPtr equal_products() {
  return with_gradients(parse_graph(R"(
    graph @f(%x: f32[4,3,5], %h0: f32[3,5], %u: f32[5,5]) {
      %h.e = scan %x.t in %x carry %h = %h0 with %u {
        next %h = mul(tanh(matmul(%h, %u)), sigmoid(matmul(%h, %u)))
      }
      return %h.e
    })"));
}

GraphPtr every_fourth_state() {
  return with_gradients(parse_graph(R"(
    graph @f(%x: f32[16,3,5], %h0: f32[3,5]) {
      %h.e = scan {save_every = 4} %x.t in %x carry %h = %h0 {
        next %h = tanh(mul(tanh(%h), %x.t))
      }
      return %h.e
    })"));
}

GraphPtr heads() {
  return with_gradients(parse_graph(R"(
    graph @f(%x: f32[4,3,2,5], %h0: f32[3,2,5], %u: f32[2,5,5]) {
      %hs, %h.e = scan %x.t in %x carry %h = %h0 with %u {
        %z = transpose(matmul(transpose(%h) {permutation = [1,0,2]}, %u)) {permutation = [1,0,2]}
        %h.1 = add(mul(%h, 0.5), tanh(add(mul(%x.t, %h), %z)))
        next %h = %h.1
        emit %h.1
      }
      return %hs
    })"));
}

GraphPtr heads_side_by_side() {
  return with_gradients(parse_graph(R"(
    graph @f(%x: f32[4,3,10], %h0: f32[3,10], %u: f32[2,5,5]) {
      %hs, %h.e = scan %x.t in %x carry %h = %h0 with %u {
        %heads = transpose(reshape(%h) {shape = [3,2,5]}) {permutation = [1,0,2]}
        %z = transpose(matmul(%heads, %u)) {permutation = [1,0,2]}
        %h.1 = add(mul(%h, 0.5), tanh(add(mul(%x.t, %h), reshape(%z) {shape = [3,10]})))
        next %h = %h.1
        emit %h.1
      }
      return %hs
    })"));
}

GraphPtr indices() {
  return parse_graph(R"(
    graph @f(%x: f32[4,3,5], %token0: i32[3], %h0: f32[3,5], %u: f32[5,5]) {
      %h.e, %token.e = scan %x.t in %x carry %h = %h0, %token = %token0 with %u {
        %hot = cast(one_hot(%token) {depth = 5}) {dtype = f32}
        %h.1 = tanh(add(add(%x.t, %hot), matmul(%h, %u)))
        next %h = %h.1, %token = argmax(%h.1) {axis = 1}
      }
      return %h.e, %token.e
    })");
}

GraphPtr linear_attention() {
  return with_gradients(parse_graph(R"(
    graph @f(%k: f32[16,3,5,1], %v: f32[16,3,1,7], %s0: f32[3,5,7]) {
      %o, %s.e = scan %k.t in %k, %v.t in %v carry %s = %s0 {
        %s.1 = add(mul(%s, 0.9), mul(%k.t, %v.t))
        next %s = %s.1
        emit sum(mul(%s.1, %k.t)) {axes = [1]}
      }
      return %o
    })"));
}

GraphPtr parameters_of_heads() {
  return parse_graph(R"(
    graph @f(%k: f32[4,3,2,5], %v: f32[4,3,2,7], %s0: f32[3,2,5,7], %p: f32[2,5]) {
      %o, %s.e = scan %k.t in %k, %v.t in %v carry %s = %s0 with %p {
        %q = reshape(mul(%k.t, %p)) {shape = [3,2,5,1]}
        %s.1 = add(tanh(%s), mul(%q, reshape(%v.t) {shape = [3,2,1,7]}))
        next %s = %s.1
        emit sum(%s.1) {axes = [2]}
      }
      return %o
    })");
}

GraphPtr matrix_read_by_product() {
  return with_gradients(parse_graph(R"(
    graph @f(%k: f32[16,3,5,1], %v: f32[16,3,1,7], %q: f32[16,3,1,5], %s0: f32[3,5,7]) {
      %o, %s.e = scan %k.t in %k, %v.t in %v, %q.t in %q carry %s = %s0 {
        %s.1 = add(mul(%s, 0.9), mul(%k.t, %v.t))
        next %s = %s.1
        emit matmul(%q.t, %s.1)
      }
      return %o
    })"));
}

GraphPtr softmax() {
  return with_gradients(parse_graph(R"(
    graph @f(%x: f32[4,7]) {
      %e = exp(sub(%x, max(%x) {axes = [1], keep = true}))
      return div(%e, sum(%e) {axes = [1], keep = true})
    })"));
}

GraphPtr loss() {
  return with_gradients(parse_graph(R"(
    graph @f(%x: f32[4,7], %t: i32[4]) { return mean(cross_entropy(%x, %t)) {axes = [0]} })"));
}

GraphPtr embedding() {
  return parse_graph(R"(
    graph @train(%i: i32[5,2], %h0: f32[2,3]) state (%table: f32[40,3]) {
      %h.e = scan %i.t in %i carry %h = %h0 with %table {
        next %h = tanh(add(%h, gather(%table, %i.t)))
      }
      %loss = sum(%h.e) {axes = [0,1]}
      %g = grad %loss, %table
      next %table = sub(%table, %g)
      return %loss
    })");
}

GraphPtr embedding_on_ranks() {
  return parse_graph(R"(
    graph @train(%i: i32[5,2], %h0: f32[2,3]) state (%table: f32[40,3]) {
      %h.e = scan %i.t in %i carry %h = %h0 with %table {
        next %h = tanh(add(%h, gather(%table, %i.t)))
      }
      %loss = sum(%h.e) {axes = [0,1]}
      %g = grad %loss, %table
      next %table = sub(%table, all_reduce(%g) {ranks = 2})
      return %loss
    })");
}

GraphPtr projection() {
  return parse_graph(R"(
    graph @head(%x: f32[15,4], %targets: i32[15], %w: f32[4,33]) {
      %losses = cross_entropy matmul(%x, %w), %targets
      %dx, %dw = grad sum(%losses) {axes = [0]}, %x, %w
      return %losses, %dx, %dw
    })");
}

GraphPtr sum_changed_back() {
  return parse_graph(R"(
    graph @f(%x: f32[3,4]) {
      return div(%x, reshape(sum(%x) {axes = [1]}) {shape = [3,1]})
    })");
}

GraphPtr sums_of_several_axes() {
  return parse_graph(
      "graph (%x: f32[3,4,5]) { return sum(%x) {axes = [0,2]}, max(%x) {axes = [1]} }");
}

}  // namespace graphc::core::testing::ordered
