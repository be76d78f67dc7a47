# SPDX-License-Identifier: Apache-2.0
# graphc inside PyTorch: cells as operators, models as modules.
"""A recurrent cell of your own inside PyTorch, compiled in a tenth of a second.

    import graphc, graphc.torch, torch

    @graphc.torch.cell
    def unit(x, h, w, u):                     # one step, as equations on graphc's values
        f, g = graphc.split(x @ w + h @ u, 2)
        gate = graphc.sigmoid(f)
        return gate * h + (1 - gate) * graphc.tanh(g)

    ys, last = unit(xs, h0, w, u)             # tensors: xs [steps, batch, input], h0 [batch, 128]
    ys.sum().backward()

`graphc.torch.module(model, "predict")` is a graph of a model as a torch.nn.Module,
`graphc.torch.function(fn)` any function of tensors; LSTM, GRU, RNN and Linear are the layers of
torch.nn with graphc inside. docs/python.md says more.
"""

import os as _os

import torch as _torch

from .. import _graphc
from .cells import Cell, cell
from .functions import Function, function
from .layers import GRU, LSTM, RNN, Linear
from .modules import Module, module

# Threads of PyTorch spin for milliseconds after each of its operations: steps run on them.
_graphc._use_threads_of(_os.path.join(_os.path.dirname(_os.path.abspath(_torch.__file__)), "lib",
                                      "libtorch_cpu.so"))
# A cell is traced in the middle of torch: errors have the line of its equation, or of its call.
_graphc.add_package_folder(_os.path.dirname(_os.path.abspath(_torch.__file__)) + _os.sep)

__all__ = ["Cell", "Function", "GRU", "LSTM", "Linear", "Module", "RNN", "cell", "function",
           "module"]
