# SPDX-License-Identifier: Apache-2.0
# A function of arrays as graphs of graphc: results, gradients, and both divided in two.
"""Graphs of graphc for the arrays of other frameworks."""

import dataclasses
import difflib
import functools
import itertools
import re
import threading

from . import _graphc
from .errors import InputError, ResourceError, UsageError, announce as _announce

DType = _graphc.DType
#: Shapes that are kept compiled.
KEPT = 16


@functools.cache
def usable(precision):
    """The precision of a session: autocast permits bf16, and not every processor has it."""
    if precision != "autocast":
        return precision
    model = _graphc.Model("product")
    model.graph("f", lambda inputs: inputs("x", DType.f32, [8, 8]) @ inputs("y", DType.f32, [8, 8]))
    try:
        _graphc.Session(model, target="cpu", precision="bf16", announce=str).compile(
            "f", (DType.f32, (8, 8)), (DType.f32, (8, 8)))
    except ResourceError:
        return "f32"
    return "bf16"


class Kept:
    """Values by key: of those that are used, the last KEPT."""

    def __init__(self):
        self._entries = {}  #: value and time of its last use
        self._clock = itertools.count()
        self._lock = threading.Lock()

    def __len__(self):
        return len(self._entries)

    def __iter__(self):
        return iter(self._entries)

    def key_of(self, value):
        """The key of a value that is there."""
        with self._lock:
            return next(key for key, (one, _) in self._entries.items() if one is value)

    def find(self, key):
        """The value, which is used now; or None."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        entry[1] = next(self._clock)
        return entry[0]

    def keep(self, key, value):
        """Adds the value, in the place of the one that has not been used for longest."""
        with self._lock:
            while len(self._entries) >= KEPT:
                del self._entries[min(self._entries, key=lambda one: self._entries[one][1])]
            self._entries[key] = [value, next(self._clock)]
        return value


class Announcing:
    """Passes the notices of sessions on, each line once: every shape has the same."""

    def __init__(self, announce=None):
        self._announce = announce or _announce
        self._said = set()

    def __call__(self, line):
        if line not in self._said:
            self._said.add(line)
            self._announce(line)


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
    """A model and its session, whose graph is a function of arrays.

    A subclass gives `session`, `model`, `graph` (the name of the graph of the results) and
    traced(inputs): the leaves, one for each array, and the results while a graph is traced. The
    first arrays are those of `parameters`, states of the model that are inputs here. `types` are
    the types of the arrays in any form of which given() makes (dtype, shape) each.
    """

    parameters = ()
    #: Of the graphs of derivatives.
    mode = "evaluation"
    #: Whether training and evaluation are told apart.
    has_mode = True

    def __init__(self):
        self._compiled = Kept()
        self._interfaces = {}
        self._known = set()

    def traced(self, inputs):
        """The leaves and the results, while a graph is traced."""
        raise NotImplementedError

    def given(self, types):
        """(dtype, shape) of each array."""
        return list(types)

    def interface(self, types):
        """What the graph takes and gives for inputs of these types."""
        key = tuple(types)
        if key not in self._interfaces:
            if len(self._interfaces) > 8 * KEPT:
                self._interfaces.clear()
            given = self.given(types)
            count = len(self.parameters)
            taken, results, names, _, assigns = _graphc._interface(self.model, self.graph,
                                                                   given[count:])
            if not self.has_mode and not self._interfaces and not assigns:
                self._check_no_draws(given[count:])
            self._interfaces[key] = Interface([*given[:count], *taken], results, names, assigns)
        return self._interfaces[key]

    def _check_no_draws(self, types):
        """Throws if the function would draw random numbers in training alone, and so never here."""
        name = f"{self.graph} in training"
        if name not in self._known:
            self.model.graph(name, lambda inputs: self.traced(inputs)[1], mode="training")
            self._known.add(name)
        if _graphc._interface(self.model, name, types)[-1]:
            raise InputError(f"{self.model.name}: it draws random numbers in training, as dropout "
                             "does: a cell or a function knows no training: wanted the framework's "
                             "dropout around it, or a graphc.Model as a module")

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
        found = self._compiled.find(key)
        if found is not None:
            return found
        if function is not None and name not in self._known:
            self.model.graph(name, function, mode=self.mode)
            self._known.add(name)
        given = self.interface(types).taken[len(self.parameters):]
        graph = _graphc._Divided(self.session, name, [*given, *late], results, divided_by,
                                 list(self.parameters))
        return self._compiled.keep(key, graph)

    def key_of(self, graph):
        """The key of a graph that this network has just given."""
        return self._compiled.key_of(graph)

    def use(self, key, graph):
        """Marks a graph that this network gave as used now, and keeps it if it was dropped."""
        if self._compiled.find(key) is None:
            self._compiled.keep(key, graph)

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


class FunctionNetwork(Network):
    """A function of arrays of these types, (dtype, rank) each.

    `function` has the function on values of graphc, as `function`, and its name.
    """

    graph = "forward"
    has_mode = False

    def __init__(self, function, types, options):
        super().__init__()
        self.function = function
        self.types = types
        self.model = _graphc.Model(function.__name__)
        self.model.graph("forward", lambda inputs: self.traced(inputs)[1])
        self.session = _graphc.Session(self.model, **options)

    def traced(self, inputs):
        leaves = [inputs(f"a{place}", dtype, [f"a{place}.{axis}" for axis in range(rank)])
                  for place, (dtype, rank) in enumerate(self.types)]
        found = self.function.function(*leaves)
        found = list(found) if isinstance(found, (tuple, list)) else [found]
        for place, one in enumerate(found):
            if not isinstance(one, _graphc.Value):
                raise InputError(f"{self.function.__name__}: result {place}: wanted a value of "
                                 f"graphc: found {type(one).__name__}")
        return leaves, found


class CellNetwork(Network):
    """A cell for arrays of these ranks: the sequence, the states and the parameters.

    `cell` has the function of one step, its name, the number of its states, and the options of the
    loop.
    """

    graph = "forward"
    has_mode = False

    def __init__(self, cell, ranks, has_lengths, options):
        super().__init__()
        self.cell = cell
        self.ranks = ranks
        self.has_lengths = has_lengths
        self.model = _graphc.Model(cell.__name__)
        self.model.graph("forward", lambda inputs: self.traced(inputs)[1])
        self.session = _graphc.Session(self.model, **options)

    def traced(self, inputs):
        names = ["xs"] + [f"a{place}" for place in range(len(self.ranks) - 1)]
        leaves = [inputs(name, DType.f32, [f"{name}.{axis}" for axis in range(rank)])
                  for name, rank in zip(names, self.ranks)]
        lengths = inputs("lengths", DType.i32, ["batch"]) if self.has_lengths else None
        results = loop(self.cell, leaves[0], leaves[1:], lengths)
        return [*leaves, *[lengths] * self.has_lengths], results


def loop(cell, xs, values, lengths):
    """The scan of a cell, while a graph is traced: every first state, and the last states."""
    states = [_graphc.State(initial, f"state{place}")
              for place, initial in enumerate(values[:cell.states])]
    parameters = values[cell.states:]

    def step(x):
        found = cell.function(x, *[state.value for state in states], *parameters)
        found = found if isinstance(found, (tuple, list)) else (found,)
        if len(found) != cell.states:
            raise InputError(f"{cell.__name__}: wanted the next value of {cell.states} "
                             f"state{'s' * (cell.states > 1)}: found {len(found)} values")
        for state, value in zip(states, found):
            state.value = value
        return states[0]

    steps = _graphc.scan(xs, step, lengths=lengths, reverse=cell.reverse,
                         save_every=cell.save_every)
    return [steps, *[state.value for state in states]]


class Named:
    """What is made of a function. A copy is the same object; it is pickled by its name, like the
    function."""

    def __init__(self, function):
        self.function = function
        self.__doc__ = function.__doc__
        self.__name__ = getattr(function, "__name__", "function")
        self.__qualname__ = getattr(function, "__qualname__", self.__name__)
        self.__module__ = getattr(function, "__module__", __name__)

    def __reduce__(self):
        return self.__qualname__


#: Of graphc.Session, as its signature has them.
_SESSION_OPTIONS = re.findall(r"(\w+): ", _graphc.Session.__init__.__doc__.split("\n")[0])[1:]


def options_of(options, *, others=()):
    """The options of a session, for functions in other frameworks: target `cpu` unless another is
    asked for, and each notice once. Throws for those that there are not, and for those that are the
    framework's to say. The caller has `others`, of which an error may name one that was meant."""
    for name in options:
        if name not in _SESSION_OPTIONS:
            near = difflib.get_close_matches(name, [*_SESSION_OPTIONS, *others], 1)
            raise UsageError(f"there is no option '{name}'" +
                             (f"; did you mean '{near[0]}'?" if near else ""))
    if options.get("check_finite"):
        raise UsageError("check_finite: wanted what the framework has, such as "
                         "torch.autograd.set_detect_anomaly")
    found = {**options, "target": options["target"] or "cpu",
             "announce": Announcing(options.get("announce"))}
    if found["target"] != "cpu":
        del found["threads"]
    return found


class Cell(Named):
    """A function of one step with what a loop over it needs; other frameworks' cells are this."""

    def __init__(self, function, states, reverse, save_every, options):
        if not callable(function) or states < 1:
            raise InputError("cell: wanted a function of one step and at least one state: found "
                             f"{type(function).__name__} and states={states}")
        super().__init__(function)
        self.states = states
        self.reverse = reverse
        self.save_every = save_every
        self._options = options_of(options, others=("states", "reverse", "save_every"))
