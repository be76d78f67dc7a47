# SPDX-License-Identifier: Apache-2.0
# What a graph of graphc is for torch: operators with fake kernels and derivatives.
"""Operators of torch that run graphs of graphc.

Of a function there are five:

    NAME(Tensor[] inputs, str precision) -> results
    NAME_saving(Tensor[] inputs, bool[] wanted, str precision) -> results and saved values
    NAME_backward(Tensor[] handed, Tensor[] cotangents, int[] types, bool[] wanted, str precision)
        -> the gradients that are wanted
    NAME_again(Tensor[] inputs, Tensor[] cotangents, bool[] wanted, str precision)
        -> the same from the inputs, computing the results once more
    NAME_twice(Tensor[] inputs, Tensor[] cotangents, Tensor[] weights, bool[] wanted,
               str precision)
        -> the gradients of the weighed sum of those gradients, for inputs that are wanted and
           for the cotangents

A call that nothing watches, no compiler and no mode of torch, does what the first does, and in
training what the second and the third do, without the operators. In exported programs the first and
the fourth run, and where a second derivative is asked for, the fourth and the fifth. `types`
describes the inputs: a number for the element type, the rank and the extents of each.
"""

import itertools
import re
import threading

import torch
from torch.autograd import forward_ad

from ..errors import InputError
from ..networks import Kept
from .calls import Call
from .networks import decoded, device_of, dtype_of, encoded

#: A step on a GPU is a CUDA graph already: torch must not capture it in another.
_TAGS = tuple(getattr(torch.Tag, name) for name in ("cudagraph_unsafe",)
              if hasattr(torch.Tag, name))

_library = torch.library.Library("graphc", "FRAGMENT")
_numbers = itertools.count()

_is_exporting = getattr(torch.compiler, "is_exporting", None) or (lambda: False)


class Operators:
    """The operators of a function.

    `network(tensors, precision, device)` gives the Network for tensors of these types;
    `results(tensors, precision)` new tensors like its results, for fake kernels; `assigns(tensors,
    precision)` says whether it assigns states; `used(network)` is called before a graph of it runs;
    operators with the same sessions have one `lock`.
    """

    def __init__(self, name, network, results, assigns=lambda tensors, precision: False,
                 used=lambda network: None, lock=None):
        self.name = name
        self._network = network
        self._results = results
        self._assigns = assigns
        self._used = used
        self._lock = lock or threading.RLock()
        self._calls = Kept()  #: by signature
        self._others = Kept()  #: those of the kernels, by types
        word = re.sub(r"\W", "_", name)
        self._define(f"{word}_{next(_numbers)}")

    def __call__(self, tensors, precision, signature=None):
        """The results as tensors; behind them there may be what the derivative reads. `signature`
        is that of calls.signature_of()."""
        if not torch.compiler.is_compiling():
            _refuse_transforms(self.name)
            _refuse_tangents(self.name, tensors)
        if signature is not None:
            call = self._call_of(signature, tensors, precision)
            if call.wanted is not None:
                return _Direct.apply(self, call, precision, *tensors)
            return self._first(call, tensors)
        if torch.is_grad_enabled() and not _is_exporting():
            wanted = [tensor.requires_grad for tensor in tensors]
            if any(wanted):
                return self.saving(tensors, wanted, precision)
        return self.forward(tensors, precision)

    def _call_of(self, signature, tensors, precision):
        """The call for tensors with this signature."""
        key = (signature, precision, torch.is_grad_enabled())
        call = self._calls.find(key)
        if call is not None:
            return call
        with self._lock:
            device, types = device_of(tensors), encoded(tensors)
            network = self._network(tensors, precision, device)
            wanted = [tensor.requires_grad for tensor in tensors]
            if not (torch.is_grad_enabled() and any(wanted) and network.has_float(types)):
                wanted = None
            return self._calls.keep(key, _call(network, types, wanted, device))

    def _call_of_kernel(self, tensors, types, wanted, precision, device):
        """The call of an operator of torch; `tensors` are None where only their types are known."""
        key = (tuple(types), wanted and tuple(wanted), precision, device)
        call = self._others.find(key)
        if call is not None:
            return call
        if tensors is None:
            tensors = [torch.empty(shape, dtype=dtype, device="meta")
                       for dtype, _, shape in decoded(types)]
        network = self._network(tensors, precision, device)
        return self._others.keep(key, _call(network, types, wanted, device))

    def _define(self, word):
        arguments = {"": "Tensor[] inputs, str precision",
                     "_saving": "Tensor[] inputs, bool[] wanted, str precision",
                     "_backward": "Tensor[] handed, Tensor[] cotangents, int[] types, "
                                  "bool[] wanted, str precision",
                     "_again": "Tensor[] inputs, Tensor[] cotangents, bool[] wanted, "
                               "str precision",
                     "_twice": "Tensor[] inputs, Tensor[] cotangents, Tensor[] weights, "
                               "bool[] wanted, str precision"}
        kernels = {"": self._run, "_saving": self._run_saving, "_backward": self._run_backward,
                   "_again": self._run_again, "_twice": self._run_twice}
        fakes = {"": self._results, "_saving": self._fake_saving,
                 "_backward": self._fake_backward, "_again": self._fake_again,
                 "_twice": self._fake_twice}
        for part, text in arguments.items():
            # As torch.library.custom_op does, without its wrapper: that imports torch._dynamo at
            # the first call, which takes ten times as long as to compile a cell.
            _library.define(f"{word}{part}({text}) -> Tensor[]", tags=_TAGS)
            for device in ("CPU", "CUDA"):
                _library.impl(f"{word}{part}", kernels[part], device)
            torch.library.register_fake(f"graphc::{word}{part}", fakes[part], lib=_library)
        derivatives = {"": (self._differentiate, self._setup),
                       "_saving": (self._differentiate_saving, self._setup_saving),
                       "_backward": (self._refuse, None), "_twice": (self._refuse, None),
                       "_again": (self._differentiate_again, self._setup_again)}
        for part, (derivative, setup) in derivatives.items():
            torch.library.register_autograd(f"graphc::{word}{part}", derivative,
                                            setup_context=setup, lib=_library)
        operators = torch.ops.graphc
        self.forward = getattr(operators, word).default
        self.saving = getattr(operators, f"{word}_saving").default
        self.backward = getattr(operators, f"{word}_backward").default
        self.again = getattr(operators, f"{word}_again").default
        self.twice = getattr(operators, f"{word}_twice").default

    # --- kernels ---

    def _run(self, inputs, precision):
        return self._run_saving(inputs, None, precision)

    def _run_saving(self, inputs, wanted, precision):
        with self._lock:
            call = self._call_of_kernel(inputs, encoded(inputs), wanted, precision,
                                        device_of(inputs))
            return self._first(call, inputs)

    def _run_backward(self, handed, cotangents, types, wanted, precision):
        with self._lock:
            call = self._call_of_kernel(None, types, wanted, precision,
                                        device_of([*cotangents, *handed]))
            return self._second(call, handed, cotangents)

    def _run_again(self, inputs, cotangents, wanted, precision):
        with self._lock:
            device, types = device_of(inputs), encoded(inputs)
            network = self._network(inputs, precision, device)
            call = Call(network, types, network.gradients(types, wanted), device)
            return self._first(call, inputs, cotangents)

    def _run_twice(self, inputs, cotangents, weights, wanted, precision):
        with self._lock:
            device, types = device_of(inputs), encoded(inputs)
            network = self._network(inputs, precision, device)
            call = Call(network, types, network.second_gradients(types, wanted), device)
            return self._first(call, inputs, [*cotangents, *weights])

    def _first(self, call, tensors, late=()):
        if call.assigns and torch._C._current_graph_task_id() != -1:
            raise InputError(f"{self.name}: it assigns states, such as the count of random draws: "
                             "it cannot be computed again for a derivative, in "
                             "torch.utils.checkpoint or with create_graph=True, since its draws "
                             "would be others")
        with self._lock:
            self._used(call.network)
            return call.first(tensors, late)

    def _second(self, call, handed, cotangents):
        with self._lock:
            self._used(call.network)
            return call.second(handed, cotangents)

    # --- fake kernels ---

    def _fake_saving(self, inputs, wanted, precision):
        with self._lock:
            network = self._network(inputs, precision, device_of(inputs))
            graph = network.divided(encoded(inputs), wanted)
        return [inputs[0].new_empty(shape, dtype=dtype_of(dtype))
                for dtype, shape in graph.first_types]

    def _fake_backward(self, handed, cotangents, types, wanted, precision):
        like = (*cotangents, *handed)[0]
        return [like.new_empty(shape, dtype=dtype)
                for (dtype, _, shape), one in zip(decoded(types), wanted) if one]

    def _fake_again(self, inputs, cotangents, wanted, precision):
        return [one.new_empty(one.shape) for one, is_wanted in zip(inputs, wanted) if is_wanted]

    def _fake_twice(self, inputs, cotangents, weights, wanted, precision):
        return [one.new_empty(one.shape) for one in
                [*[each for each, is_wanted in zip(inputs, wanted) if is_wanted], *cotangents]]

    # --- derivatives ---

    def _setup(self, ctx, inputs, output):
        tensors, ctx.precision = inputs
        if self._assigns(tensors, ctx.precision):
            raise InputError(f"{self.name}: it assigns states, such as the count of random draws: "
                             "the derivative of an exported program would compute it again with "
                             "others")
        ctx.wanted = [tensor.requires_grad for tensor in tensors]
        ctx.shapes = [(one.shape, one.dtype) for one in output]
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)

    def _differentiate(self, ctx, gradients):
        tensors = list(ctx.saved_tensors)
        found = self.again(tensors, _cotangents(gradients, ctx.shapes, tensors[0]), ctx.wanted,
                           ctx.precision)
        return _in_their_places(found, ctx.wanted), None

    def _setup_saving(self, ctx, inputs, output):
        tensors, ctx.wanted, ctx.precision = inputs
        ctx.types = encoded(tensors)
        with self._lock:
            call = self._call_of_kernel(tensors, ctx.types, ctx.wanted, ctx.precision,
                                        device_of(tensors))
        _save(ctx, tensors, output, call)

    def run_direct(self, ctx, call, precision, tensors):
        """The results for _Direct, which are differentiated with what is saved here."""
        ctx.operators, ctx.call, ctx.wanted, ctx.precision = self, call, call.wanted, precision
        found = self._first(call, tensors)
        results = tuple(found[:call.count])
        _save(ctx, tensors, found, call)
        if call.others:
            ctx.mark_non_differentiable(*[results[place] for place in call.others])
        return results

    def differentiate_direct(self, ctx, gradients):
        """The gradients of the inputs for _Direct."""
        return self._differentiate_saved(
            ctx, gradients, lambda handed, cotangents: self._second(ctx.call, handed, cotangents))

    def _differentiate_saving(self, ctx, gradients):
        found = self._differentiate_saved(
            ctx, gradients, lambda handed, cotangents: self.backward(
                handed, cotangents, ctx.types, ctx.wanted, ctx.precision))
        return found, None, None

    def _differentiate_saved(self, ctx, gradients, backward):
        saved = list(ctx.saved_tensors)  # once: torch.utils.checkpoint computes them again for it
        inputs, handed = saved[:len(ctx.wanted)], saved[len(ctx.wanted):]
        cotangents = _cotangents(gradients[:len(ctx.shapes)], ctx.shapes, inputs[0])
        if torch.is_grad_enabled():
            found = self.again(inputs, cotangents, ctx.wanted, ctx.precision)
        else:
            found = backward(handed, cotangents)
        return _in_their_places(found, ctx.wanted)

    def _setup_again(self, ctx, inputs, output):
        tensors, cotangents, ctx.wanted, ctx.precision = inputs
        ctx.shapes = [(one.shape, one.dtype) for one in output]
        ctx.cotangents = len(cotangents)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors, *cotangents)

    def _differentiate_again(self, ctx, gradients):
        tensors = list(ctx.saved_tensors)
        inputs, cotangents = tensors[:len(ctx.wanted)], tensors[len(ctx.wanted):]
        weights = _cotangents(gradients, ctx.shapes, inputs[0])
        found = self.twice(inputs, cotangents, weights, ctx.wanted, ctx.precision)
        first = len(found) - ctx.cotangents
        return _in_their_places(found[:first], ctx.wanted), found[first:], None, None

    def _refuse(self, ctx, *gradients):
        raise InputError(f"{self.name}: wanted a derivative that graphc has, the first or the "
                         "second: write the loop in torch where a third is wanted")


class _Direct(torch.autograd.Function):
    """What the operator `saving` does, past the dispatcher of torch and the trees of
    torch.library: a call takes half as long."""

    @staticmethod
    def forward(ctx, operators, call, precision, *tensors):
        return operators.run_direct(ctx, call, precision, tensors)

    @staticmethod
    def backward(ctx, *gradients):
        return (None, None, None, *ctx.operators.differentiate_direct(ctx, gradients))


def _refuse_transforms(name):
    """torch has no transforms for operators of lists of tensors."""
    if torch._C._functorch.peek_interpreter_stack() is not None:
        raise InputError(f"{name}: the transforms of torch.func do not go through it: wanted "
                         "torch.autograd")


def _refuse_tangents(name, tensors):
    """An operator without a forward derivative would drop the tangents in silence."""
    if forward_ad._current_level < 0:
        return
    if any(forward_ad.unpack_dual(tensor).tangent is not None for tensor in tensors):
        raise InputError(f"{name}: there is no forward derivative: wanted torch.autograd.grad or "
                         "backward()")


def _call(network, types, wanted, device):
    graph = network.forward(types) if wanted is None else network.divided(types, wanted)
    return Call(network, types, graph, device, wanted)


def _save(ctx, tensors, output, call):
    """Keeps what the derivative reads."""
    results, saved = output[:call.count], output[call.count:]
    ctx.shapes = [(one.shape, one.dtype) for one in results]
    sources = {"input": tensors, "result": results, "saved": saved}
    ctx.set_materialize_grads(False)
    # The inputs as well, for a second derivative.
    ctx.save_for_backward(*tensors, *[sources[kind][place] for kind, place in call.handed])


def _cotangents(gradients, shapes, like):
    """The gradients of the results that are floats, zeros for those that autograd leaves out."""
    return [like.new_zeros(shape, dtype=dtype) if gradient is None else gradient
            for gradient, (shape, dtype) in zip(gradients, shapes) if dtype.is_floating_point]


def _in_their_places(gradients, wanted):
    found = iter(gradients)
    return [next(found) if one else None for one in wanted]
