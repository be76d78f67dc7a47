# SPDX-License-Identifier: Apache-2.0
# Two cells in a process that keeps XLA's programs on disk, compiled in either order: prints their
# results. A program that found the other cell would print the other's.
import sys

import jax
import jax.numpy as jnp

import graphc
import graphc.jax

folder, order = sys.argv[1:]
jax.config.update("jax_compilation_cache_dir", folder)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)


@graphc.jax.cell
def add(x, h):
    return x + h


@graphc.jax.cell
def subtract(x, h):
    return x - h


def program(cell):
    return jax.jit(lambda x, h: cell(x, h)[1])(jnp.ones((3, 2)), jnp.full(2, 0.25)).tolist()


found = {}
for name, cell in [("add", add), ("subtract", subtract)][::1 if order == "first" else -1]:
    found[name] = program(cell)
print(sorted(found.items()))
