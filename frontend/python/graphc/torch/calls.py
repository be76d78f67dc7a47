# SPDX-License-Identifier: Apache-2.0
# What a call with tensors of some types runs: found once, used by all calls like it.
"""Calls of operators with tensors that torch's own operators would compute as they are.

To find the graph for tensors, and to check that it may be run, takes longer than to start it. So
what was found is kept by the types of the tensors.
"""

import functools
import operator

import torch

from ..errors import InputError
from .networks import (decoded, dtype_of, first_of, readable_float, readable_on_gpu,
                       readable_other, second_of)

#: Types of tensors whose operators nobody redefines.
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_KINDS = ("cpu", "cuda")  #: of devices


def signature_of(tensors):
    """All that a call depends on but for the numbers, as a key; None if a compiler, a mode or a
    profiler of torch watches its operators, or a tensor is of a subclass or on another kind of
    device."""
    if (torch.compiler.is_compiling() or torch.jit.is_tracing()
            or torch.autograd._profiler_enabled()
            or torch._C._len_torch_dispatch_stack() or torch._C._len_torch_function_stack()):
        return None
    found = [_autocast()]
    for tensor in tensors:
        if type(tensor) not in _PLAIN or tensor.device.type not in _KINDS:
            return None
        found.append((tensor.dtype, tensor.shape, tensor.requires_grad, tensor.device,
                      tensor.layout))
    return tuple(found)


def _autocast():
    """The types that the autocast of torch would compute in, if it is active."""
    return tuple([torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
                  for kind in _KINDS])


def checked(tensors, kept, prepare):
    """The tensors as they are computed with, what `prepare` finds of them, and their signature.

    prepare(tensors) checks them, and gives them and what it finds. `kept` has that for tensors
    that have passed as they are.
    """
    signature = signature_of(tensors)
    # A compiler would look into what is kept, and compile again whenever that changes.
    if signature is None:
        return *prepare(tensors), None
    found = kept.find(signature)
    if found is not None:
        return tensors, found, signature
    given, found = prepare(tensors)
    if all(map(operator.is_, given, tensors)):
        kept.keep(signature, found)
    return given, found, signature_of(given)


class Call:
    """A graph of a network for tensors of these types, and how its arguments are made.

    With `wanted` the graph is in two parts, of which the second computes the gradients of the
    inputs that are wanted.
    """

    def __init__(self, network, types, graph, device, wanted=None):
        self.network, self.graph, self.device, self.wanted = network, graph, device, wanted
        self._key = network.key_of(graph)
        interface = network.interface(types)
        self.count = len(interface.results)
        #: Whether a run of it changes states, such as the count of random draws.
        self.assigns = interface.assigns
        #: The results that have no derivative.
        self.others = [place for place, (dtype, _) in enumerate(interface.results)
                       if not dtype_of(dtype).is_floating_point]
        #: Where the second part's first inputs come from.
        self.handed = graph.handed
        self._read = readable_on_gpu if device.type == "cuda" else _readable
        self._of_inputs = [self._reader(place, own, dtype_of(dtype))
                           for place, ((own, _, _), (dtype, _))
                           in enumerate(zip(decoded(types), interface.taken))]
        self._of_handed = [self._of_inputs[place] if kind == "input" else self._read
                           for kind, place in self.handed]

    def first(self, tensors, late=()):
        """The results, and with two parts what the second one reads. `late` are cotangents."""
        self.network.use(self._key, self.graph)
        given = [read(tensor) for read, tensor in zip(self._of_inputs, tensors)]
        return first_of(self.graph, [*given, *map(self._read, late)], self.device)

    def second(self, handed, cotangents):
        """The gradients that are wanted."""
        given = [read(tensor) for read, tensor in zip(self._of_handed, handed)]
        return second_of(self.graph, [*given, *map(self._read, cotangents)], self.device)

    def _reader(self, place, own, taken):
        """What makes an input readable: what is no float is converted."""
        if not own.is_floating_point:
            what = f"input {place - len(self.network.parameters)}"
            return functools.partial(_converted, self._read, what, taken)
        return readable_float if self.device.type != "cuda" else self._read


# Functions, so that a call is in no cycle: it goes with its graph when it is no longer kept.

def _readable(tensor):
    return readable_float(tensor) if tensor.is_floating_point() else readable_other(tensor)


def _converted(read, what, dtype, tensor):
    if tensor.dtype == dtype:
        return read(tensor)
    found = tensor.to(dtype)
    # To look at a tensor on a GPU would wait for the GPU.
    if tensor.device.type == "cpu" and not (found == tensor).all():
        wrong = tensor[found != tensor][0]
        raise InputError(f"{what}: wanted numbers of {dtype}: found {wrong}")
    return read(found)
