# SPDX-License-Identifier: Apache-2.0
# torch.nn.LSTM, GRU and RNN whose loops are graphc's, and torch.nn.Linear.
"""Layers of torch.nn with graphc inside: the same names, arguments and parameters."""

import functools

import torch
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from .. import _graphc
from ..errors import InputError
from .cells import cell
from .functions import Function


def _product(x, matrix):
    """x times a matrix in torch's form, [out, in]."""
    return _graphc.matmul(x, matrix, transpose_b=True)


def _sums(x, h, w, u, biases):
    """The sums of a step. Biases are added to the product that does not wait for the last step."""
    return sum(biases, _product(x, w)) + _product(h, u)


def _lstm(x, h, c, w, u, *biases):
    z = _sums(x, h, w, u, biases)
    i, f, g, o = _graphc.split(z, 4)
    c = _graphc.sigmoid(f) * c + _graphc.sigmoid(i) * _graphc.tanh(g)
    return _graphc.sigmoid(o) * _graphc.tanh(c), c


def _projected_lstm(x, h, c, w, u, *others):
    *biases, projection = others
    h, c = _lstm(x, h, c, w, u, *biases)
    return _product(h, projection), c


def _gru(x, h, w, u, *biases):
    a, b = _product(x, w), _product(h, u)
    if biases:
        a, b = a + biases[0], b + biases[1]
    (r, z, n), (p, q, m) = _graphc.split(a, 3), _graphc.split(b, 3)
    n = _graphc.tanh(n + _graphc.sigmoid(r + p) * m)
    z = _graphc.sigmoid(z + q)
    return (1 - z) * n + z * h


def _tanh(x, h, w, u, *biases):
    return _graphc.tanh(_sums(x, h, w, u, biases))


def _relu(x, h, w, u, *biases):
    return _graphc.relu(_sums(x, h, w, u, biases))


def _linear(x, w, *biases):
    return sum(biases, _product(x, w))


@functools.cache
def _cell_of(function, states, reverse, precision):
    """One operator serves all layers of its kind."""
    return cell(function, states=states, reverse=reverse, precision=precision)


#: Of linear layers, by precision. Not a cached function, which torch.compile would look into.
_LINEAR = {}


def _linear_of(precision):
    if precision not in _LINEAR:
        _LINEAR[precision] = Function(_linear, precision, {"target": "", "threads": 0}, count=1)
    return _LINEAR[precision]


class _WithPrecision:
    """A layer of torch that takes `precision` as well, as graphc.torch.cell() does."""

    precision = "f32"  #: of layers that were pickled without one

    def __init__(self, *arguments, precision="f32", **options):
        super().__init__(*arguments, **options)
        self.precision = precision


class _Recurrent(_WithPrecision):
    """The forward() of a layer of torch, with the loops of graphc."""

    def forward(self, input, hx=None):
        """What the layer of torch.nn returns."""
        if isinstance(input, PackedSequence):
            return self._run_packed(input, hx)
        if input.dim() not in (2, 3):
            raise InputError(f"{type(self).__name__}: wanted a sequence of 2 or 3 axes: found "
                             f"{input.dim()}")
        alone = input.dim() == 2
        xs = input.unsqueeze(1) if alone else input.transpose(0, 1) if self.batch_first else input
        if alone and hx is not None:
            hx = (tuple(one.unsqueeze(1) for one in hx) if isinstance(hx, tuple)
                  else hx.unsqueeze(1))
        ys, last = self._run(xs, hx, None)
        if alone:
            last = tuple(one.squeeze(1) for one in last)
            return ys.squeeze(1), last if len(last) > 1 else last[0]
        ys = ys.transpose(0, 1) if self.batch_first else ys
        return ys, last if len(last) > 1 else last[0]

    def _run_packed(self, packed, hx):
        xs, lengths = pad_packed_sequence(packed)
        order = packed.unsorted_indices
        ys, last = self._run(xs, hx, lengths)
        ys = pack_padded_sequence(ys, lengths, enforce_sorted=order is None)
        return ys, last if len(last) > 1 else last[0]

    def _run(self, xs, hx, lengths):
        function, states = self._function()
        directions = 2 if self.bidirectional else 1
        first = self._first_states(xs, hx, states, directions)
        ends = [[] for _ in range(states)]
        for layer in range(self.num_layers):
            outputs = []
            for direction in range(directions):
                place = layer * directions + direction
                run = _cell_of(function, states, direction == 1, self.precision)
                ys, *last = run(xs, *[one[place] for one in first], *self.all_weights[place],
                                lengths=lengths)
                outputs.append(ys)
                for end, value in zip(ends, last):
                    end.append(value)
            xs = outputs[0] if directions == 1 else torch.cat(outputs, -1)
            if self.dropout and layer < self.num_layers - 1:
                xs = torch.nn.functional.dropout(xs, self.dropout, self.training)
        return xs, tuple(torch.stack(end) for end in ends)

    def _first_states(self, xs, hx, states, directions):
        count, batch = self.num_layers * directions, xs.shape[1]
        widths = (getattr(self, "proj_size", 0) or self.hidden_size, self.hidden_size)
        wanted = [(count, batch, width) for width in widths[:states]]
        if hx is None:
            dtype = self.all_weights[0][0].dtype
            return tuple(xs.new_zeros(shape, dtype=dtype) for shape in wanted)
        given = tuple(hx) if isinstance(hx, (tuple, list)) else (hx,)
        found = [tuple(one.shape) for one in given]
        if found != wanted:
            raise InputError(f"{type(self).__name__}: wanted first states {wanted}: found {found}")
        return given


class LSTM(_Recurrent, torch.nn.LSTM):
    """torch.nn.LSTM, computed by graphc."""

    def _function(self):
        return (_projected_lstm if self.proj_size else _lstm), 2


class GRU(_Recurrent, torch.nn.GRU):
    """torch.nn.GRU, computed by graphc."""

    def _function(self):
        return _gru, 1


class RNN(_Recurrent, torch.nn.RNN):
    """torch.nn.RNN, computed by graphc."""

    def _function(self):
        return (_tanh if self.nonlinearity == "tanh" else _relu), 1


class Linear(_WithPrecision, torch.nn.Linear):
    """torch.nn.Linear, computed by graphc."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        _linear_of(self.precision)  # before torch.compile meets it

    def forward(self, input):
        """What the layer of torch.nn returns."""
        biases = () if self.bias is None else (self.bias,)
        xs = input.unsqueeze(0) if input.dim() == 1 else input
        ys = _linear_of(self.precision)(xs, self.weight, *biases)
        return ys.squeeze(0) if input.dim() == 1 else ys
