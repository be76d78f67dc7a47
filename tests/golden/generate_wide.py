#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Writes golden vectors of recurrent layers, in f64, with PyTorch, for the extents of SHAPES.
#
# usage: generate_wide.py [FOLDER]      (the folder of this file unless given)
#
# A file wide_CELL.safetensors holds arrays T.B.H.NAME: the loss = sum(y * r), the outputs, and
# grad.NAME for every argument. Arguments are not stored. They are drawn, as is r, from `Numbers`
# (drawn.py): multiples of 2^-9 in [-1, 1), the elements of a matrix of n rows divided by the
# largest 2^k with 4^k <= n. An array of more than WHOLE elements is stored as its products with
# directions, drawn in the same way.
import pathlib
import sys

import numpy
import torch
from safetensors.torch import save_file
from torch.func import functional_call
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from drawn import WHOLE, Numbers, directions
from generate import gru_reset_before_step, peephole_step, unrolled

STEPS, BATCHES, HIDDEN, INPUTS = (1, 2, 7, 30), (1, 3, 20), (1, 5, 64), 3


class Arrays(Numbers):
    def array(self, shape):
        scale = 1.0
        if len(shape) == 2:
            while (4 / scale / scale) <= shape[0]:
                scale /= 2
        values = self.fractions(int(numpy.prod(shape))) * scale
        return torch.tensor(values, dtype=torch.float64).reshape(shape)


def parameters(a, suffix, reverse=""):
    """The arguments w, u, b as torch.nn's parameters of a layer without a second bias."""
    named = {
        "weight_ih_l0": a["w" + suffix].T,
        "weight_hh_l0": a["u" + suffix].T,
        "bias_ih_l0": a["b" + suffix],
        "bias_hh_l0": torch.zeros_like(a["b" + suffix]),
    }
    return {name + reverse: value for name, value in named.items()}


def lstm(a, lengths):
    out, hidden = a["h0"].shape[-1], a["c0"].shape[-1]
    both, projected = "w_r" in a, "p" in a
    layer = torch.nn.LSTM(INPUTS, hidden, bidirectional=both, dtype=torch.float64)
    weights = parameters(a, "")
    state = (a["h0"][None], a["c0"][None])
    if both:
        weights.update(parameters(a, "_r", "_reverse"))
        state = (torch.stack([a["h0"], a["h0_r"]]), torch.stack([a["c0"], a["c0_r"]]))
    if projected:
        flat = [*weights.values(), a["p"].T]
        y, h, c = torch._VF.lstm(a["x"], state, flat, True, 1, 0.0, True, False, False)
        assert y.shape[-1] == out
    elif lengths is not None:
        packed = pack_padded_sequence(a["x"], lengths, enforce_sorted=False)
        y, (h, c) = functional_call(layer, weights, (packed, state))
        y, _ = pad_packed_sequence(y, total_length=a["x"].shape[0])
    else:
        y, (h, c) = functional_call(layer, weights, (a["x"], state))
    return {"y": y, "h_end": h[0], "c_end": c[0], **({"h_end_r": h[1]} if both else {})}


def gru(a, lengths):
    hidden = a["h0"].shape[-1]
    layer = torch.nn.GRU(INPUTS, hidden, dtype=torch.float64)
    weights = parameters(a, "")
    # Of its second bias only the part inside the reset gate is used.
    weights["bias_hh_l0"] = torch.cat([torch.zeros(2 * hidden, dtype=torch.float64), a["c"]])
    y, h = functional_call(layer, weights, (a["x"], a["h0"][None]))
    return {"y": y, "h_end": h[0]}


def rnn(a, lengths):
    layer = torch.nn.RNN(INPUTS, a["h0"].shape[-1], dtype=torch.float64)
    y, h = functional_call(layer, parameters(a, ""), (a["x"], a["h0"][None]))
    return {"y": y, "h_end": h[0]}


def by_step(step):
    return lambda a, lengths: unrolled(step)(a)


# Name, gates, arguments beside x, h0, w, u, b (shapes by name), the layer.
CELLS = {
    "lstm": (4, {"c0": "BH"}, lstm),
    "gru": (3, {"c": "H"}, gru),
    "gru_reset_before": (3, {}, by_step(gru_reset_before_step)),
    "rnn": (1, {}, rnn),
    "peephole": (4, {"c0": "BH", "p_i": "H", "p_f": "H", "p_o": "H"}, by_step(peephole_step)),
    "projected": (4, {"c0": "BH", "p": "HO"}, lstm),
    "bidirectional": (
        4,
        {"c0": "BH", "h0_r": "BO", "c0_r": "BH", "w_r": "IG", "u_r": "OG", "b_r": "G"},
        lstm,
    ),
    "lengths": (4, {"c0": "BH"}, lstm),
}
COMMON = {"x": "TBI", "h0": "BO", "w": "IG", "u": "OG", "b": "G"}


def one_case(cell, gates, more, layer, steps, batch, hidden):
    """The arrays of one set of extents, by name."""
    out = max(2, hidden // 3) if cell == "projected" else hidden
    extents = {"T": steps, "B": batch, "I": INPUTS, "H": hidden, "O": out, "G": gates * hidden}
    seed = ((list(CELLS).index(cell) * 100 + steps) * 100 + batch) * 100 + hidden
    numbers = Arrays(seed)
    a = {}
    for name, letters in {**COMMON, **more}.items():
        a[name] = numbers.array([extents[letter] for letter in letters]).requires_grad_()
    lengths = None
    if cell == "lengths":
        lengths = torch.tensor(1 + numbers.bits(batch) % steps)
    results = layer(a, lengths)
    r = numbers.array(results["y"].shape)
    loss = (results["y"] * r).sum()
    loss.backward()
    arrays = {"loss": loss.detach().reshape(1)}
    arrays.update({name: value.detach() for name, value in results.items()})
    arrays.update({"grad." + name: value.grad for name, value in a.items()})
    stored = {}
    for index, (name, value) in enumerate(arrays.items()):
        if value.numel() > WHOLE:
            flat = value.reshape(-1)
            drawn = directions(flat.numel(), seed * 100 + index)
            value = torch.stack([flat @ torch.tensor(each) for each in drawn])
        stored[f"{steps}.{batch}.{hidden}.{name}"] = value.contiguous().clone()
    return stored


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for cell, (gates, more, layer) in CELLS.items():
        arrays = {}
        for steps in STEPS:
            for batch in BATCHES:
                for hidden in HIDDEN:
                    arrays.update(one_case(cell, gates, more, layer, steps, batch, hidden))
        save_file(arrays, folder / f"wide_{cell}.safetensors")


if __name__ == "__main__":
    main()
