# SPDX-License-Identifier: Apache-2.0
# Layers that are made of layers.
"""Layers of layers: both directions, and several on top of each other."""

from . import _graphc
from .errors import InputError


class Bidirectional:
    """Two recurrent layers over one sequence, one of them in reverse.

    `Bidirectional(Lstm, model, "encoder", input, hidden)`: xs [steps, batch, input] to
    [steps, batch, 2 hidden]. The options are those of the layer.
    """

    #: The width of its output, as a multiple of `hidden`.
    width = 2

    def __init__(self, layer, model, name, input, hidden, **options):
        self.width = 2 * getattr(layer, "width", 1)
        self.forward = layer(model, f"{name}.forward", input, hidden, **options)
        self.backward = layer(model, f"{name}.backward", input, hidden, **options)

    def __call__(self, xs, *, lengths=None, reverse=False):
        there = self.forward(xs, lengths=lengths, reverse=reverse)
        back = self.backward(xs, lengths=lengths, reverse=not reverse)
        return _graphc.concat([there, back], 2)

    def params(self):
        """Its parameters."""
        return self.forward.params() + self.backward.params()


class Stacked:
    """Recurrent layers on top of each other, with dropout between them.

    `Stacked(Lstm, model, "encoder", 3, input, hidden, rate=0.2)`; for layers in both directions
    `layer` is a function of (model, name, input, hidden), such as
    `lambda *a: Bidirectional(Gru, *a)`.
    """

    def __init__(self, layer, model, name, count, input, hidden, *, rate=None, keep=None,
                 **options):
        if count < 1:
            raise InputError(f"Stacked '{name}': there is at least one layer: found {count}")
        self.between = _graphc.Dropout(rate=rate, keep=keep)
        self.layers = []
        for place in range(count):
            width = input if place == 0 else getattr(self.layers[0], "width", 1) * hidden
            self.layers.append(layer(model, f"{name}.{place}", width, hidden, **options))

    def __call__(self, xs, *, lengths=None, reverse=False):
        for place, layer in enumerate(self.layers):
            xs = layer(xs if place == 0 else self.between(xs), lengths=lengths, reverse=reverse)
        return xs

    def params(self):
        """Its parameters."""
        params = self.layers[0].params()
        for layer in self.layers[1:]:
            params = params + layer.params()
        return params
