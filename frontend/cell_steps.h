// SPDX-License-Identifier: Apache-2.0
// Steps of recurrent cells as functions: from the streams of one step and the states to the output,
// in the notation of their papers. Layers (frontend/blocks.h) add projections; a cell of your own
// may be built of them too.
//
// All axes before the named ones are rows: `q [..., K]` is [batch, K], [batch, heads, K] or [K]. An
// operand with another shape than the states ask for is ErrorKind::input at the caller's line, with
// the shape found and the shape wanted. Each function assigns the states, so it belongs in the body
// of a scan; states start at 0 if nothing else is said.
#pragma once

#include "frontend/functions.h"
#include "frontend/state.h"

namespace graphc::core {

/// The gated delta rule (Yang, Kautz, Hatamizadeh 2024, arXiv 2412.06464): a memory from keys to
/// values that decays, and is corrected at one key.
///   S = exp(-g) S;  u = beta (v - S' k);  S = S + k u';  o = S' q
/// S [..., K, V]; q, k [..., K]; v [..., V]; g, beta [...]. Returns o [..., V]. The state stays
/// bounded for g >= 0, 0 <= beta <= 2 and |k| <= 1.
Value gated_delta(Value q, Value k, Value v, Value g, Value beta, State& s,
                  Where where = Where::here());

/// The selective scan of Mamba (Gu and Dao 2023, arXiv 2312.00752): N decaying sums for each of D
/// channels, whose rates, inputs and read-out follow the input.
///   d = softplus(delta);  h = exp(-d exp(A)) h + (d u) b';  y = h c + skip u
/// h [..., D, N]; A [D, N]; delta, u [..., D]; b, c [..., N]; skip [D].
/// Returns y [..., D].
Value selective_scan(Value delta, Value u, Value b, Value c, Value a, Value skip, State& h,
                     Where where = Where::here());

/// mLSTM (Beck et al. 2024, xLSTM, arXiv 2405.04517): a matrix memory with exponential gates, a
/// normaliser n and a stabiliser m, which starts at -infinity.
///   m' = max(log sigmoid(f) + m, i);  i' = exp(i - m');  f' = exp(log sigmoid(f) + m - m')
///   C = f' C + i' k v';  n = f' n + i' k;  h = C' q / max(|n' q|, exp(-m')), q divided by sqrt(K)
/// C [..., K, V]; n, q, k [..., K]; v [..., V]; m, i, f [...]. Returns h [..., V].
Value mlstm(Value q, Value k, Value v, Value i, Value f, State& c, State& n, State& m,
            Where where = Where::here());

/// sLSTM (the same paper): exponential gates on a vector memory. The gates z hold the products with
/// h, one matrix for each head: `z = x + einsum("bnd,nde->bne", {h, u})`.
///   i, f, g, o = z;  m' = max(log sigmoid(f) + m, i);  i' = exp(i - m')
///   f' = exp(log sigmoid(f) + m - m');  c = f' c + i' tanh(g);  n = f' n + i'
///   h = sigmoid(o) c / n
/// z [..., 4 D]; h, c, n, m [..., D], of which m starts at -infinity. Returns h.
Value slstm(Value z, State& h, State& c, State& n, State& m, Where where = Where::here());

/// RWKV-7 (Peng et al. 2025, arXiv 2503.14456): a matrix memory whose transition is a diagonal plus
/// an outer product.
///   S = S diag(exp(w)) + (S a) b' + v k';  y = S r
/// S [..., V, K]; r, w, k, a, b [..., K]; v [..., V]. Returns y [..., V]. The paper's w is
/// negative, a = -kappa and b = kappa times a gate, for a unit vector kappa.
Value rwkv7(Value r, Value w, Value k, Value v, Value a, Value b, State& s,
            Where where = Where::here());

/// The RG-LRU of Griffin (De et al. 2024, arXiv 2402.19427): a gated decay that keeps the variance.
///   log a = -8 softplus(L) sigmoid(r);  h = a h + sqrt(1 - a^2) (sigmoid(i) x)
/// h, r, i, x [..., D]; L [D]. Returns h. 1 - a^2 is computed as -expm1(2 log a), which is exact
/// for closed gates too; the derivative is infinite where sigmoid(r) is 0, below r = -103 in f32.
Value rg_lru(Value r, Value i, Value x, Value l, State& h, Where where = Where::here());

/// minGRU (Feng et al. 2024, arXiv 2410.01201): gates that read the input alone.
///   h = (1 - sigmoid(z)) h + sigmoid(z) g(x);  g(x) = x + 1/2 for x >= 0, else sigmoid(x)
/// h, z, x [..., D]. Returns h.
Value min_gru(Value z, Value x, State& h, Where where = Where::here());

}  // namespace graphc::core
