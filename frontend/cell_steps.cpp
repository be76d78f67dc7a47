// SPDX-License-Identifier: Apache-2.0
#include "frontend/cell_steps.h"

#include <cmath>
#include <string_view>

#include "ir/called.h"

namespace graphc::core {
namespace {

/// x [..., n] as columns [..., n, 1], and as rows [..., 1, n].
Value column(Value x) { return reshape(x, x.shape().insert(x.shape().rank(), 1)); }
Value row(Value x) { return reshape(x, x.shape().insert(x.shape().rank() - 1, 1)); }

Value log_sigmoid(Value x) { return neg(softplus(neg(x))); }

/// The shapes that a cell's operands must have, given its first state.
class Operands {
 public:
  Operands(const char* cell, const State& state, int axes, Where where)
      : cell_(cell), shape_(state.shape()), axes_(axes), where_(where) {
    if (shape_.rank() < axes) {
      throw input_error(where, "{}: the state '{}' has at least {} ax{}: found {}", cell,
                        state.name(), axes, axes == 1 ? "is" : "es", to_string(state.type()));
    }
  }

  int64_t extent(int axis) const { return shape_[axis]; }
  /// The rows, followed by these extents.
  Shape rows(std::initializer_list<int64_t> extents = {}) const {
    std::vector<int64_t> all(shape_.begin(), shape_.end() - axes_);
    all.insert(all.end(), extents.begin(), extents.end());
    return Shape(all, where_);
  }
  void expect(std::string_view name, const Shape& found, const Shape& wanted) const {
    if (found == wanted) return;
    throw input_error(where_, "{}: '{}' is [{}] with this state: found [{}]", cell_, name,
                      to_string(wanted), to_string(found));
  }
  void expect(std::string_view name, Value found, const Shape& wanted) const {
    found.expect_usable(where_);
    expect(name, found.shape(), wanted);
  }

 private:
  const char* cell_;
  Shape shape_;
  int axes_;
  Where where_;
};

}  // namespace

Value gated_delta(Value q, Value k, Value v, Value g, Value beta, State& s, Where where) {
  const Called called("gated_delta", where);
  const Operands operands("gated_delta", s, 2, where);
  const Shape keys = operands.rows({operands.extent(-2)});
  operands.expect("q", q, keys);
  operands.expect("k", k, keys);
  operands.expect("v", v, operands.rows({operands.extent(-1)}));
  operands.expect("g", g, operands.rows());
  operands.expect("beta", beta, operands.rows());
  s = column(column(exp(neg(g)))) * s;
  const Value u = column(beta) * (v - sum(s * column(k), -2));
  s = s + column(k) * row(u);
  return sum(s * column(q), -2);
}

Value selective_scan(Value delta, Value u, Value b, Value c, Value a, Value skip, State& h,
                     Where where) {
  const Called called("selective_scan", where);
  const Operands operands("selective_scan", h, 2, where);
  const int64_t channels = operands.extent(-2), numbers = operands.extent(-1);
  operands.expect("delta", delta, operands.rows({channels}));
  operands.expect("u", u, operands.rows({channels}));
  operands.expect("b", b, operands.rows({numbers}));
  operands.expect("c", c, operands.rows({numbers}));
  operands.expect("A", a, {channels, numbers});
  operands.expect("skip", skip, {channels});
  const Value d = softplus(delta);
  h = exp(neg(column(d) * exp(a))) * h + column(d * u) * row(b);
  return sum(h * row(c), -1) + skip * u;
}

Value mlstm(Value q, Value k, Value v, Value i, Value f, State& c, State& n, State& m,
            Where where) {
  const Called called("mlstm", where);
  const Operands operands("mlstm", c, 2, where);
  const Shape keys = operands.rows({operands.extent(-2)}), rows = operands.rows();
  operands.expect("n", n.shape(), keys);
  operands.expect("m", m.shape(), rows);
  operands.expect("q", q, keys);
  operands.expect("k", k, keys);
  operands.expect("v", v, operands.rows({operands.extent(-1)}));
  operands.expect("i", i, rows);
  operands.expect("f", f, rows);
  const Value kept = log_sigmoid(f) + m;
  const Value next = maximum(kept, i);
  const Value in = exp(i - next), keep = exp(kept - next);
  c = column(column(keep)) * c + column(column(in) * k) * row(v);
  n = column(keep) * n + column(in) * k;
  m = next;
  q = q * (1 / std::sqrt(double(operands.extent(-2))));
  return sum(c * column(q), -2) / column(maximum(abs(sum(n * q, -1)), exp(neg(m))));
}

Value slstm(Value z, State& h, State& c, State& n, State& m, Where where) {
  const Called called("slstm", where);
  const Operands operands("slstm", h, 1, where);
  operands.expect("c", c.shape(), h.shape());
  operands.expect("n", n.shape(), h.shape());
  operands.expect("m", m.shape(), h.shape());
  operands.expect("z", z, operands.rows({4 * operands.extent(-1)}));
  const auto [i, f, g, o] = split<4>(z);
  const Value kept = log_sigmoid(f) + m;
  const Value next = maximum(kept, i);
  const Value in = exp(i - next), keep = exp(kept - next);
  c = keep * c + in * tanh(g);
  n = keep * n + in;
  m = next;
  h = sigmoid(o) * c / n;
  return h;
}

Value rwkv7(Value r, Value w, Value k, Value v, Value a, Value b, State& s, Where where) {
  const Called called("rwkv7", where);
  const Operands operands("rwkv7", s, 2, where);
  const Shape keys = operands.rows({operands.extent(-1)});
  operands.expect("r", r, keys);
  operands.expect("w", w, keys);
  operands.expect("k", k, keys);
  operands.expect("v", v, operands.rows({operands.extent(-2)}));
  operands.expect("a", a, keys);
  operands.expect("b", b, keys);
  const Value removed = sum(s * row(a), -1);
  s = s * row(exp(w)) + column(removed) * row(b) + column(v) * row(k);
  return sum(s * row(r), -1);
}

Value rg_lru(Value r, Value i, Value x, Value l, State& h, Where where) {
  const Called called("rg_lru", where);
  const Operands operands("rg_lru", h, 1, where);
  operands.expect("r", r, h.shape());
  operands.expect("i", i, h.shape());
  operands.expect("x", x, h.shape());
  operands.expect("L", l, {operands.extent(-1)});
  const Value log_a = softplus(l) * -8 * sigmoid(r);
  h = exp(log_a) * h + sqrt(neg(expm1(log_a * 2))) * (sigmoid(i) * x);
  return h;
}

Value min_gru(Value z, Value x, State& h, Where where) {
  const Called called("min_gru", where);
  const Operands operands("min_gru", h, 1, where);
  operands.expect("z", z, h.shape());
  operands.expect("x", x, h.shape());
  const Value gate = sigmoid(z);
  h = (1 - gate) * h + gate * select(greater_equal(x, 0), x + 0.5, sigmoid(x));
  return h;
}

}  // namespace graphc::core
