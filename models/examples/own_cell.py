#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# own_cell.cpp in Python: the sLSTM as equations learns the parity of a row of bits.
import numpy as np

import graphc
from graphc import exp, f32, filled, i32, maximum, scan, sigmoid, softplus, split, tanh

STEPS, BATCH, HIDDEN = 24, 32, 32

model = graphc.Model("parity")
w = model.param("w", (1, 4 * HIDDEN), graphc.glorot_uniform())
u = model.param("u", (HIDDEN, 4 * HIDDEN), graphc.orthogonal())
b = model.param("b", 4 * HIDDEN, graphc.zeros())
out = graphc.Linear(model, "out", HIDDEN, 2)


def slstm(x):
    """x [steps, batch, 1] to h of every step."""
    h, c, n, top = (graphc.State(filled((x.shape[1], HIDDEN), 0), name)
                    for name in ("h", "c", "n", "top"))

    def cell(x_t):
        z, i, f, o = split(x_t @ w + b + h @ u, 4)
        keep = top - softplus(-f)  # log sigmoid(f), in the current scale
        most = maximum(keep, i)
        put, forget = exp(i - most), exp(keep - most)
        c.value = forget * c + put * tanh(z)
        n.value = forget * n + put
        top.value = most
        h.value = sigmoid(o) * c / n
        return h

    return scan(x, cell)


@model.graph("train", mode="training")
def train(inputs):
    bits = inputs("bits", f32, ["steps", "batch", 1])
    odd = inputs("odd", i32, ["steps", "batch"])
    logits = out(slstm(bits))
    loss = graphc.mean(graphc.cross_entropy(logits, odd))
    graphc.minimize(loss, model.params(), graphc.Adam(rate=0.01))
    right = graphc.mean(graphc.cast(graphc.argmax(logits, 2) == odd, f32))
    return {"loss": loss, "right": right}


session = graphc.Session(model)
numbers = np.random.default_rng(1)
right = 0
for _ in range(3000):
    bits = numbers.integers(0, 2, (STEPS, BATCH, 1))
    right = session("train", bits, np.cumsum(bits[..., 0], 0) % 2)["right"]
    if right >= 0.99:
        break
print("not learnt" if right < 0.99 else "learnt: 99 % of 24 steps are right")
