# SPDX-License-Identifier: Apache-2.0
# A cell of one's own inside PyTorch: a compiled loop with its derivative, as an operator of torch.
"""A recurrent cell of your own inside PyTorch, compiled in a tenth of a second.

    import graphc, graphc.torch, torch

    @graphc.torch.cell
    def unit(x, h, w, u):                     # one step, as equations on graphc's values
        f, g = graphc.split(x @ w + h @ u, 2)
        gate = graphc.sigmoid(f)
        return gate * h + (1 - gate) * graphc.tanh(g)

    ys, last = unit(xs, h0, w, u)             # tensors: xs [steps, batch, input], h0 [batch, 128]
    ys.sum().backward()

docs/python.md says more.
"""

import itertools
import os
import re
import threading

import torch

from . import _graphc
from .errors import InputError

# A cell is traced in the middle of torch: errors have the line of its equation, or of its call.
_graphc.add_package_folder(os.path.dirname(os.path.abspath(torch.__file__)) + os.sep)

_library = torch.library.Library("graphc", "FRAGMENT")
_numbers = itertools.count()
_PRECISIONS = {torch.float32: "f32", torch.float64: "f64"}


def cell(function=None, *, states=1, target="", threads=0):
    """An operator that runs a cell over all steps of a sequence, with its derivative.

    `function(x, *states, *parameters)` gets one step x of the sequence and returns the next value
    of each of its `states` (a tuple if there are several). It is traced once for each set of shapes
    and may use every function of graphc on its arguments.

    The result is called with tensors: `cell(xs, *states, *parameters, lengths=None)`, xs
    [steps, batch, ...], and returns the first state after every step, and the last value of each
    state. `lengths`, integers [batch], ends each row at its own step: what follows is 0.

    All tensors are float32 in the host's memory, or all float64 with `target="reference"`, which is
    slow and meant for gradcheck. A second derivative is an error.
    """
    if function is None:
        return lambda body: cell(body, states=states, target=target, threads=threads)
    if not callable(function) or states < 1:
        raise InputError("cell: wanted a function of one step and at least one state")
    return Cell(function, states, target, threads)


class Cell:
    """What cell() makes."""

    def __init__(self, function, states, target, threads):
        self.function = function
        self.states = states
        self._options = {"target": target or "cpu", "threads": threads, "announce": _silent}
        if self._options["target"] != "cpu":
            del self._options["threads"]
        self._lock = threading.Lock()
        self._networks = {}
        self.__doc__ = function.__doc__
        self.__name__ = getattr(function, "__name__", "cell")
        word = re.sub(r"\W", "_", self.__name__)
        self._define(f"{word}_{next(_numbers)}")

    def __call__(self, xs, *tensors, lengths=None):
        if len(tensors) < self.states:
            raise InputError(f"{self.__name__}: wanted {self.states} states after the sequence: "
                             f"found {len(tensors)} tensors")
        _check(self.__name__, [xs, *tensors], lengths)
        steps, *last = self._forward(xs, list(tensors), lengths)
        return (steps, *last)

    # --- the operators of torch ---

    def _define(self, name):
        # As torch.library.custom_op does, without its wrapper: that imports torch._dynamo at the
        # first call, which takes ten times as long as to compile a cell.
        tensors = "Tensor xs, Tensor[] tensors, Tensor? lengths"
        _library.define(f"{name}({tensors}) -> Tensor[]")
        _library.define(f"{name}_backward({tensors}, Tensor[] gradients, bool[] wanted) "
                        "-> Tensor[]")
        forward = getattr(torch.ops.graphc, name).default
        backward = getattr(torch.ops.graphc, f"{name}_backward").default

        def run_forward(xs, tensors, lengths=None):
            return self._run("forward", [xs, *tensors], lengths)

        def run_backward(xs, tensors, lengths, gradients, wanted):
            return self._run(self._backward(wanted), [xs, *tensors], lengths, gradients)

        def fake_forward(xs, tensors, lengths=None):
            last = tensors[:self.states]
            return [last[0].new_empty((xs.shape[0], *last[0].shape)),
                    *[state.new_empty(state.shape) for state in last]]

        def fake_backward(xs, tensors, lengths, gradients, wanted):
            return [tensor.new_empty(tensor.shape)
                    for tensor, one in zip([xs, *tensors], wanted) if one]

        def setup(ctx, inputs, output):
            xs, tensors, lengths = inputs
            ctx.has_lengths = lengths is not None
            ctx.wanted = [tensor.requires_grad for tensor in (xs, *tensors)]
            ctx.save_for_backward(xs, *tensors, *([lengths] if ctx.has_lengths else []))

        def differentiate(ctx, gradients):
            xs, *tensors = ctx.saved_tensors
            lengths = tensors.pop() if ctx.has_lengths else None
            found = iter(backward(xs, tensors, lengths, list(gradients), ctx.wanted))
            dx, *others = [next(found) if one else None for one in ctx.wanted]
            return dx, others, None

        def refuse(ctx, *gradients):
            raise InputError(f"{self.__name__}: the second derivative of a cell is not there: "
                             "write the loop in torch where it is wanted")

        for operator, run, fake in ((name, run_forward, fake_forward),
                                    (f"{name}_backward", run_backward, fake_backward)):
            _library.impl(operator, run, "CPU")
            torch.library.register_fake(f"graphc::{operator}", fake, lib=_library)
        torch.library.register_autograd(f"graphc::{name}", differentiate, setup_context=setup,
                                        lib=_library)
        torch.library.register_autograd(f"graphc::{name}_backward", refuse, lib=_library)
        self._forward = forward

    # --- what runs ---

    def _run(self, graph, tensors, lengths, gradients=()):
        given = [tensor.detach() for tensor in (*tensors, *gradients)]
        if lengths is not None:
            given.append(lengths.detach().to(torch.int32))
        with self._lock:
            network = self._network(tensors, lengths is not None)
            found = network.session_for(graph)(graph, *given)
        arrays = found if isinstance(found, tuple) else (found,)
        return [torch.from_numpy(array) for array in arrays]

    def _network(self, tensors, has_lengths):
        ranks = tuple(tensor.dim() for tensor in tensors)
        key = (tensors[0].dtype, has_lengths, ranks)
        if key not in self._networks:
            precision = _PRECISIONS[tensors[0].dtype]
            self._networks[key] = _Network(self, ranks, has_lengths,
                                           {"precision": precision, **self._options})
        return self._networks[key]

    @staticmethod
    def _backward(wanted):
        """The graph of the gradients that are wanted: one for each combination that occurs."""
        return "backward." + "".join("ny"[one] for one in wanted)

    def loop(self, xs, tensors, lengths):
        """The scan of the cell, while a graph is traced."""
        states = [_graphc.State(initial, f"state{place}")
                  for place, initial in enumerate(tensors[:self.states])]
        parameters = tensors[self.states:]

        def step(x):
            found = self.function(x, *[state.value for state in states], *parameters)
            found = found if isinstance(found, (tuple, list)) else (found,)
            if len(found) != self.states:
                raise InputError(f"{self.__name__}: wanted the next value of {self.states} "
                                 f"state{'s' * (self.states > 1)}: found {len(found)} values")
            for state, value in zip(states, found):
                state.value = value
            return states[0]

        steps = _graphc.scan(xs, step, lengths=lengths)
        return [steps, *[state.value for state in states]]


class _Network:
    """A cell for tensors of these ranks: a model and its session."""

    def __init__(self, cell, ranks, has_lengths, options):
        self.cell = cell
        self.ranks = ranks
        self.has_lengths = has_lengths
        self.model = _graphc.Model(cell.__name__)
        self.model.graph("forward", self.forward)
        self.known = {"forward"}
        self.session = _graphc.Session(self.model, **options)

    def session_for(self, graph):
        """The session, whose model has the graph."""
        if graph not in self.known:
            wanted = [letter == "y" for letter in graph.partition(".")[2]]
            self.model.graph(graph, lambda inputs: self.backward(inputs, wanted))
            self.known.add(graph)
        return self.session

    def declared(self, inputs):
        names = ["xs"] + [f"a{place}" for place in range(len(self.ranks) - 1)]
        return [inputs(name, _graphc.DType.f32, [f"{name}.{axis}" for axis in range(rank)])
                for name, rank in zip(names, self.ranks)]

    def results(self, inputs, leaves):
        lengths = inputs("lengths", _graphc.DType.i32, ["batch"]) if self.has_lengths else None
        return self.cell.loop(leaves[0], leaves[1:], lengths)

    def forward(self, inputs):
        return self.results(inputs, self.declared(inputs))

    def backward(self, inputs, wanted):
        leaves = self.declared(inputs)
        states = leaves[1:1 + self.cell.states]
        shapes = [(leaves[0].shape[0], *states[0].shape), *[state.shape for state in states]]
        given = [inputs(f"d{place}", _graphc.DType.f32, shape)
                 for place, shape in enumerate(shapes)]
        results = self.results(inputs, leaves)
        loss = sum(_graphc.sum(result * gradient) for result, gradient in zip(results, given))
        return _graphc.gradients(loss, [leaf for leaf, one in zip(leaves, wanted) if one])


def _silent(line):
    """Sessions of cells say nothing: a shape more is usual in torch."""


def _check(name, tensors, lengths):
    for place, tensor in enumerate(tensors):
        what = "the sequence" if place == 0 else f"argument {place}"
        if not isinstance(tensor, torch.Tensor):
            raise InputError(f"{name}: {what}: wanted a tensor: found {type(tensor).__name__}")
        if tensor.device.type not in ("cpu", "meta"):
            raise InputError(f"{name}: {what} is on {tensor.device}: wanted a tensor on the cpu")
        if tensor.dtype not in _PRECISIONS or tensor.dtype != tensors[0].dtype:
            raise InputError(f"{name}: {what} is {tensor.dtype}: wanted all tensors torch.float32, "
                             "or all torch.float64")
    if lengths is not None and (not isinstance(lengths, torch.Tensor) or lengths.dim() != 1
                                or lengths.dtype not in (torch.int32, torch.int64)):
        raise InputError(f"{name}: lengths: wanted integers [batch]")
