// SPDX-License-Identifier: Apache-2.0
// Blocks: recurrent layers with states of several axes, each a cell of frontend/cell_steps.h with
// the projections of its paper around it. Where the papers put a short causal convolution or a
// token shift before the cell, these blocks have nothing; mix the steps of xs before the call.
//
// A block takes xs [steps, batch, in] and returns [steps, batch, hidden]. Its states are a list,
// because cells differ in them: states() says which. Calling the block as a function starts from
// their first values; run() goes on from given ones, and step() is one step, for generation. A
// block over T steps and T calls of step() give the same numbers. ScanOptions are those of layers
// (frontend/layers.h): reverse, and lengths of rows.
//
// `x w` and the like are products with parameters. Blocks have no biases where their papers have
// none. Normalisation before a block, and the residual around it, are the model's.
#pragma once

#include <string>
#include <vector>

#include "frontend/functions.h"
#include "frontend/model.h"
#include "frontend/scan.h"

namespace graphc::core {

/// A state of a block: its name, its shape with the rows first, and its first value.
struct BlockState {
  std::string name;
  Shape shape;
  double start = 0;
};

/// Options of blocks with heads: `GatedDelta(m, "memory", 64, 64, {.heads = 4})`. A head has hidden
/// / heads keys and as many values.
struct HeadOptions {
  int64_t heads = 1;
  Initializer weights = glorot_uniform();
};

/// Options of a SelectiveScan: numbers of each channel's state.
struct SelectiveScanOptions {
  int64_t state = 16;
  Initializer weights = glorot_uniform();
};

/// What all blocks offer.
class RecurrentBlock {
 public:
  virtual ~RecurrentBlock() = default;

  /// The states before the first step of `batch` rows, in the order of step().
  virtual std::vector<BlockState> states(int64_t batch) const = 0;
  virtual Params params() const = 0;

  /// The same as states of the model, named `prefix` and their own names: a graph that takes them
  /// here goes on where its last call ended.
  std::vector<State> carried(Inputs& in, const std::string& prefix, int64_t batch,
                             StateOptions options = {.transient = true},
                             Where where = Where::here()) const;
  /// One step of x [batch, in]: [batch, hidden]. Throws ErrorKind::input if the states are not
  /// those of states().
  Value step(Value x, std::vector<State>& states, Where where = Where::here()) const;
  Value run(Value xs, std::vector<State>& states, ScanOptions options = {},
            Where where = Where::here()) const;
  Value operator()(Value xs, ScanOptions options = {}, Where where = Where::here()) const;

 protected:
  RecurrentBlock(const char* kind, int64_t in, int64_t hidden, int64_t heads, Where where);

  /// One step, for states that match.
  virtual Value next(Value x, std::vector<State>& states) const = 0;

  int64_t hidden() const { return hidden_; }
  int64_t heads() const { return heads_; }
  /// hidden / heads.
  int64_t width() const { return hidden_ / heads_; }
  /// x [batch, hidden] as [batch, heads, width], and back.
  Value by_head(Value x) const;
  Value joined(Value x) const;

 private:
  const char* kind_;
  int64_t in_, hidden_, heads_;
};

/// Gated DeltaNet (Yang, Kautz, Hatamizadeh 2024, arXiv 2412.06464): gated_delta() a head.
///   q, k, v, z = x w;  q and k are silu(.) divided by their norm, and v is silu(v)
///   g = exp(a) softplus(x w_g + b_g);  beta = sigmoid(x w_beta);  w_gates holds w_g and w_beta
///   y = (rms_norm(o / sqrt(K)) gain silu(z)) w_out
/// w [in, 4 hidden]; w_gates [in, 2 heads]; a, b_g [heads]; gain [K]; w_out [hidden, hidden]. State
/// "s" [batch, heads, K, K], K = hidden / heads.
struct GatedDelta : RecurrentBlock {
  Param w, w_gates, a, b_g, gain, w_out;

  GatedDelta(Model& model, const std::string& name, int64_t in, int64_t hidden,
             const Initializer& weights = glorot_uniform(), Where where = Where::here());
  GatedDelta(Model& model, const std::string& name, int64_t in, int64_t hidden, HeadOptions options,
             Where where = Where::here());
  std::vector<BlockState> states(int64_t batch) const override;
  Params params() const override { return {w, w_gates, a, b_g, gain, w_out}; }

 private:
  Value next(Value x, std::vector<State>& states) const override;
};

/// mLSTM (Beck et al. 2024, arXiv 2405.04517): mlstm() a head.
///   q, k, v, o = x w;  i, f = x w_gates + b_gates
///   y = (layer_norm(h) gain sigmoid(o)) w_out, normalised a head
/// w [in, 4 hidden]; w_gates [in, 2 heads]; b_gates [2 heads], 3 for f at first; gain [hidden];
/// w_out [hidden, hidden]. States "c" [batch, heads, K, K], "n" [batch, heads, K], "m" [batch,
/// heads].
struct Mlstm : RecurrentBlock {
  Param w, w_gates, b_gates, gain, w_out;

  Mlstm(Model& model, const std::string& name, int64_t in, int64_t hidden,
        const Initializer& weights = glorot_uniform(), Where where = Where::here());
  Mlstm(Model& model, const std::string& name, int64_t in, int64_t hidden, HeadOptions options,
        Where where = Where::here());
  std::vector<BlockState> states(int64_t batch) const override;
  Params params() const override { return {w, w_gates, b_gates, gain, w_out}; }

 private:
  Value next(Value x, std::vector<State>& states) const override;
};

/// sLSTM (the same paper): slstm(), with one recurrent matrix a head.
///   z = x w + b + h u a head, its gates in the order i, f, g, o;  y = layer_norm(h) gain,
///   normalised a head
/// w [in, 4 hidden] and b [heads, 4 D], gates side by side in a head, 1 for f at first; u [heads,
/// D, 4 D], D = hidden / heads; gain [hidden]. States "h", "c", "n", "m" [batch, heads, D].
struct Slstm : RecurrentBlock {
  Param w, u, b, gain;

  Slstm(Model& model, const std::string& name, int64_t in, int64_t hidden,
        const Initializer& weights = glorot_uniform(), Where where = Where::here());
  Slstm(Model& model, const std::string& name, int64_t in, int64_t hidden, HeadOptions options,
        Where where = Where::here());
  std::vector<BlockState> states(int64_t batch) const override;
  Params params() const override { return {w, u, b, gain}; }

 private:
  Value next(Value x, std::vector<State>& states) const override;
};

/// Mamba's block (Gu and Dao 2023, arXiv 2312.00752): selective_scan().
///   u, z = x w;  u = silu(u);  b, c = u w_bc;  delta = u w_low w_delta + b_delta
///   y = (selective_scan silu(z)) w_out
/// w [in, 2 hidden]; w_bc [hidden, 2 N]; w_low [hidden, R], w_delta [R, hidden], R = hidden / 16
/// rounded up; b_delta, skip [hidden]; a [hidden, N], log 1 to N at first; w_out [hidden, hidden].
/// State "h" [batch, hidden, N].
struct SelectiveScan : RecurrentBlock {
  Param w, w_bc, w_low, w_delta, b_delta, a, skip, w_out;

  SelectiveScan(Model& model, const std::string& name, int64_t in, int64_t hidden,
                const Initializer& weights = glorot_uniform(), Where where = Where::here());
  SelectiveScan(Model& model, const std::string& name, int64_t in, int64_t hidden,
                SelectiveScanOptions options, Where where = Where::here());
  std::vector<BlockState> states(int64_t batch) const override;
  Params params() const override { return {w, w_bc, w_low, w_delta, b_delta, a, skip, w_out}; }

 private:
  Value next(Value x, std::vector<State>& states) const override;
};

/// RWKV-7's time mixing (Peng et al. 2025, arXiv 2503.14456): rwkv7() a head, with full matrices
/// where the paper has products of low rank, and without its token shift and value residual.
///   r, w, k, v, a, g = x w;  w = -exp(-1/2) sigmoid(w + w_0);  a = sigmoid(a + a_0)
///   kappa = k removal, divided by its norm a head;  k = k (1 + (a - 1) replacement)
///   o = rwkv7(r, w, k, v, -kappa, kappa a)
///   y = ((layer_norm(o) gain + bias + (sum of r k bonus) v) sigmoid(g)) w_out, normalised a head
/// w [in, 6 hidden]; w_0, a_0, removal, replacement, bonus, gain, bias [hidden]; w_out [hidden,
/// hidden]. State "s" [batch, heads, K, K].
struct Rwkv7 : RecurrentBlock {
  Param w, w_0, a_0, removal, replacement, bonus, gain, bias, w_out;

  Rwkv7(Model& model, const std::string& name, int64_t in, int64_t hidden,
        const Initializer& weights = glorot_uniform(), Where where = Where::here());
  Rwkv7(Model& model, const std::string& name, int64_t in, int64_t hidden, HeadOptions options,
        Where where = Where::here());
  std::vector<BlockState> states(int64_t batch) const override;
  Params params() const override {
    return {w, w_0, a_0, removal, replacement, bonus, gain, bias, w_out};
  }

 private:
  Value next(Value x, std::vector<State>& states) const override;
};

/// Griffin's recurrent block (De et al. 2024, arXiv 2402.19427): rg_lru() with full gate matrices.
///   u, z = x w;  r, i = u w_gates + b_gates;  y = (rg_lru(r, i, u) gelu(z)) w_out
/// w [in, 2 hidden]; w_gates [hidden, 2 hidden]; b_gates [2 hidden]; l [hidden], drawn so that a is
/// 0.9 to 0.999 where r is 1; w_out [hidden, hidden]. State "h" [batch, hidden].
struct RgLru : RecurrentBlock {
  Param w, w_gates, b_gates, l, w_out;

  RgLru(Model& model, const std::string& name, int64_t in, int64_t hidden,
        const Initializer& weights = glorot_uniform(), Where where = Where::here());
  std::vector<BlockState> states(int64_t batch) const override;
  Params params() const override { return {w, w_gates, b_gates, l, w_out}; }

 private:
  Value next(Value x, std::vector<State>& states) const override;
};

/// minGRU (Feng et al. 2024, arXiv 2410.01201): z, x = x w + b, then min_gru().
/// w [in, 2 hidden]; b [2 hidden]. State "h" [batch, hidden].
struct MinGru : RecurrentBlock {
  Param w, b;

  MinGru(Model& model, const std::string& name, int64_t in, int64_t hidden,
         const Initializer& weights = glorot_uniform(), Where where = Where::here());
  std::vector<BlockState> states(int64_t batch) const override;
  Params params() const override { return {w, b}; }

 private:
  Value next(Value x, std::vector<State>& states) const override;
};

}  // namespace graphc::core
