# SPDX-License-Identifier: Apache-2.0
# A function of tensors as graphs of graphc: results, gradients, and both divided in two.
"""Graphs of graphc for tensors of torch."""

import dataclasses
import functools

import torch

from .. import _graphc
from ..errors import UsageError

DType = _graphc.DType
#: Element types by their numbers in `types`.
DTYPES = [(torch.float32, DType.f32), (torch.float64, DType.f32), (torch.int32, DType.i32),
          (torch.int64, DType.i64), (torch.uint8, DType.u8), (torch.bool, DType.bool)]
_NUMBERS = {dtype: number for number, (dtype, _) in enumerate(DTYPES)}
#: Shapes that are kept compiled.
KEPT = 16


def encoded(tensors):
    """The types of tensors as integers."""
    numbers = []
    for tensor in tensors:
        numbers += [_NUMBERS[tensor.dtype], tensor.dim(), *[int(n) for n in tensor.shape]]
    return numbers


def decoded(numbers):
    """(dtype of torch, dtype of graphc, shape) of each tensor."""
    types, place = [], 0
    while place < len(numbers):
        number, rank = numbers[place:place + 2]
        types.append((*DTYPES[number], tuple(numbers[place + 2:place + 2 + rank])))
        place += 2 + rank
    return types


def precision_of(tensor):
    """The precision of a session for tensors like this one, under the autocast of torch."""
    if torch.is_autocast_enabled("cpu"):
        return "bf16" if torch.get_autocast_dtype("cpu") == torch.bfloat16 else "f32"
    return "f64" if tensor.dtype == torch.float64 else "f32"


@functools.cache
def usable(precision):
    """The precision of a session: autocast permits bf16, and not every processor has it."""
    if precision != "bf16":
        return precision
    model = _graphc.Model("product")
    model.graph("f", lambda inputs: inputs("x", DType.f32, [8, 8]) @ inputs("y", DType.f32, [8, 8]))
    try:
        _graphc.Session(model, target="cpu", precision="bf16", announce=str).compile(
            "f", (DType.f32, (8, 8)), (DType.f32, (8, 8)))
    except UsageError:
        return "f32"
    return "bf16"


def letters(wanted):
    """A name for a choice of inputs."""
    return "".join("ny"[one] for one in wanted)


@dataclasses.dataclass
class Interface:
    """What a graph takes and gives: (dtype, shape) each."""

    taken: list
    results: list
    names: list
    assigns: bool  #: states


class Network:
    """A model and its session, whose graph is a function of tensors.

    A subclass gives `session`, `model`, `graph` (the name of the graph of the results) and
    traced(inputs): the leaves, one for each tensor, and the results while a graph is traced. The
    first tensors are those of `parameters`, states of the model that are inputs here.
    """

    parameters = ()
    #: Of the graphs of derivatives.
    mode = "evaluation"

    def __init__(self):
        self._compiled = {}
        self._interfaces = {}
        self._known = set()

    def traced(self, inputs):
        raise NotImplementedError

    def interface(self, types):
        """What the graph takes and gives for inputs of these types."""
        key = tuple(types)
        if key not in self._interfaces:
            if len(self._interfaces) > 8 * KEPT:
                self._interfaces.clear()
            given = [(dtype, shape) for _, dtype, shape in decoded(types)]
            count = len(self.parameters)
            taken, results, names, _, assigns = _graphc._interface(self.model, self.graph,
                                                                   given[count:])
            self._interfaces[key] = Interface([*given[:count], *taken], results, names, assigns)
        return self._interfaces[key]

    def cast(self, tensors, types):
        """The tensors as the graph takes them: integers of another width are converted."""
        return [tensor.detach() if tensor.is_floating_point() else
                tensor.to(dtype_of(dtype)) for tensor, (dtype, _) in
                zip(tensors, self.interface(types).taken)]

    def cast_handed(self, tensors, handed, types):
        """The same for what the second part reads of the inputs."""
        taken = self.interface(types).taken
        return [tensor.to(dtype_of(taken[place][0]))
                if kind == "input" and not tensor.is_floating_point() else tensor.detach()
                for tensor, (kind, place) in zip(tensors, handed)]

    def forward(self, types):
        """The compiled graph of the results."""
        return self._whole(self.graph, None, types, [], len(self.interface(types).results))

    def gradients(self, types, wanted):
        """That of the gradients from inputs and cotangents: the results are computed again."""
        name = f"{self.graph} gradients {letters(wanted)}"
        return self._whole(name, lambda inputs: self._joint(inputs, wanted)[1], types,
                           self._late(types), sum(wanted))

    def second_gradients(self, types, wanted):
        """The gradients of the weighed sum of gradients, for the same inputs and the cotangents."""
        name = f"{self.graph} second gradients {letters(wanted)}"
        late = self._late(types)
        weights = [one for one, is_wanted in zip(self.interface(types).taken, wanted) if is_wanted]
        return self._whole(name, lambda inputs: self._second(inputs, wanted), types,
                           [*late, *weights], sum(wanted) + len(late))

    def divided(self, types, wanted):
        """The compiled graphs of the results and, from what the first saves, of the gradients."""
        name = f"{self.graph} divided {letters(wanted)}"
        late = self._late(types)
        return self._graph(name, lambda inputs: sum(self._joint(inputs, wanted)[:2], []), types,
                           late, len(self.interface(types).results), len(late))

    def _whole(self, name, function, types, late, results):
        return self._graph(name, function, types, late, results, 0)

    def _graph(self, name, function, types, late, results, divided_by):
        key = (name, tuple(types))
        if key in self._compiled:
            self._compiled[key] = self._compiled.pop(key)
            return self._compiled[key]
        if function is not None and name not in self._known:
            self.model.graph(name, function, mode=self.mode)
            self._known.add(name)
        given = self.interface(types).taken[len(self.parameters):]
        self._compiled[key] = _graphc._Divided(self.session, name, [*given, *late], results,
                                               divided_by, list(self.parameters))
        while len(self._compiled) > KEPT:
            del self._compiled[next(iter(self._compiled))]
        return self._compiled[key]

    def _late(self, types):
        """The types of the cotangents."""
        return [one for one in self.interface(types).results if one[0] == DType.f32]

    def _joint(self, inputs, wanted):
        """The results, the gradients of the leaves that are wanted; these leaves, cotangents."""
        leaves, results = self.traced(inputs)
        floats = [result for result in results if result.dtype == DType.f32]
        cotangents = [inputs(f"cotangent.{place}", DType.f32, result.shape)
                      for place, result in enumerate(floats)]
        loss = sum(_graphc.sum(result * cotangent)
                   for result, cotangent in zip(floats, cotangents))
        chosen = [leaf for leaf, one in zip(leaves, wanted) if one]
        return results, _graphc.gradients(loss, chosen), chosen, cotangents

    def _second(self, inputs, wanted):
        _, gradients, chosen, cotangents = self._joint(inputs, wanted)
        weights = [inputs(f"weight.{place}", DType.f32, gradient.shape)
                   for place, gradient in enumerate(gradients)]
        loss = sum(_graphc.sum(gradient * weight) for gradient, weight in zip(gradients, weights))
        return _graphc.gradients(loss, [*chosen, *cotangents])


def dtype_of(dtype):
    """The dtype of torch for a result of a graph; bf16 becomes float32."""
    if dtype == DType.f64:
        return torch.float64
    if dtype == DType.bf16:
        return torch.float32
    return next(theirs for theirs, ours in DTYPES if ours == dtype)
