# SPDX-License-Identifier: Apache-2.0
# A cell of one's own inside PyTorch: a compiled loop with its derivative, as an operator of torch.
"""Cells as operators of torch: graphc.torch.cell()."""

import torch

from .. import networks
from ..errors import InputError
from ..networks import Announcing, Kept, usable
from .calls import checked, signature_of
from .networks import (OfTensors, check_one_device, check_tensor, of_autocast, options_on,
                       precision_of)
from .operators import Operators


def cell(function=None, *, states=1, reverse=False, precision="f32", target="", threads=0,
         save_every=0, **options):
    """An operator that runs a cell over all steps of a sequence, with its derivative.

    `function(x, *states, *parameters)` gets one step x of the sequence and returns the next value
    of each of its `states` (a tuple if there are several). It is traced once for each set of shapes
    and may use every function of graphc on its arguments.

    The result is called with tensors: `cell(xs, *states, *parameters, lengths=None)`, xs
    [steps, batch, ...], and returns the first state after every step, and the last value of each
    state. `lengths`, integers [batch], ends each row at its own step: what follows is 0. With
    `reverse` the loop begins at the last step, or at each row's own.

    All tensors are float32, on the cpu or on one GPU (cuda), which then computes the cell; or all
    float64 with `target="reference"`, which is slow and meant for gradcheck. On a GPU the cell is
    computed in the order of torch's current stream.

    `precision` is how products of float32 are computed: "f32", "bf16x6" (as exact), "bf16x3"
    (nearly) or "bf16" (rounded factors), on a GPU "tf32" as well; where the target has no fast
    products for it, an error. Under torch.autocast tensors are computed in float32, and the factors
    of products are rounded to bfloat16 if that is the type of autocast. There are a first and a
    second derivative. `save_every=n` keeps the states of every n-th step alone for the derivative
    and computes the others again. Further options are those of graphc.Session; a notice, as of an
    option without effect, is announced once.
    """
    if function is None:
        return lambda body: cell(body, states=states, reverse=reverse, precision=precision,
                                 target=target, threads=threads, save_every=save_every, **options)
    return Cell(function, states, reverse, precision, save_every,
                {"target": target, "threads": threads, **options})


class Cell(networks.Cell):
    """What cell() makes."""

    def __init__(self, function, states, reverse, precision, save_every, options):
        super().__init__(function, states, reverse, save_every, options)
        self._asked = {**options, "announce": Announcing(options.get("announce"))}
        self._precision = precision
        self._networks = {}
        self._checked = Kept()  #: the precision of products, for tensors that have passed
        self._operators = Operators(self.__name__, self._network, self._results)

    def __call__(self, xs, *tensors, lengths=None):
        if len(tensors) < self.states:
            raise InputError(f"{self.__name__}: wanted {self.states} states after the sequence: "
                             f"found {len(tensors)} tensors")
        given, precision, signature = checked([xs, *tensors], self._checked, self._prepare)
        if lengths is not None:
            _check_lengths(self.__name__, lengths, xs.device)
            # What is no length of 32 bits stays none.
            given = [*given, lengths.clamp(-1, 2**31 - 1).to(torch.int32)]
            signature = signature_of(given)
        found = self._operators(given, precision, signature)
        return tuple(found[:1 + self.states])

    def __repr__(self):
        return f"<graphc.torch.Cell {self.__module__}.{self.__qualname__}, {self.states} states>"

    def _prepare(self, tensors):
        return _prepared(self.__name__, tensors, self._precision)

    def _network(self, tensors, precision, device):
        precision = usable(precision)
        ranks = tuple(tensor.dim() for tensor in tensors)
        has_lengths = tensors[-1].dtype == torch.int32
        key = (precision, has_lengths, ranks, device)
        if key not in self._networks:
            options = {**options_on(self.__name__, device, self._asked), "precision": precision}
            self._networks[key] = _CellNetwork(self, ranks[:len(ranks) - has_lengths], has_lengths,
                                               options)
        return self._networks[key]

    def _results(self, inputs, precision):
        """Tensors like the results, for fake kernels."""
        steps, last = inputs[0].shape[0], inputs[1:1 + self.states]
        return [last[0].new_empty((steps, *last[0].shape)),
                *[state.new_empty(state.shape) for state in last]]


class _CellNetwork(OfTensors, networks.CellNetwork):
    """A cell for tensors of these ranks."""


def _prepared(name, tensors, precision):
    """The tensors as they are computed with, and the precision of the products."""
    for place, tensor in enumerate(tensors):
        what = "the sequence" if place == 0 else f"argument {place}"
        check_tensor(name, what, tensor)
    check_one_device(name, tensors)
    tensors = of_autocast(tensors)
    for place, tensor in enumerate(tensors):
        if tensor.dtype not in (torch.float32, torch.float64) or tensor.dtype != tensors[0].dtype:
            what = "the sequence" if place == 0 else f"argument {place}"
            raise InputError(f"{name}: {what} is {tensor.dtype}: wanted all tensors torch.float32, "
                             "or all torch.float64")
    return tensors, precision_of(tensors[0], precision)


def _check_lengths(name, lengths, device):
    if not isinstance(lengths, torch.Tensor) or lengths.dim() != 1 or lengths.dtype not in (
            torch.int32, torch.int64):
        found = (f"{lengths.dtype} {list(lengths.shape)}" if isinstance(lengths, torch.Tensor)
                 else type(lengths).__name__)
        raise InputError(f"{name}: lengths: wanted integers [batch]: found {found}")
    if lengths.device.type not in ("cpu", device.type):
        raise InputError(f"{name}: lengths are on {lengths.device}: wanted them on cpu or {device}")
