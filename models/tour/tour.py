#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The first five programs of the tour in Python: tour.py 1|2|3|4|5
"""What the C++ programs print (README.md); the last two add an op and a pass, which C++ does."""

import re
import sys

import numpy as np

import graphc
from graphc import f32, i32


class Neuron:
    """tanh(x w + b): x [batch, 3] to [batch, 1]."""

    def __init__(self, model):
        self.w = model.param("w", (3, 1), graphc.constant(0.5))
        self.b = model.param("b", 1, graphc.zeros())

    def sum(self, x):
        return x @ self.w + self.b

    def __call__(self, x):
        return graphc.tanh(self.sum(x))


class Memory:
    """A neuron that also sees its previous output: h = tanh(x w + b + h u)."""

    def __init__(self, model):
        self.neuron = Neuron(model)
        self.u = model.param("u", (1, 1), graphc.constant(0.5))

    def __call__(self, xs, h):
        def step(x):
            heard = self.neuron.sum(x)
            h.value = graphc.tanh(heard + h @ self.u)
            return h

        return graphc.scan(xs, step)


def graph():
    """01: equations on values become nodes, and a session compiles and runs them."""
    model = graphc.Model("tour")
    neuron = Neuron(model)
    model.graph("predict", lambda inputs: neuron(inputs("x", f32, ["batch", 3])))
    print(model.trace("predict", {"batch": 2}))
    y = graphc.Session(model)("predict", [[1, -1, 1], [0.5, 0.25, -1]])
    print(f"{y[0, 0]:.4f} {y[1, 0]:.4f}")


def gradients():
    """02: the derivative is one node; the neuron learns the majority of three signs."""
    model = graphc.Model("tour")
    neuron = Neuron(model)

    @model.graph("train", mode="training")
    def train(inputs):
        x, y = inputs("x", f32, ["batch", 3]), inputs("y", f32, ["batch", 1])
        loss = graphc.mse(neuron(x), y)
        graphc.minimize(loss, model.params(), graphc.Sgd(rate=0.5))
        return loss

    print(model.trace("train", {"batch": 8}))
    signs = np.array([[(row >> i) % 2 * 2 - 1 for i in range(3)] for row in range(8)])
    majority = np.sign(signs.sum(1, keepdims=True))
    session = graphc.Session(model)
    for step in range(101):
        loss = session("train", signs, majority)
        if step in (0, 10, 100):
            print(f"step {step:3}  loss {loss:.3f}")


def states():
    """03: a state assigned in a loop is a carry; one of the model lives on from call to call."""
    model = graphc.Model("tour")
    memory = Memory(model)

    @model.graph("listen")
    def listen(inputs):
        xs = inputs("xs", f32, ["steps", "batch", 3])
        h = inputs.state("h", (inputs.extent("batch"), 1))
        return memory(xs, h)

    print(model.trace("listen", {"steps": 4, "batch": 1}))
    signals = np.array([1, 0, 0, 0, 1, 0, 0, 0, 1, -1, -1, -1]).reshape(4, 1, 3)
    session = graphc.Session(model, announce=lambda line: None)

    def show(what, heard):
        print(what + "".join(f" {h:.4f}" for h in heard.ravel()))

    show("four at once:", session("listen", signals))
    session.reset("h")
    show("two,         ", session("listen", signals[:2]))
    show("and two:     ", session("listen", signals[2:]))


class LanguageModel:
    """An LSTM over letters, as equations."""

    def __init__(self, model, alphabet, units):
        self.model, self.units = model, units
        self.letters = graphc.Embedding(model, "letters", alphabet, units)
        self.w = model.param("w", (units, 4 * units), graphc.glorot_uniform())
        self.u = model.param("u", (units, 4 * units), graphc.glorot_uniform())
        self.b = model.param("b", 4 * units, graphc.zeros())
        self.guess = graphc.Linear(model, "guess", units, alphabet)

    def __call__(self, text, h, c):
        def step(x):
            i, f, g, o = graphc.split(x @ self.w + self.b + h @ self.u, 4)
            c.value = graphc.sigmoid(f) * c + graphc.sigmoid(i) * graphc.tanh(g)
            h.value = graphc.sigmoid(o) * graphc.tanh(c.value)
            return h

        return self.guess(graphc.scan(self.letters(text), step))

    def train(self, inputs):
        text = inputs("text", i32, ["steps", "batch"])
        after = inputs("after", i32, ["steps", "batch"])
        h, c = (graphc.State(graphc.filled((text.shape[1], self.units), 0)) for _ in range(2))
        loss = graphc.mean(graphc.cross_entropy(self(text, h, c), after))
        parameters = self.model.params().only(["letters", "w", "u", "b", "guess"])
        graphc.minimize(loss, parameters, graphc.Adam(rate=0.01))
        return loss

    def next(self, inputs):
        letter = inputs("letter", i32, [1, 1])
        h, c = inputs.state("h", (1, self.units)), inputs.state("c", (1, self.units))
        return graphc.argmax(self(letter, h, c), 2)


POEM = """Tyger Tyger, burning bright,
In the forests of the night;
What immortal hand or eye,
Could frame thy fearful symmetry?
"""


def language():
    """04: an LSTM language model memorises four lines, letter by letter."""
    letters = sorted(set(POEM))
    model = graphc.Model("tour")
    network = LanguageModel(model, len(letters), 64)
    model.graph("train", network.train, mode="training")
    model.graph("next", network.next)
    print(f"{len(letters)} letters, {model.parameter_count()} parameters")
    session = graphc.Session(model)
    numbers = np.array([[letters.index(letter)] for letter in POEM], dtype="i4")
    for step in range(41):
        loss = session("train", numbers[:-1], numbers[1:])
        if step % 5 == 0:
            print(f"step {step:3}  loss {loss:.1f}")
    said = [letters.index(POEM[0])]
    while len(said) < len(POEM):
        said.append(int(session("next", [[said[-1]]])[0, 0]))
    text = "".join(letters[place] for place in said)
    print(text + ("by heart" if text == POEM else "not yet"))


def passes():
    """05: the effect of each pass on the language model's training step."""
    model = graphc.Model("tour")
    network = LanguageModel(model, 27, 64)
    model.graph("train", network.train, mode="training")
    print(f"{'after':14}{'nodes':>6}{'loops':>8}{'products':>9}{'kernels':>13}")
    print(f"{'':14}{'':>6}{'':>8}{'in loops':>9}")
    for name, text in model.passes("train", {"steps": 119, "batch": 1}):
        # A line for each node; those of a body are indented. A kernel is one node.
        nodes, within = [], None
        for margin, op in re.findall(r"^( +)%[^=]* = (\w+)", text, re.M):
            if within is not None and len(margin) > within:
                continue
            within = len(margin) if op == "kernel" else None
            if op != "constant":
                nodes.append((len(margin) > 2, op))
        loops, kernels = (sum(op == kind for _, op in nodes) for kind in ("scan", "kernel"))
        products = sum(inside and op == "matmul" for inside, op in nodes)
        print(f"{name:14}{len(nodes):6}{loops:8}{products:9}{kernels:13}")


PROGRAMS = [graph, gradients, states, language, passes]

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in "12345":
        sys.exit(__doc__)
    PROGRAMS[int(sys.argv[1]) - 1]()
