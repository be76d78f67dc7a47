// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/linear_cells.h"

#include <string>

#include "ir/text.h"

namespace graphc::core::testing {
namespace {

constexpr LinearCell listed_linear[] = {
    {"linear_attention", R"(
graph @cell(%q: f32[<T>,2,4,1], %k: f32[<T>,2,4,1], %v: f32[<T>,2,1,3], %s0: f32[2,4,3]) {
  %o, %s.end = scan %q.t in %q, %k.t in %k, %v.t in %v carry %s = %s0 {
    %s.1 = add(%s, mul(%k.t, %v.t))
    next %s = %s.1
    emit sum(mul(%s.1, %q.t)) {axes = [1]}
  }
  return %o, %s.end
})"},
    {"retention", R"(
graph @cell(%q: f32[<T>,2,4,1], %k: f32[<T>,2,4,1], %v: f32[<T>,2,1,3], %s0: f32[2,4,3]) {
  %o, %s.end = scan {reverse = true} %q.t in %q, %k.t in %k, %v.t in %v carry %s = %s0 {
    %s.1 = sub(mul(%s, 0.9), mul(%k.t, neg(%v.t)))
    next %s = %s.1
    emit sum(mul(%s, %q.t)) {axes = [1]}
  }
  return %o, %s.end
})"},
    // The decay is 0 in about half of the steps.
    {"gated_delta", R"(
graph @cell(%q: f32[<T>,2,4,1], %k: f32[<T>,2,4,1], %v: f32[<T>,2,1,3], %g: f32[<T>,2,1,1],
            %beta: f32[<T>,2,1,1], %s0: f32[2,4,3]) {
  %o, %s.end = scan %q.t in %q, %k.t in %k, %v.t in %v, %g.t in %g, %b.t in %beta carry %s = %s0 {
    %d = mul(%s, relu(%g.t))
    %u = mul(%b.t, sub(%v.t, sum(mul(%d, %k.t)) {axes = [1], keep = true}))
    %s.1 = add(%d, mul(%k.t, %u))
    next %s = %s.1
    emit tanh(sum(mul(%s.1, %q.t)) {axes = [1]})
  }
  return %o, %s.end
})"},
    // Its keys are the last axis, its writes two, of which one reads.
    {"rwkv7", R"(
graph @cell(%r: f32[<T>,2,1,4], %w: f32[<T>,2,1,4], %k: f32[<T>,2,1,4], %v: f32[<T>,2,3,1],
            %a: f32[<T>,2,1,4], %b: f32[<T>,2,1,4], %s0: f32[2,3,4]) {
  %o, %s.end = scan %r.t in %r, %w.t in %w, %k.t in %k, %v.t in %v, %a.t in %a, %b.t in %b
      carry %s = %s0 {
    %sa = sum(mul(%s, %a.t)) {axes = [2], keep = true}
    %s.1 = add(add(mul(%s, exp(neg(softplus(%w.t)))), mul(%sa, %b.t)), mul(%v.t, %k.t))
    next %s = %s.1
    emit sum(mul(%s.1, %r.t)) {axes = [2]}
  }
  return %o, %s.end
})"},
    // Carries besides the matrix: a vector, and a number that starts at -infinity.
    {"mlstm", R"(
graph @cell(%q: f32[<T>,2,4], %k: f32[<T>,2,4], %v: f32[<T>,2,3], %i: f32[<T>,2], %f: f32[<T>,2],
            %c0: f32[2,4,3], %n0: f32[2,4]) {
  %m0 = constant {dtype = f32, shape = [2], value = -inf}
  %o, %p, %c.end, %n.end, %m.end = scan %q.t in %q, %k.t in %k, %v.t in %v, %i.t in %i, %f.t in %f
      carry %c = %c0, %n = %n0, %m = %m0 {
    %kept = sub(%m, softplus(neg(%f.t)))
    %m.1 = maximum(%kept, %i.t)
    %in = reshape(exp(sub(%i.t, %m.1))) {shape = [2,1]}
    %keep = reshape(exp(sub(%kept, %m.1))) {shape = [2,1]}
    %ik = mul(%in, %k.t)
    %outer = mul(reshape(%ik) {shape = [2,4,1]}, reshape(%v.t) {shape = [2,1,3]})
    %c.1 = add(mul(reshape(%keep) {shape = [2,1,1]}, %c), %outer)
    %n.1 = add(mul(%keep, %n), %ik)
    %num = sum(mul(%c.1, reshape(%q.t) {shape = [2,4,1]})) {axes = [1]}
    %den = maximum(abs(sum(mul(%n.1, %q.t)) {axes = [1]}), exp(neg(%m.1)))
    next %c = %c.1, %n = %n.1, %m = %m.1
    emit div(%num, reshape(%den) {shape = [2,1]}), %m.1
  }
  return %o, %p, %c.end, %n.end
})"},
    // Rows of two axes, a captured key, a stream that all heads share, a mask that keeps states.
    {"masked_heads", R"(
graph @cell(%k: f32[<T>,2,1,4,1], %v: f32[<T>,2,3,1,5], %m: bool[<T>,2,1,1,1], %q: f32[4,1],
            %g: f32[3,1,1], %s0: f32[2,3,4,5]) {
  %o, %r, %s.end = scan %k.t in %k, %v.t in %v, %m.t in %m carry %s = %s0 with %q, %g {
    %read = sum(mul(%s, %k.t)) {axes = [2], keep = true}
    %new = add(mul(%s, sigmoid(%g)), mul(%k.t, sub(%v.t, %read)))
    %s.1 = select(%m.t, %new, %s)
    %o = sum(mul(%s.1, %q)) {axes = [2]}
    next %s = %s.1
    emit %o, mul(%o, reshape(%read) {shape = [2,3,5]})
  }
  return %o, %r, %s.end
})"},
    // Two matrices with keys of their own, read together; a state that starts anew.
    {"two_matrices", R"(
graph @cell(%k: f32[<T>,2,4,1], %l: f32[<T>,2,1,3], %m: bool[<T>,2,1,1], %s0: f32[2,4,3],
            %z0: f32[2,4,3]) {
  %o, %p, %s.end, %z.end = scan %k.t in %k, %l.t in %l, %m.t in %m carry %s = %s0, %z = %z0 {
    %s.1 = add(select(%m.t, 0, %s), mul(mul(%k.t, 2), %l.t))
    %z.1 = add(div(%z, add(2, abs(%k.t))), sub(mul(%k.t, %l.t), mul(mul(%k.t, %k.t), %l.t)))
    %p = sum(mul(%s.1, %k.t)) {axes = [1]}
    %t = sum(mul(%z, %k.t)) {axes = [1]}
    next %s = %s.1, %z = %z.1
    emit mul(%p, %t), %l.t
  }
  return %o, %p, %s.end, %z.end
})"},
};

constexpr LinearCell listed_others[] = {
    {"no_matrix", R"(
graph @cell(%x: f32[<T>,3], %s0: f32[3]) {
  %s.end = scan %x.t in %x carry %s = %s0 { next %s = add(mul(%s, 0.5), %x.t) }
  return %s.end
})"},
    {"selective_scan", R"(
graph @cell(%d: f32[<T>,2,4,1], %b: f32[<T>,2,1,3], %a: f32[4,3], %s0: f32[2,4,3]) {
  %o, %s.end = scan %d.t in %d, %b.t in %b carry %s = %s0 with %a {
    %s.1 = add(mul(%s, exp(neg(mul(abs(%d.t), exp(%a))))), mul(%d.t, %b.t))
    next %s = %s.1
    emit sum(mul(%s.1, %b.t)) {axes = [2]}
  }
  return %o, %s.end
})",
     "goes step by step: 'mul' is not linear in the matrix, or mixes keys and values"},
    {"state_is_bounded", R"(
graph @cell(%k: f32[<T>,2,4,1], %v: f32[<T>,2,1,3], %s0: f32[2,4,3]) {
  %o, %s.end = scan %k.t in %k, %v.t in %v carry %s = %s0 {
    %s.1 = tanh(add(%s, mul(%k.t, %v.t)))
    next %s = %s.1
    emit sum(mul(%s.1, %k.t)) {axes = [1]}
  }
  return %o, %s.end
})",
     "goes step by step: 'tanh' is not linear in the matrix, or mixes keys and values"},
    {"states_are_results", R"(
graph @cell(%k: f32[<T>,2,4,1], %v: f32[<T>,2,1,3], %s0: f32[2,4,3]) {
  %o, %p, %s.end = scan %k.t in %k, %v.t in %v carry %s = %s0 {
    %s.1 = add(%s, mul(%k.t, %v.t))
    next %s = %s.1
    emit %s.1, sum(mul(%s.1, %k.t)) {axes = [1]}
  }
  return %o, %p, %s.end
})",
     "goes step by step: the matrix of every step is a result of the loop"},
    {"gate_reads", R"(
graph @cell(%k: f32[<T>,2,4,1], %v: f32[<T>,2,1,3], %s0: f32[2,4,3]) {
  %o, %s.end = scan %k.t in %k, %v.t in %v carry %s = %s0 {
    %u = tanh(sum(mul(%s, %k.t)) {axes = [1], keep = true})
    %s.1 = add(%s, mul(%k.t, mul(%u, %v.t)))
    next %s = %s.1
    emit %u
  }
  return %o, %s.end
})",
     "goes step by step: 'add' is not linear in the matrix, or mixes keys and values"},
    {"two_writes_read", R"(
graph @cell(%k: f32[<T>,2,4,1], %l: f32[<T>,2,4,1], %s0: f32[2,4,3]) {
  %o, %s.end = scan %k.t in %k, %l.t in %l carry %s = %s0 {
    %p = sum(mul(%s, %k.t)) {axes = [1], keep = true}
    %t = sum(mul(%s, %l.t)) {axes = [1], keep = true}
    next %s = add(add(mul(%s, 0.5), mul(%l.t, %p)), mul(%k.t, %t))
    emit %p
  }
  return %o, %s.end
})",
     "goes step by step: several writes of a step read the matrix"},
    {"number_reads", R"(
graph @cell(%k: f32[<T>,2,4,1], %v: f32[<T>,2,1,3], %s0: f32[2,4,3], %n0: f32[2,3]) {
  %o, %s.end, %n.end = scan %k.t in %k, %v.t in %v carry %s = %s0, %n = %n0 {
    %p = sum(mul(%s, %k.t)) {axes = [1]}
    next %s = add(%s, mul(%k.t, %v.t)), %n = add(mul(%n, 0.5), %p)
    emit %p
  }
  return %o, %s.end, %n.end
})",
     "goes step by step: the carry 'n' depends on a matrix"},
    {"integers", R"(
graph @cell(%k: i32[<T>,2,4,1], %v: i32[<T>,2,1,3], %s0: i32[2,4,3]) {
  %o, %s.end = scan %k.t in %k, %v.t in %v carry %s = %s0 {
    %s.1 = add(%s, mul(%k.t, %v.t))
    next %s = %s.1
    emit sum(mul(%s.1, %k.t)) {axes = [1]}
  }
  return %o, %s.end
})",
     "goes step by step: the matrix 's' is of i32: products are of floats"},
    {"never_summed", R"(
graph @cell(%k: f32[<T>,2,4,1], %v: f32[<T>,2,1,3], %s0: f32[2,4,3]) {
  %s.end = scan %k.t in %k, %v.t in %v carry %s = %s0 { next %s = add(%s, mul(%k.t, %v.t)) }
  return %s.end
})",
     "goes step by step: no step sums over the keys of 's'"},
};

}  // namespace

std::span<const LinearCell> linear_cells() { return listed_linear; }
std::span<const LinearCell> other_cells() { return listed_others; }

GraphPtr graph_of(const LinearCell& cell, int64_t steps) {
  std::string text(cell.text);
  for (size_t at = text.find("<T>"); at != std::string::npos; at = text.find("<T>"))
    text.replace(at, 3, std::to_string(steps));
  return parse_graph(text);
}

}  // namespace graphc::core::testing
