# SPDX-License-Identifier: Apache-2.0
# graphc inside JAX: cells as functions that jit, grad and vmap take.
"""A recurrent cell of your own inside JAX, compiled in a tenth of a second, on the CPU.

    import graphc, graphc.jax, jax

    @graphc.jax.cell
    def unit(x, h, w, u):                     # one step, as equations on graphc's values
        f, g = graphc.split(x @ w + h @ u, 2)
        gate = graphc.sigmoid(f)
        return gate * h + (1 - gate) * graphc.tanh(g)

    def loss(w, u):
        ys, last = unit(xs, h0, w, u)         # arrays: xs [steps, batch, input], h0 [batch, 128]
        return (ys ** 2).mean()

    step = jax.jit(jax.grad(loss, argnums=(0, 1)))

docs/python.md says more.
"""

import os as _os

import jax as _jax

from .. import _graphc
from .cells import Cell, cell

# A cell is traced in the middle of jax: errors have the line of its equation, or of its call.
_graphc.add_package_folder(_os.path.dirname(_os.path.abspath(_jax.__file__)) + _os.sep)

__all__ = ["Cell", "cell"]
