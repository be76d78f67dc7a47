# SPDX-License-Identifier: Apache-2.0
# A cell of one's own inside PyTorch: a compiled loop with its derivative, as an operator of torch.
"""Cells as operators of torch: graphc.torch.cell()."""

import torch

from .. import _graphc
from ..errors import InputError
from .networks import DType, Network, precision_of, usable
from .operators import Operators


def cell(function=None, *, states=1, reverse=False, target="", threads=0, save_every=0,
         **options):
    """An operator that runs a cell over all steps of a sequence, with its derivative.

    `function(x, *states, *parameters)` gets one step x of the sequence and returns the next value
    of each of its `states` (a tuple if there are several). It is traced once for each set of shapes
    and may use every function of graphc on its arguments.

    The result is called with tensors: `cell(xs, *states, *parameters, lengths=None)`, xs
    [steps, batch, ...], and returns the first state after every step, and the last value of each
    state. `lengths`, integers [batch], ends each row at its own step: what follows is 0. With
    `reverse` the loop begins at the last step, or at each row's own.

    All tensors are float32 in the host's memory, or all float64 with `target="reference"`, which is
    slow and meant for gradcheck. Under torch.autocast they are computed in float32, and the factors
    of products are rounded to bfloat16 if that is the type of autocast. There are a first and a
    second derivative. `save_every=n` keeps the states of every n-th step alone for the derivative
    and computes the others again. Further options are those of graphc.Session.
    """
    if function is None:
        return lambda body: cell(body, states=states, reverse=reverse, target=target,
                                 threads=threads, save_every=save_every, **options)
    if not callable(function) or states < 1:
        raise InputError("cell: wanted a function of one step and at least one state: found "
                         f"{type(function).__name__} and states={states}")
    return Cell(function, states, reverse, save_every,
                {"target": target, "threads": threads, **options})


class Cell:
    """What cell() makes. A copy is the cell itself; it is pickled by its name, like a function."""

    def __init__(self, function, states, reverse, save_every, options):
        self.function = function
        self.states = states
        self.reverse = reverse
        self.save_every = save_every
        self._options = {"target": "cpu", "announce": _silent, **options}
        self._options["target"] = self._options["target"] or "cpu"
        if self._options["target"] != "cpu":
            del self._options["threads"]
        self._networks = {}
        self.__doc__ = function.__doc__
        self.__name__ = getattr(function, "__name__", "cell")
        self.__qualname__ = getattr(function, "__qualname__", self.__name__)
        self.__module__ = getattr(function, "__module__", __name__)
        self._operators = Operators(self.__name__, self._network, self._results)

    def __call__(self, xs, *tensors, lengths=None):
        if len(tensors) < self.states:
            raise InputError(f"{self.__name__}: wanted {self.states} states after the sequence: "
                             f"found {len(tensors)} tensors")
        given, precision = _prepared(self.__name__, [xs, *tensors])
        if lengths is not None:
            _check_lengths(self.__name__, lengths)
            given.append(lengths.to(torch.int32))
        found = self._operators(given, precision)
        return tuple(found[:1 + self.states])

    def __repr__(self):
        return f"<graphc.torch.Cell {self.__module__}.{self.__qualname__}, {self.states} states>"

    def __reduce__(self):
        return self.__qualname__

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

        steps = _graphc.scan(xs, step, lengths=lengths, reverse=self.reverse,
                             save_every=self.save_every)
        return [steps, *[state.value for state in states]]

    def _network(self, tensors, precision):
        precision = usable(precision)
        ranks = tuple(tensor.dim() for tensor in tensors)
        has_lengths = tensors[-1].dtype == torch.int32
        key = (precision, has_lengths, ranks)
        if key not in self._networks:
            self._networks[key] = _CellNetwork(self, ranks, has_lengths,
                                               {"precision": precision, **self._options})
        return self._networks[key]

    def _results(self, inputs, precision):
        """Tensors like the results, for fake kernels."""
        steps, last = inputs[0].shape[0], inputs[1:1 + self.states]
        return [last[0].new_empty((steps, *last[0].shape)),
                *[state.new_empty(state.shape) for state in last]]


class _CellNetwork(Network):
    """A cell for tensors of these ranks: a model and its session."""

    graph = "forward"

    def __init__(self, cell, ranks, has_lengths, options):
        super().__init__()
        self.cell = cell
        self.ranks = ranks[:len(ranks) - has_lengths]
        self.has_lengths = has_lengths
        self.model = _graphc.Model(cell.__name__)
        self.model.graph("forward", lambda inputs: self.traced(inputs)[1])
        self.session = _graphc.Session(self.model, **options)

    def traced(self, inputs):
        names = ["xs"] + [f"a{place}" for place in range(len(self.ranks) - 1)]
        leaves = [inputs(name, DType.f32, [f"{name}.{axis}" for axis in range(rank)])
                  for name, rank in zip(names, self.ranks)]
        lengths = inputs("lengths", DType.i32, ["batch"]) if self.has_lengths else None
        results = self.cell.loop(leaves[0], leaves[1:], lengths)
        return [*leaves, *[lengths] * self.has_lengths], results


def _silent(line):
    """Sessions of cells say nothing: a shape more is usual in torch."""


def _prepared(name, tensors):
    """The tensors as they are computed with, and the precision of the products."""
    for place, tensor in enumerate(tensors):
        what = "the sequence" if place == 0 else f"argument {place}"
        if not isinstance(tensor, torch.Tensor):
            raise InputError(f"{name}: {what}: wanted a tensor: found {type(tensor).__name__}")
        if tensor.device.type not in ("cpu", "meta"):
            raise InputError(f"{name}: {what} is on {tensor.device}: wanted a tensor on the cpu")
    if torch.is_autocast_enabled("cpu"):
        tensors = [tensor.float() if tensor.is_floating_point() else tensor for tensor in tensors]
    for place, tensor in enumerate(tensors):
        if tensor.dtype not in (torch.float32, torch.float64) or tensor.dtype != tensors[0].dtype:
            what = "the sequence" if place == 0 else f"argument {place}"
            raise InputError(f"{name}: {what} is {tensor.dtype}: wanted all tensors torch.float32, "
                             "or all torch.float64")
    return list(tensors), precision_of(tensors[0])


def _check_lengths(name, lengths):
    if not isinstance(lengths, torch.Tensor) or lengths.dim() != 1 or lengths.dtype not in (
            torch.int32, torch.int64):
        found = (f"{lengths.dtype} {list(lengths.shape)}" if isinstance(lengths, torch.Tensor)
                 else type(lengths).__name__)
        raise InputError(f"{name}: lengths: wanted integers [batch]: found {found}")
