#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Gradients of a cell of one's own in JAX: through graphc, and by jax.lax.scan in the same run.
"""Prints the milliseconds of a loss with its gradients under jit, through graphc and as a scan.

The two take turns; figures are medians, and means of the fastest tenth.

    jax_cell.py [--steps 100] [--batch 32] [--input 64] [--hidden 128] [--repeat 60]
"""

import argparse
import statistics
import time

import jax
import jax.numpy as jnp

import graphc
import graphc.jax


@graphc.jax.cell
def gate(x, h, w, u):
    """A unit with one gate, as equations on graphc's values."""
    f, g = graphc.split(x @ w + h @ u, 2)
    z = graphc.sigmoid(f)
    return z * h + (1 - z) * graphc.tanh(g)


def scan(xs, h, w, u):
    """The same loop in JAX."""
    def step(h, x):
        f, g = jnp.split(x @ w + h @ u, 2, axis=1)
        z = jax.nn.sigmoid(f)
        h = z * h + (1 - z) * jnp.tanh(g)
        return h, h

    h, ys = jax.lax.scan(step, h, xs)
    return ys, h


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("steps", 100), ("batch", 32), ("input", 64), ("hidden", 128),
                          ("repeat", 60)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    keys = jax.random.split(jax.random.key(1), 3)
    xs = jax.random.normal(keys[0], (options.steps, options.batch, options.input))
    h = jnp.zeros((options.batch, options.hidden))
    parameters = [0.1 * jax.random.normal(key, (rows, 2 * options.hidden))
                  for key, rows in zip(keys[1:], (options.input, options.hidden))]
    programs = {"graphc": gate, "JAX": scan}
    seconds, found, first = {}, {}, {}
    for name, cell in programs.items():
        loss = lambda w, u, cell=cell: (cell(xs, h, w, u)[0] ** 2).mean()
        programs[name] = jax.jit(jax.value_and_grad(loss, (0, 1)))
        begun = time.perf_counter()
        found[name] = jax.block_until_ready(programs[name](*parameters))
        first[name], seconds[name] = time.perf_counter() - begun, []
    for _ in range(options.repeat):
        for name, program in programs.items():
            for _ in range(2):
                begun = time.perf_counter()
                jax.block_until_ready(program(*parameters))
                seconds[name].append(time.perf_counter() - begun)
    worst = max(float(jnp.abs(a - b).max() / jnp.abs(b).max())
                for a, b in zip(*map(jax.tree.leaves, found.values())))
    print(f"T {options.steps}, B {options.batch}, I {options.input}, H {options.hidden}; "
          f"JAX {jax.__version__}; results and gradients differ by at most {worst:.1e}")
    for name, times in seconds.items():
        times = sorted(times)
        print(f"{name:8} {1e3 * statistics.median(times):7.2f} ms, fastest "
              f"{1e3 * statistics.mean(times[:len(times) // 10]):.2f}, "
              f"the first {1e3 * first[name]:.0f}")


if __name__ == "__main__":
    main()
