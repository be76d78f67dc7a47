// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/mock/recurrent.h"

#include <algorithm>
#include <cmath>

namespace graphc::core::cuda_mock {
namespace {

using namespace graphc::core::cuda;
using Row = std::vector<double>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// The parts of a row of the reserve.
struct Kept {
  Kept(const RecurrentForm& form, float* reserve, size_t row)
      : gates(reserve + RecurrentForm::kHead + row * form.row()),
        behind_reset(gates + form.gates() * form.units),
        cell(behind_reset + form.units),
        by_input(cell + form.units),
        by_state(by_input + form.gates() * form.units) {}
  float *gates, *behind_reset, *cell, *by_input, *by_state;
};

/// matrix [units, width] times a row, plus bias.
Row times(const float* matrix, const float* bias, const float* row, size_t units, size_t width) {
  Row result(units);
  for (size_t unit = 0; unit < units; ++unit) {
    double sum = bias[unit];
    for (size_t i = 0; i < width; ++i) sum += double(matrix[unit * width + i]) * double(row[i]);
    result[unit] = sum;
  }
  return result;
}

/// Adds matrix' [width, units] times a row to `to`.
void add_transposed(const float* matrix, const float* row, size_t units, size_t width, Row& to) {
  for (size_t unit = 0; unit < units; ++unit) {
    for (size_t i = 0; i < width; ++i)
      to[i] += double(matrix[unit * width + i]) * double(row[unit]);
  }
}

/// One row of one step; `h` and `c` become those of the next.
void step(const RecurrentForm& form, const RecurrentData& data, const float* x,
          std::vector<float>& h, std::vector<float>& c, const Kept* kept) {
  std::vector<Row> of_input, of_state;
  const size_t gates = form.gates(), units = form.units;
  for (size_t g = 0; g < gates; ++g) {
    of_input.push_back(
        times(data.weights + form.matrix(g), data.weights + form.bias(g), x, units, form.inputs));
    of_state.push_back(times(data.weights + form.matrix(gates + g),
                             data.weights + form.bias(gates + g), h.data(), units, units));
  }
  for (size_t u = 0; u < units; ++u) {
    const auto sum = [&](size_t g) { return of_input[g][u] + of_state[g][u]; };
    double gate[4]{};
    if (form.cell == CUDNN_LSTM) {
      gate[0] = sigmoid(sum(0));
      gate[1] = sigmoid(sum(1));
      gate[2] = std::tanh(sum(2));
      gate[3] = sigmoid(sum(3));
      c[u] = float(gate[1] * double(c[u]) + gate[0] * gate[2]);
      h[u] = float(gate[3] * std::tanh(double(c[u])));
    } else if (form.cell == CUDNN_GRU) {
      gate[0] = sigmoid(sum(0));
      gate[1] = sigmoid(sum(1));
      gate[2] = std::tanh(of_input[2][u] + gate[0] * of_state[2][u]);
      h[u] = float((1 - gate[1]) * gate[2] + gate[1] * double(h[u]));
    } else {
      gate[0] = std::tanh(sum(0));
      h[u] = float(gate[0]);
    }
    if (kept == nullptr) continue;
    for (size_t g = 0; g < gates; ++g) kept->gates[g * units + u] = float(gate[g]);
    kept->behind_reset[u] = form.cell == CUDNN_GRU ? float(of_state[2][u]) : 0;
    kept->cell[u] = c[u];
  }
}

/// The derivatives of one unit of a row of a step. `dh` and `dc` are those behind it and become,
/// but for what comes through the products, those before it.
void step_back(const RecurrentForm& form, const Kept& kept, size_t u, double old_h, double old_c,
               double& dh, double& dc) {
  const size_t units = form.units;
  const auto gate = [&](size_t g) { return double(kept.gates[g * units + u]); };
  double by_input[4]{}, by_state[4]{};
  const auto both = [&](size_t g, double value) { by_input[g] = by_state[g] = value; };
  if (form.cell == CUDNN_LSTM) {
    const double t = std::tanh(double(kept.cell[u]));
    const double i = gate(0), f = gate(1), g = gate(2), o = gate(3);
    const double d_cell = dc + dh * o * (1 - t * t);
    both(0, d_cell * g * i * (1 - i));
    both(1, d_cell * old_c * f * (1 - f));
    both(2, d_cell * i * (1 - g * g));
    both(3, dh * t * o * (1 - o));
    dh = 0;
    dc = d_cell * f;
  } else if (form.cell == CUDNN_GRU) {
    const double r = gate(0), z = gate(1), n = gate(2);
    const double d_new = dh * (1 - z) * (1 - n * n);
    both(0, d_new * double(kept.behind_reset[u]) * r * (1 - r));
    both(1, dh * (old_h - n) * z * (1 - z));
    by_input[2] = d_new;
    by_state[2] = d_new * r;
    dh *= z;
  } else {
    both(0, dh * (1 - gate(0) * gate(0)));
    dh = 0;
  }
  for (size_t g = 0; g < form.gates(); ++g) {
    kept.by_input[g * units + u] = float(by_input[g]);
    kept.by_state[g * units + u] = float(by_state[g]);
  }
}

Row row_of(const float* all, size_t row, size_t width) {
  Row result(width, 0);
  for (size_t i = 0; all != nullptr && i < width; ++i) result[i] = double(all[row * width + i]);
  return result;
}

void store(const Row& row, float* all, size_t at) {
  for (size_t i = 0; all != nullptr && i < row.size(); ++i)
    all[at * row.size() + i] = float(row[i]);
}

/// All steps of one row of the batch, backwards.
void row_back(const RecurrentForm& form, const RecurrentCotangents& data, size_t row) {
  const size_t units = form.units, gates = form.gates();
  Row dh = row_of(data.last_dh, row, units), dc = row_of(data.last_dc, row, units);
  for (size_t t = form.steps; t-- > 0;) {
    const size_t at = t * form.batch + row;
    const Kept kept(form, data.reserve, at);
    const Row dy = row_of(data.dy, at, units);
    const Row old_h = t > 0 ? row_of(data.y, at - form.batch, units) : row_of(data.h, row, units);
    Row old_c = row_of(data.c, row, units);
    if (t > 0) {
      const Kept before(form, data.reserve, at - form.batch);
      old_c.assign(before.cell, before.cell + units);
    }
    for (size_t u = 0; u < units; ++u) {
      dh[u] += dy[u];
      step_back(form, kept, u, old_h[u], old_c[u], dh[u], dc[u]);
    }
    Row dx(form.inputs, 0);
    for (size_t g = 0; g < gates; ++g) {
      add_transposed(data.weights + form.matrix(g), kept.by_input + g * units, units, form.inputs,
                     dx);
      add_transposed(data.weights + form.matrix(gates + g), kept.by_state + g * units, units, units,
                     dh);
    }
    store(dx, data.dx, at);
  }
  store(dh, data.dh, row);
  store(dc, data.dc, row);
}

}  // namespace

size_t RecurrentForm::gates() const { return cell == CUDNN_LSTM ? 4 : cell == CUDNN_GRU ? 3 : 1; }

size_t RecurrentForm::matrix(size_t linear) const {
  const size_t of_input = std::min(linear, gates()), of_state = linear - of_input;
  return of_input * units * inputs + of_state * units * units;
}

size_t RecurrentForm::bias(size_t linear) const { return matrix(2 * gates()) + linear * units; }

void recurrent_forward(const RecurrentForm& form, const RecurrentData& data) {
  for (size_t row = 0; row < form.batch; ++row) {
    const Row first_h = row_of(data.h, row, form.units), first_c = row_of(data.c, row, form.units);
    std::vector<float> h(first_h.begin(), first_h.end()), c(first_c.begin(), first_c.end());
    for (size_t t = 0; t < form.steps; ++t) {
      const size_t at = t * form.batch + row;
      const Kept kept(form, data.reserve, at);
      step(form, data, data.x + at * form.inputs, h, c, data.reserve != nullptr ? &kept : nullptr);
      std::copy(h.begin(), h.end(), data.y + at * form.units);
    }
    store(Row(h.begin(), h.end()), data.last_h, row);
    store(Row(c.begin(), c.end()), data.last_c, row);
  }
}

void recurrent_backward_data(const RecurrentForm& form, const RecurrentCotangents& data) {
  for (size_t row = 0; row < form.batch; ++row) row_back(form, data, row);
}

void recurrent_backward_weights(const RecurrentForm& form, const float* x, const float* h,
                                const float* y, const float* reserve, float* dweights) {
  const size_t units = form.units, gates = form.gates();
  Row sums(form.weights(), 0);
  const auto add = [&](size_t linear, const float* derivative, const Row& row) {
    for (size_t u = 0; u < units; ++u) {
      sums[form.bias(linear) + u] += double(derivative[u]);
      for (size_t i = 0; i < row.size(); ++i)
        sums[form.matrix(linear) + u * row.size() + i] += double(derivative[u]) * row[i];
    }
  };
  for (size_t at = 0; at < form.steps * form.batch; ++at) {
    const Kept kept(form, const_cast<float*>(reserve), at);
    const Row input = row_of(x, at, form.inputs);
    const Row state = at >= form.batch ? row_of(y, at - form.batch, units) : row_of(h, at, units);
    for (size_t g = 0; g < gates; ++g) {
      add(g, kept.by_input + g * units, input);
      add(gates + g, kept.by_state + g * units, state);
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) dweights[i] += float(sums[i]);
}

}  // namespace graphc::core::cuda_mock
