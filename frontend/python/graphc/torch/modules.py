# SPDX-License-Identifier: Apache-2.0
# A graph of a model as a torch.nn.Module: its parameters are those of torch.
"""Models as modules of torch: graphc.torch.module()."""

import functools
import itertools
import pickle
import threading

import torch

from .. import _graphc
from ..errors import InputError
from ..networks import Announcing, Kept, options_of, usable
from .calls import checked
from .networks import (DTYPES, OfTensors, check_one_device, check_tensor, device_of, encoded,
                       not_compiled, options_on, precision_of, result_dtype)
from .operators import Operators

_numbers = itertools.count()
_CPU = torch.device("cpu")


def module(model, graph, *, seed=0, precision="f32", target="", threads=0, **options):
    """A graph of a model as a torch.nn.Module.

    `model` is a graphc.Model, or a function without arguments that makes one: then the module can
    be pickled. Its parameters become torch.nn.Parameters with the same names, drawn by `seed`:
    optimizers, state_dict(), deepcopy() and DistributedDataParallel find them. Other states stay
    with graphc; state_dict() has them too.

    It is called with a tensor for each input of the graph, in their order, and gives what the graph
    returns: a tensor, a tuple, or a dict of named results. There is a derivative of every result
    that is float32. Dropout is active as train() and eval() say, whatever the mode of the graph.
    On a GPU, after module.cuda(), the graph is computed there; the other states follow.
    `precision` is as for graphc.torch.cell(). Further options are those of graphc.Session.
    """
    return Module(_Core(model, graph, precision, {"seed": seed, "target": target,
                                                  "threads": threads, **options}))


class Module(torch.nn.Module):
    """What module() makes. Copies share the model and the states that are not parameters."""

    def __init__(self, core):
        super().__init__()
        self._core = core
        for name in core.names:
            value = torch.from_numpy(core.session(core.precision, _CPU).state(name))
            _place(self, name, torch.nn.Parameter(value))

    def forward(self, *inputs):
        """The results of the graph."""
        # Not get_parameter(): torch.func.functional_call puts other tensors in their places.
        parameters = [functools.reduce(getattr, name.split("."), self)
                      for name in self._core.names]
        return self._core.run(parameters, inputs, self.training)

    def get_extra_state(self):
        """The states that are no parameters, as tensors."""
        return {name: torch.from_numpy(value) for name, value in self._core.states().items()}

    def set_extra_state(self, state):
        """Sets the states that are no parameters."""
        self._core.set_states({
            name: value.cpu().numpy() if isinstance(value, torch.Tensor) else value
            for name, value in state.items()})

    def extra_repr(self):
        """The graph and the model."""
        return f"graph '{self._core.graph}' of {self._core.model!r}"


def _place(module, name, parameter):
    """Registers "lstm.w" as the parameter w of a submodule lstm."""
    *folders, last = name.split(".")
    for folder in folders:
        if folder in module._parameters:
            raise InputError(f"module: parameter '{name}' would be in another one, '{folder}': "
                             "wanted names of which none begins another")
        if folder not in module._modules:
            module.add_module(folder, torch.nn.Module())
        module = module._modules[folder]
    module.register_parameter(last, parameter)


class _Core:
    """The model, its sessions and its operators: what copies of a module share."""

    def __init__(self, model, graph, precision, options):
        options_of(options)
        self._build = None
        if not isinstance(model, _graphc.Model):
            if not callable(model):
                raise InputError("module: wanted a model, or a function that makes one: found "
                                 f"{type(model).__name__}")
            self._build, model = model, model()
        self.model = model
        self.graph = graph
        self.function = model.function(graph)
        self.names = [param.name for param in model.params()]
        self.precision = precision
        self._options = options
        self._asked = {**options, "announce": Announcing(options.get("announce"))}
        self._sessions = {}
        self._last = None  #: the session that has the states that are no parameters
        self._later = {}  #: values of states that a graph declares when it is traced
        self._networks = {}
        self._count = self._names = None
        self._checked = Kept()  #: the precision, for tensors that have passed
        self._lock = threading.RLock()  #: both modes have the same sessions
        self._operators = {training: self._make_operators(training) for training in (False, True)}

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        if self._build is None:
            raise pickle.PicklingError(
                "a graphc.Model has Python functions inside: to pickle the module give "
                "graphc.torch.module() the function that makes the model, or keep state_dict()")
        states = self.states() if self._last else {}
        return _Core, (self._build, self.graph, self.precision, self._options), states

    def __setstate__(self, states):
        if states:
            self.set_states(states)

    def session(self, precision, device):
        """The session that computes in this precision on this device."""
        key = (usable(precision), device)
        if key not in self._sessions:
            options = options_on(f"graph '{self.graph}'", device, self._asked)
            self._sessions[key] = _graphc.Session(self.model, precision=key[0], **options)
        return self._sessions[key]

    def with_states(self, session):
        """The session, with the states that are no parameters: they go where the graph is run."""
        if self._last not in (None, session):
            for name, value in self._states_in(self._last).items():
                session.set_state(name, value)
        self._last = session
        if self._later:
            self._set({**self._later})
        return session

    def set_states(self, states):
        """Sets states that are no parameters."""
        self._last = self._last or self.session(self.precision, _CPU)
        self._set(states)

    def _set(self, states):
        known = [name for name in states if self._last.has_state(name)]
        for name in known:
            self._last.set_state(name, states[name])
        self._later = {name: value for name, value in states.items() if name not in known}

    def check_all_set(self):
        """Throws for values of states that the graph does not have, once it has been traced."""
        if self._later:
            names = ", ".join(f"'{name}'" for name in self._later)
            self._later = {}
            raise InputError(f"graph '{self.graph}': what was loaded has values of {names}: "
                             "wanted states of the graph alone")

    def run(self, parameters, inputs, training):
        """The results of the graph."""
        given, precision, signature = checked([*parameters, *inputs], self._checked,
                                              self._prepare)
        if self._names is None:
            self._learn(given, precision, training)
        found = self._operators[training](given, precision, signature)[:self._count]
        if self._names:
            return dict(zip(self._names, found))
        return found[0] if self._count == 1 else tuple(found)

    def _prepare(self, tensors):
        """The tensors as they are computed with, and the precision."""
        parameters, inputs = tensors[:len(self.names)], tensors[len(self.names):]
        for place, one in enumerate(inputs):
            check_tensor(f"graph '{self.graph}'", f"input {place}", one)
        check_one_device(f"graph '{self.graph}'", [*parameters, *inputs])
        for name, one in zip(self.names, parameters):
            if one.dtype not in (torch.float32, torch.float64) or one.dtype != parameters[0].dtype:
                raise InputError(f"graph '{self.graph}': parameter '{name}' is {one.dtype}: wanted "
                                 "all torch.float32, or all torch.float64; torch.autocast rounds "
                                 "the factors of products to torch.bfloat16")
        precision = precision_of((*parameters, *inputs, torch.empty(0))[0], self.precision)
        return [*parameters, *[_of_a_type_of_ours(one, parameters) for one in inputs]], precision

    @not_compiled
    def _learn(self, tensors, precision, training):
        """Finds how many results the graph has, and their names."""
        network = self._network(training, precision, device_of(tensors))
        found = network.interface(encoded(tensors))
        self._count, self._names = len(found.results), found.names

    def states(self):
        """The values of the states that are no parameters."""
        return {**self._states_in(self._last or self.session(self.precision, _CPU)), **self._later}

    def _states_in(self, session):
        return {name: session.state(name) for name in self.model.states()
                if name not in self.names and session.has_state(name)}

    def _network(self, training, precision, device):
        key = (training, precision, device)
        if key not in self._networks:
            session = self.session(precision, device)
            self._networks[key] = _ModelNetwork(self, training, session)
        return self._networks[key]

    def _make_operators(self, training):
        def network(tensors, precision, device):
            return self._network(training, precision, device)

        def used(network):
            self.with_states(network.session)
            if training:
                self.check_all_set()

        def results(tensors, precision):
            found = self._network(training, precision, device_of(tensors))
            types = found.interface(encoded(tensors)).results
            return [tensors[0].new_empty(shape, dtype=result_dtype(dtype, precision))
                    for dtype, shape in types]

        def assigns(tensors, precision):
            found = self._network(training, precision, device_of(tensors))
            return found.interface(encoded(tensors)).assigns

        return Operators(self.graph, network, results, assigns, used, self._lock)


class _ModelNetwork(OfTensors):
    """A graph of a model with its parameters as inputs, in training or not."""

    def __init__(self, core, training, session):
        super().__init__()
        self.core = core
        self.model = core.model
        self.session = session
        self.parameters = core.names
        self.mode = "training" if training else "evaluation"
        self.graph = f"{core.graph} (torch {next(_numbers)})"
        self.model.graph(self.graph, lambda inputs: self._returned(inputs)[1], mode=self.mode)

    def traced(self, inputs):
        leaves, returned = self._returned(inputs)
        if isinstance(returned, dict):
            returned = list(returned.values())
        elif not isinstance(returned, (tuple, list)):
            returned = [returned]
        # A state among the results is its value.
        return leaves, [result.value if isinstance(result, _graphc.State) else result
                        for result in returned]

    def _returned(self, inputs):
        declared = _Declared(inputs)
        returned = self.core.function(declared)
        params = list(self.model.params())
        if [param.name for param in params] != self.core.names:
            raise InputError(f"graph '{self.core.graph}' declares parameters while it is traced: "
                             "graphc.torch.module() wants those of a model declared before")
        return [*params, *declared.values], returned


class _Declared:
    """The inputs of a graph, which remembers what is declared."""

    def __init__(self, inputs):
        self._inputs = inputs
        self.values = []

    def __call__(self, name, dtype, dims):
        self.values.append(self._inputs(name, dtype, dims))
        return self.values[-1]

    def __getattr__(self, name):
        return getattr(self._inputs, name)


def _of_a_type_of_ours(tensor, parameters):
    """The tensor in a type that graphc has, floats as those of the parameters."""
    if tensor.is_floating_point():
        wide = any(one.dtype == torch.float64 for one in parameters)
        return tensor.to(torch.float64 if wide else torch.float32)
    if tensor.dtype in (torch.int8, torch.int16):
        return tensor.to(torch.int32)
    if not any(tensor.dtype == theirs for theirs, _ in DTYPES):
        raise InputError(f"wanted a tensor of floats, integers or bool: found {tensor.dtype}")
    return tensor
