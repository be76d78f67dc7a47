# SPDX-License-Identifier: Apache-2.0
# A cell of one's own inside JAX: a compiled loop with its derivative, which XLA calls.
"""Cells as functions of JAX: graphc.jax.cell()."""

import threading

import jax
import jax.numpy as jnp
import numpy as np

from .. import _graphc, networks
from ..errors import InputError
from ..networks import DType

_TARGET = "graphc_run"
jax.ffi.register_ffi_target(_TARGET, _graphc._xla_function(), platform="cpu")

#: The compiled graphs by their numbers: a program of XLA may call them until the process ends.
_graphs = {}

_DTYPES = {DType.f32: jnp.float32, DType.f64: jnp.float64, DType.bf16: jnp.bfloat16,
           DType.i32: jnp.int32, DType.i64: jnp.int64, DType.u8: jnp.uint8, DType.bool: jnp.bool_}


def cell(function=None, *, states=1, reverse=False, target="", threads=0, save_every=0,
         **options):
    """A function of JAX that runs a cell over all steps of a sequence, with its derivative.

    `function(x, *states, *parameters)` gets one step x of the sequence and returns the next value
    of each of its `states` (a tuple if there are several). It is traced once for each set of shapes
    and may use every function of graphc on its arguments.

    The result is called with arrays: `cell(xs, *states, *parameters, lengths=None)`, xs
    [steps, batch, ...], and returns the first state after every step, and the last value of each
    state. `lengths`, integers [batch], ends each row at its own step: what follows is 0. With
    `reverse` the loop begins at the last step, or at each row's own.

    jit, grad and vjp go through it, vmap calls it for one element of the batch after another. There
    are a first and a second derivative, in reverse mode. All arrays are float32 on the CPU, or all
    float64 with `target="reference"`, which is slow and meant for tests. `save_every=n` keeps the
    states of every n-th step alone for the derivative and computes the others again. Further
    options are those of graphc.Session; a notice, as of an option without effect, is announced
    once. What is compiled for a set of shapes stays in memory until the process ends.
    """
    if function is None:
        return lambda body: cell(body, states=states, reverse=reverse, target=target,
                                 threads=threads, save_every=save_every, **options)
    return Cell(function, states, reverse, save_every,
                {"target": target, "threads": threads, **options})


class Cell(networks.Cell):
    """What cell() makes."""

    def __init__(self, function, states, reverse, save_every, options):
        super().__init__(function, states, reverse, save_every, options)
        self._networks = {}
        self._functions = {}
        self._calls = {}
        self._lock = threading.RLock()
        self._run = self._differentiable()

    def __call__(self, xs, *arrays, lengths=None):
        if len(arrays) < self.states:
            raise InputError(f"{self.__name__}: wanted {self.states} states after the sequence: "
                             f"found {len(arrays)} arrays")
        given = _prepared(self.__name__, [xs, *arrays])
        if lengths is not None:
            given.append(_prepared_lengths(self.__name__, lengths))
        return tuple(self._run(*given))

    def __repr__(self):
        return f"<graphc.jax.Cell {self.__module__}.{self.__qualname__}, {self.states} states>"

    # --- compiled graphs as functions of JAX ---

    def _network(self, arrays):
        has_lengths = arrays[-1].dtype == jnp.int32
        ranks = tuple(array.ndim for array in arrays[:len(arrays) - has_lengths])
        is_wide = arrays[0].dtype == jnp.float64
        key = (is_wide, has_lengths, ranks)
        if key not in self._networks:
            options = {**self._options, "precision": "f64"} if is_wide else self._options
            self._networks[key] = networks.CellNetwork(self, ranks, has_lengths, options)
        return self._networks[key]

    def _graph(self, arrays, kind, *wanted):
        """A compiled graph for arrays of these types; `kind` is a method of Network."""
        with self._lock:
            return getattr(self._network(arrays), kind)(_types(self.__name__, arrays), *wanted)

    def _forward(self, arrays):
        graph = self._graph(arrays, "forward")
        return self._call(graph, 0, graph.first_types, arrays)

    def _function(self, kind, wanted, make):
        """One function for each choice of inputs, so that JAX knows it again."""
        if (kind, wanted) not in self._functions:
            self._functions[kind, wanted] = make(wanted)
        return self._functions[kind, wanted]

    # --- derivatives ---

    def _differentiable(self):
        """The loop, with the derivative that its forward pass saves values for."""
        def forward(*primals):
            arrays, wanted = _unpacked(primals)
            found = self._function("saving", wanted, self._saving)(*arrays)
            return found[:1 + self.states], (_Static(wanted), arrays, found)

        def backward(residuals, cotangents):
            wanted, arrays, found = residuals
            gradient = self._function("gradient", wanted.value, self._gradient)
            return _in_their_places(
                gradient(arrays, found, _instantiated(cotangents)), wanted.value)

        run = jax.custom_vjp(lambda *arrays: self._forward(arrays))
        run.defvjp(forward, backward, symbolic_zeros=True)
        return run

    def _saving(self, wanted):
        """The results and what the gradients of the inputs that are wanted need."""
        def saving(*arrays):
            graph = self._graph(arrays, "divided", wanted)
            return self._call(graph, 0, graph.first_types, arrays)

        def forward(*primals):
            arrays, outer = _unpacked(primals)
            return saving(*arrays), (_Static(outer), arrays)

        def backward(residuals, cotangents):
            # What is saved has no cotangents: the derivative of the gradients is by the inputs.
            outer, arrays = residuals
            cotangents = _instantiated(cotangents[:1 + self.states])
            graph = self._graph(arrays, "gradients", outer.value)
            like = [one for one, chosen in zip(arrays, outer.value) if chosen]
            return _in_their_places(
                self._call(graph, 0, graph.first_types, [*arrays, *cotangents], like), outer.value)

        function = jax.custom_vjp(saving)
        function.defvjp(forward, backward, symbolic_zeros=True)
        return function

    def _gradient(self, wanted):
        """The gradients, from the inputs, the results with what is saved, and the cotangents."""
        def gradient(arrays, found, cotangents):
            graph = self._graph(arrays, "divided", wanted)
            sources = {"input": arrays, "result": found, "saved": found[1 + self.states:]}
            handed = [sources[kind][place] for kind, place in graph.handed]
            like = [one for one, chosen in zip(arrays, wanted) if chosen]
            return self._call(graph, 1, _types(self.__name__, like), [*handed, *cotangents], like)

        def forward(arrays, found, cotangents):
            return gradient(arrays, found, cotangents), (arrays, found, cotangents)

        def backward(residuals, weights):
            arrays, found, cotangents = residuals
            floats = tuple(bool(jnp.issubdtype(one.dtype, jnp.floating)) for one in arrays)
            given = iter(weights)
            weights = [next(given) if chosen else jnp.zeros_like(one)
                       for one, chosen, is_float in zip(arrays, wanted, floats) if is_float]
            like = [*[one for one, is_float in zip(arrays, floats) if is_float], *cotangents]
            graph = self._graph(arrays, "second_gradients", floats)
            by = self._call(graph, 0, graph.first_types, [*arrays, *cotangents, *weights], like)
            first = len(by) - len(cotangents)
            return (tuple(_in_their_places(by[:first], floats)), tuple(None for _ in found),
                    tuple(by[first:]))

        function = jax.custom_vjp(gradient)
        function.defvjp(forward, backward)
        return function

    # --- calls of XLA ---

    def _call(self, graph, part, types, arrays, like=None):
        """Runs a part of a graph; gives results of these types, in float64 as `like` has them."""
        number = _graphc._xla_number(graph)
        _graphs.setdefault(number, graph)
        dtypes = [one.dtype for one in like] if like else [_DTYPES[dtype] for dtype, _ in types]
        results = tuple(jax.ShapeDtypeStruct(shape, dtype)
                        for (_, shape), dtype in zip(types, dtypes))
        key = (number, part, results)
        if key not in self._calls:
            self._calls[key] = self._without_derivative(number, part, results)
        return self._calls[key](*arrays)

    def _without_derivative(self, number, part, results):
        """The call; its derivative is that of a function around it, or there is none."""
        call = jax.ffi.ffi_call(_TARGET, results, vmap_method="sequential")
        function = jax.custom_jvp(
            lambda *arrays: tuple(call(*arrays, graph=np.int64(number), part=np.int64(part))))

        def refuse(primals, tangents):
            raise InputError(f"{self.__name__}: wanted a derivative that graphc has, the first or "
                             "the second: write the loop in jax where a third is wanted")

        function.defjvp(refuse)
        return function


class _Static:
    """A value that is known when JAX traces."""

    def __init__(self, value):
        self.value = value


jax.tree_util.register_pytree_node(_Static, lambda one: ((), one.value),
                                   lambda value, _: _Static(value))


def _types(name, arrays):
    """The types of arrays as graphs have them; f64 is the precision of a session."""
    for array in arrays:
        if not all(isinstance(extent, int) for extent in array.shape):
            raise InputError(f"{name}: wanted arrays whose shapes are numbers: found {array.shape}")
    return tuple((DType.i32 if array.dtype == jnp.int32 else DType.f32, tuple(array.shape))
                 for array in arrays)


def _unpacked(primals):
    """The arrays, and which of them a derivative is asked for."""
    arrays = tuple(one.value for one in primals)
    return arrays, tuple(bool(one.perturbed) and bool(jnp.issubdtype(one.value.dtype, jnp.floating))
                         for one in primals)


def _instantiated(cotangents):
    """The cotangents as arrays, zeros for those that JAX leaves out."""
    return tuple(jnp.zeros(one.shape, one.dtype)
                 if isinstance(one, jax.custom_derivatives.SymbolicZero) else one
                 for one in cotangents)


def _in_their_places(gradients, wanted):
    found = iter(gradients)
    return tuple(next(found) if one else None for one in wanted)


def _prepared(name, arrays):
    """The arguments as arrays of one type."""
    found = []
    for place, one in enumerate(arrays):
        what = "the sequence" if place == 0 else f"argument {place}"
        try:
            found.append(jnp.asarray(one))
        except TypeError:
            raise InputError(f"{name}: {what}: wanted an array: found "
                             f"{type(one).__name__}") from None
        dtype = found[-1].dtype
        if dtype not in (jnp.float32, jnp.float64) or dtype != found[0].dtype:
            raise InputError(f"{name}: {what} is {dtype}: wanted all arrays float32, or all "
                             "float64")
    return found


def _prepared_lengths(name, lengths):
    lengths = jnp.asarray(lengths)
    if lengths.ndim != 1 or not jnp.issubdtype(lengths.dtype, jnp.integer):
        raise InputError(f"{name}: lengths: wanted integers [batch]: found {lengths.dtype} "
                         f"{list(lengths.shape)}")
    # What is no length of 32 bits stays none.
    return (jnp.clip(lengths, -1, 2**31 - 1) if lengths.dtype == jnp.int64
            else lengths).astype(jnp.int32)
