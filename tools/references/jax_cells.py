# SPDX-License-Identifier: Apache-2.0
# The cells of cell-layer in JAX: jit of a scan over steps.
"""A cell is a function from named arrays to a step, its first states and its streams, and to what
follows the scan. Modes: scan; unrolled (XLA unrolls the loop); checkpoint (a step is computed
again for its derivative)."""
import jax
import jax.numpy as jnp
import numpy
from jax.nn import log_sigmoid, sigmoid, softplus

import stream_cells
from settings import UNROLL


def last(a, y):
    """Nothing follows the scan."""
    del a
    return y


def gated_delta(a):
    keys, values = a["q"].shape[1:], a["v"].shape[2]

    def step(s, streams):
        q, k, v, decay, beta = streams
        s = decay[:, None, None] * s
        u = beta[:, None] * (v - jnp.einsum("rk,rkv->rv", k, s))
        s = s + k[:, :, None] * u[:, None, :]
        return s, jnp.einsum("rk,rkv->rv", q, s)

    streams = (a["q"], a["k"], a["v"], jnp.exp(-a["g"]), a["beta"])
    return step, jnp.zeros((*keys, values)), streams, last


def selective_scan(a):
    d, rates = softplus(a["delta"]), jnp.exp(a["a"])

    def step(h, streams):
        d, into, b, c = streams
        h = jnp.exp(-d[:, :, None] * rates) * h + into[:, :, None] * b[:, None, :]
        return h, jnp.einsum("bds,bs->bd", h, c)

    first = jnp.zeros((*a["u"].shape[1:], a["b"].shape[-1]))
    return step, first, (d, d * a["u"], a["b"], a["c"]), lambda a, y: y + a["skip"] * a["u"]


def scaled(i, log_f, m):
    """xLSTM's gates relative to the new stabiliser, and it."""
    kept = log_f + m
    m = jnp.maximum(kept, i)
    return jnp.exp(i - m), jnp.exp(kept - m), m


def mlstm(a):
    rows, keys = a["q"].shape[1:]

    def step(states, streams):
        c, n, m = states
        q, k, v, i, log_f = streams
        i, f, m = scaled(i, log_f, m)
        k = i[:, None] * k
        c = f[:, None, None] * c + k[:, :, None] * v[:, None, :]
        n = f[:, None] * n + k
        least = jnp.maximum(jnp.abs(jnp.sum(n * q, -1)), jnp.exp(-m))
        return (c, n, m), jnp.einsum("rk,rkv->rv", q, c) / least[:, None]

    first = (jnp.zeros((rows, keys, a["v"].shape[-1])), jnp.zeros((rows, keys)))
    streams = (a["q"] * keys**-0.5, a["k"], a["v"], a["i"], log_sigmoid(a["f"]))
    return step, (*first, jnp.full(rows, -jnp.inf)), streams, last


def slstm(a):
    def step(states, x):
        h, c, n, m = states
        i, f, g, o = jnp.split(x + jnp.einsum("bnd,nde->bne", h, a["u"]), 4, -1)
        i, f, m = scaled(i, log_sigmoid(f), m)
        c, n = f * c + i * jnp.tanh(g), f * n + i
        h = sigmoid(o) * c / n
        return (h, c, n, m), h

    shape = (*a["x"].shape[1:3], a["u"].shape[1])
    zero = jnp.zeros(shape)
    return step, (zero, zero, zero, jnp.full(shape, -jnp.inf)), a["x"], last


def rwkv7(a):
    def step(s, streams):
        r, decay, k, v, a, b = streams
        removed = jnp.einsum("rvk,rk->rv", s, a)
        s = s * decay[:, None, :] + removed[:, :, None] * b[:, None, :]
        s = s + v[:, :, None] * k[:, None, :]
        return s, jnp.einsum("rvk,rk->rv", s, r)

    first = jnp.zeros((*a["v"].shape[1:], a["r"].shape[-1]))
    return step, first, (a["r"], jnp.exp(a["w"]), a["k"], a["v"], a["a"], a["b"]), last


def linear(h, streams):
    """h = a h + b."""
    h = streams[0] * h + streams[1]
    return h, h


def rg_lru(a):
    log_a = softplus(a["l"]) * -8 * sigmoid(a["r"])
    into = jnp.sqrt(-jnp.expm1(2 * log_a)) * (sigmoid(a["i"]) * a["x"])
    return linear, jnp.zeros(into.shape[1:]), (jnp.exp(log_a), into), last


def min_gru(a):
    z, x = sigmoid(a["z"]), a["x"]
    into = z * jnp.where(x >= 0, x + 0.5, sigmoid(x))
    return linear, jnp.zeros(into.shape[1:]), (1 - z, into), last


def attention_decoder(a):
    def step(h, x):
        scores = jnp.tanh((h @ a["w_h"])[:, None] + a["keys"]) @ a["v"]
        context = jnp.einsum("bm,bmd->bd", jax.nn.softmax(scores), a["memory"])
        xr, xz, xn = jnp.split(x + context @ a["w"], 3, -1)
        hr, hz, hn = jnp.split(h @ a["u"], 3, -1)
        r, z = sigmoid(xr + hr), sigmoid(xz + hz)
        h = (1 - z) * jnp.tanh(xn + r * hn) + z * h
        return h, h

    return step, jnp.zeros((a["x"].shape[1], a["u"].shape[0])), a["x"] + a["b"], last


CELLS = {
    "gated-delta": gated_delta,
    "selective-scan": selective_scan,
    "mlstm": mlstm,
    "slstm": slstm,
    "rwkv7": rwkv7,
    "rg-lru": rg_lru,
    "min-gru": min_gru,
    "attention-decoder": attention_decoder,
}


class CellRunner:
    """A cell in one setting, in f32, with its gradients and no update."""

    def __init__(self, found, mode, precision, weights, batches):
        del precision  # settings.py has no other
        names = [array.name for array, _ in stream_cells.inputs(found)]
        held = {name: jnp.array(each) for name, each in weights.items()}
        self.leaves = [{**dict(zip(names, batch)), **held} for batch in batches]
        cell, unroll = CELLS[found["cell"]], UNROLL if mode == "unrolled" else 1

        def output(a):
            step, first, streams, after = cell(a)
            if mode == "checkpoint":
                step = jax.checkpoint(step, prevent_cse=False)
            return after(a, jax.lax.scan(step, first, streams, unroll=unroll)[1])

        self.run = jax.jit(output)
        self.derive = jax.jit(jax.value_and_grad(lambda a: jnp.mean(output(a) ** 2)))

    def reset(self, weights):
        """Nothing changes from call to call."""

    def train(self, index):
        """Loss and gradients of a batch; returns the loss."""
        return jax.block_until_ready(self.derive(self.leaves[index % len(self.leaves)]))[0]

    def forward(self, index):
        """The output, without gradients."""
        return jax.block_until_ready(self.run(self.leaves[index % len(self.leaves)]))

    def gradients(self):
        """Loss and gradients on the first batch, by graphc's names."""
        loss, gradients = self.derive(self.leaves[0])
        found = {"loss": numpy.asarray(loss)}
        found.update({f"gradient.{n}": numpy.asarray(g) for n, g in gradients.items()})
        return found
