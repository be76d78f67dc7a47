# SPDX-License-Identifier: Apache-2.0
# A function of tensors, written as equations, as an operator of torch.
"""Functions as operators of torch: graphc.torch.function()."""

import torch

from .. import networks
from ..errors import InputError
from ..networks import Announcing, Kept, options_of, usable
from .calls import checked
from .networks import (OfTensors, check_one_device, check_tensor, device_of, encoded, kinds_of,
                       not_compiled, of_autocast, options_on, precision_of, result_dtype)
from .operators import Operators


def function(body=None, *, precision="f32", target="", threads=0, **options):
    """An operator that computes a function of tensors, with its derivatives.

    `body(*values)` gets a value of graphc for each tensor and returns one value or a tuple of them.
    It is traced once for each set of shapes, and may use every function of graphc:

        @graphc.torch.function
        def head(x, weight, bias):
            return graphc.matmul(x, weight, transpose_b=True) + bias

    Tensors are on the cpu or on one GPU (cuda), which then computes the function: floats, all
    float32 or, with `target="reference"`, all float64; and integers (int32, int64, uint8) and bool,
    of which there is no derivative. There are a first and a second derivative. `precision` and
    autocast are as for graphc.torch.cell(). Further options are those of graphc.Session.
    """
    if body is None:
        return lambda body: function(body, precision=precision, target=target, threads=threads,
                                     **options)
    return Function(body, precision, {"target": target, "threads": threads, **options})


class Function(networks.Named):
    """What function() makes."""

    def __init__(self, body, precision, options, count=None):
        if not callable(body):
            raise InputError(f"function: wanted a function: found {type(body).__name__}")
        super().__init__(body)
        self._precision = precision
        options_of(options)
        self._asked = {**options, "announce": Announcing(options.get("announce"))}
        self._networks = {}
        self._count = count  #: of results, where it is known
        self._counts = {}
        self._checked = Kept()  #: precision and number of results, for tensors that have passed
        self._operators = Operators(self.__name__, self._network, self._results)

    def __call__(self, *tensors):
        tensors, (precision, count), signature = checked(tensors, self._checked, self._prepared)
        found = self._operators(tensors, precision, signature)
        return found[0] if count == 1 else tuple(found[:count])

    def __repr__(self):
        return f"<graphc.torch.Function {self.__module__}.{self.__qualname__}>"

    def _prepared(self, tensors):
        """The tensors as they are computed with; the precision, and how many results there are."""
        for place, tensor in enumerate(tensors):
            check_tensor(self.__name__, f"argument {place}", tensor)
        check_one_device(self.__name__, tensors)
        tensors = of_autocast(tensors)
        floats = [tensor for tensor in tensors if tensor.is_floating_point()]
        if not floats:
            raise InputError(f"{self.__name__}: wanted a tensor of floats among its arguments")
        precision = precision_of(floats[0], self._precision)
        if self._count is not None:
            return tensors, (precision, self._count)
        key = tuple((tensor.dtype, tensor.dim()) for tensor in tensors)
        if key not in self._counts:
            self._learn(key, tensors, precision)
        return tensors, (precision, self._counts[key])

    @not_compiled
    def _learn(self, key, tensors, precision):
        """Finds how many results there are for tensors of these types."""
        network = self._network(tensors, precision, device_of(tensors))
        self._counts[key] = len(network.interface(encoded(tensors)).results)

    def _network(self, tensors, precision, device):
        key = (usable(precision), kinds_of(self.__name__, tensors), device)
        if key not in self._networks:
            options = {**options_on(self.__name__, device, self._asked), "precision": key[0]}
            self._networks[key] = _FunctionNetwork(self, key[1], options)
        return self._networks[key]

    def _results(self, tensors, precision):
        """Tensors like the results, for fake kernels."""
        network = self._network(tensors, precision, device_of(tensors))
        types = network.interface(encoded(tensors)).results
        return [tensors[0].new_empty(shape, dtype=result_dtype(dtype, precision))
                for dtype, shape in types]


class _FunctionNetwork(OfTensors, networks.FunctionNetwork):
    """A function for tensors of these types."""
