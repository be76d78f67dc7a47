#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A peer: W1's layer in JAX, a scan over an LSTM's equations, one line of JSON per precision.
# XLA_FLAGS determine how its loops run. Exit code 5: no JAX, or no GPU for it.
import argparse
import json
import statistics
import sys
import time


def fail(reason):
    print(reason, file=sys.stderr)
    sys.exit(5)


try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    fail(f"this Python has no JAX: {error}")

RATE = 0.01
# The element type of the layer, and the precision of f32 products.
PRECISIONS = {
    "f32": (jnp.float32, "highest"),
    "tf32": (jnp.float32, "tensorfloat32"),
    "bf16": (jnp.bfloat16, "default"),
    "fp16": (jnp.float16, "default"),
}


def loss(parameters, x, y, dtype):
    w, u, b = (parameter.astype(dtype) for parameter in parameters)
    z = jnp.einsum("tbi,ij->tbj", x.astype(dtype), w) + b
    zero = jnp.zeros(y.shape, dtype)

    def cell(carry, z_t):
        h, c = carry
        i, f, g, o = jnp.split(z_t + h @ u, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), None

    (h, _), _ = jax.lax.scan(cell, (zero, zero), z)
    return jnp.mean((h.astype(jnp.float32) - y) ** 2)


def measure(options, precision):
    dtype, products = PRECISIONS[precision]
    hidden, steps, batch = options.hidden, options.steps, options.batch
    keys = jax.random.split(jax.random.PRNGKey(1), 4)
    limit = (6 / (5 * hidden)) ** 0.5
    parameters = (
        jax.random.uniform(keys[0], (hidden, 4 * hidden), minval=-limit, maxval=limit),
        jax.random.uniform(keys[1], (hidden, 4 * hidden), minval=-limit, maxval=limit),
        jnp.zeros((4 * hidden,)).at[hidden : 2 * hidden].set(1.0),
    )
    x = jax.random.uniform(keys[2], (steps, batch, hidden))
    y = jax.random.uniform(keys[3], (batch, hidden))

    @jax.jit
    def train(parameters, x, y):
        value, gradients = jax.value_and_grad(loss)(parameters, x, y, dtype)
        return value, tuple(p - RATE * g for p, g in zip(parameters, gradients))

    forward = jax.jit(loss, static_argnums=3)
    with jax.default_matmul_precision(products):
        begun = time.perf_counter()
        jax.block_until_ready(train(parameters, x, y))
        compiled = time.perf_counter() - begun
        jax.block_until_ready(forward(parameters, x, y, dtype))
        found = {"compile_s": compiled}
        for name, call in (
            ("train", lambda: train(parameters, x, y)),
            ("forward", lambda: forward(parameters, x, y, dtype)),
        ):
            readings = []
            for _ in range(options.repeat):
                begun = time.perf_counter()
                jax.block_until_ready(call())
                readings.append(1000 * (time.perf_counter() - begun))
            found[f"{name}_step_ms"] = statistics.median(readings)
            found[f"{name}_step_ms_min"] = min(readings)
            found[f"{name}_step_ms_max"] = max(readings)
    return found


def main():
    parser = argparse.ArgumentParser(description="W1's layer in JAX")
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--device", default="gpu", help="the platform: gpu or cpu")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--small", action="store_true", help="extents for a dry run")
    options = parser.parse_args()
    if options.small:
        options.hidden, options.steps, options.batch, options.repeat = 4, 2, 2, 1
    if jax.default_backend() != options.device:
        fail(f"JAX computes on '{jax.default_backend()}', not on '{options.device}'")
    for precision in PRECISIONS:
        row = {"mode": "scan", "precision": precision, "version": f"jax {jax.__version__}"}
        try:
            row.update(measure(options, precision))
        except Exception as error:  # the others are useful without it
            row["absent"] = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
