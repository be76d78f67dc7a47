# SPDX-License-Identifier: Apache-2.0
# A peer: the workloads in JAX, jit of a scan over an LSTM's equations.
"""Modes: scan (every product inside the loop); unrolled (the input's product before the loop, which
XLA unrolls). In bf16 factors are rounded; sums and states are f32."""
import functools

import jax
import jax.numpy as jnp
import numpy

from jax_cells import CellRunner  # noqa: F401: of cell-layer
from settings import UNROLL
from workloads import clip_of, rate_of


def prepare(threads):
    """XLA uses as many threads as the process has cores: the caller has limited those."""
    del threads
    jax.config.update("jax_platforms", "cpu")


def version():
    """The peer's version, for tables."""
    return jax.__version__


def place(found, batches):
    """The batches in the peer's representation."""
    del found
    return [tuple(jax.device_put(each) for each in batch) for batch in batches]


def product(a, b, kind):
    """a b with factors of this kind and sums in f32."""
    return jnp.matmul(a.astype(kind), b.astype(kind), preferred_element_type=jnp.float32)


def lstm(mode, kind, x, state, w, u, b):
    """An LSTM layer over x [T,B,I]: its outputs [T,B,H] and its final state (h, c)."""
    before = mode == "unrolled"

    def cell(carry, x_t):
        h, c = carry
        z = (x_t if before else product(x_t, w, kind) + b) + product(h, u, kind)
        i, f, g, o = jnp.split(z, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    streams = product(x, w, kind) + b if before else x
    state, y = jax.lax.scan(cell, state, streams, unroll=UNROLL if before else 1)
    return y, state


def layer_loss(mode, kind, weights, state, x, y):
    """W1's loss, its state (none), its output."""
    zero = jnp.zeros_like(y)
    _, (h, _) = lstm(mode, kind, x, (zero, zero), weights["w"], weights["u"], weights["b"])
    return jnp.mean((h - y) ** 2), (state, h)


def model_loss(mode, kind, weights, state, words, targets):
    """W2's cost, the state after the window, the cost again."""
    x, after = weights["embedding"][words], []
    for index, before in enumerate(state):
        names = [f"lstm.{index}.{each}" for each in "wub"]
        x, end = lstm(mode, kind, x, before, *(weights[name] for name in names))
        after.append(end)
    logits = product(x, weights["softmax.w"], kind) + weights["softmax.b"]
    chosen = jnp.take_along_axis(logits, targets[..., None], axis=2)[..., 0]
    cost = jnp.sum(jax.nn.logsumexp(logits, axis=2) - chosen) / words.shape[1]
    return cost, (jax.lax.stop_gradient(after), cost)


class Runner:
    """A workload in one setting. Calls return when their results are complete."""

    def __init__(self, found, mode, precision, weights, batches):
        self.found, self.batches = found, batches
        kind = jnp.bfloat16 if precision == "bf16" else jnp.float32
        loss = layer_loss if found["model"] == "lstm-layer" else model_loss
        self.loss = functools.partial(loss, mode, kind)
        self.derive = jax.jit(jax.value_and_grad(self.loss, has_aux=True))
        self.run = jax.jit(lambda *arguments: self.loss(*arguments)[1])
        self.step = jax.jit(self.updated, donate_argnums=0)
        self.reset(weights)

    def updated(self, weights, state, *batch):
        """Loss, new weights and new state."""
        (loss, (state, _)), gradients = jax.value_and_grad(self.loss, has_aux=True)(
            weights, state, *batch
        )
        rate, clip = rate_of(self.found), clip_of(self.found)
        if clip is not None:
            norm = jnp.sqrt(sum(jnp.sum(g * g) for g in gradients.values()))
            rate = rate * clip / jnp.maximum(norm, clip)
        return loss, {n: w - rate * gradients[n] for n, w in weights.items()}, state

    def reset(self, weights):
        """Restarts with these weights and zero states."""
        self.held = {name: jnp.array(each) for name, each in weights.items()}
        self.state = []
        if self.found["model"] == "ptb-lm":
            shape = (self.found["batch"], self.found["hidden"])
            zero = jnp.zeros(shape)
            self.state = [(zero, zero) for _ in range(self.found["layers"])]

    def train(self, index):
        """One step on a batch; returns the loss."""
        batch = self.batches[index % len(self.batches)]
        loss, self.held, self.state = self.step(self.held, self.state, *batch)
        return jax.block_until_ready((loss, self.held))[0]

    def forward(self, index):
        """The output or, for a language model, the loss; without gradients."""
        batch = self.batches[index % len(self.batches)]
        self.state, output = self.run(self.held, self.state, *batch)
        return jax.block_until_ready(output)

    def gradients(self):
        """Loss and gradients on the first batch, by graphc's names."""
        (loss, _), gradients = self.derive(self.held, self.state, *self.batches[0])
        found = {"loss": numpy.asarray(loss)}
        found.update({f"gradient.{n}": numpy.asarray(g) for n, g in gradients.items()})
        return found

    def weights(self):
        """The current parameters, by graphc's names."""
        return {name: numpy.array(each) for name, each in self.held.items()}
