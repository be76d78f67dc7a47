#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Writes the golden vectors of recurrent cells, in f64, with PyTorch's own layers where it has them.
#
# usage: generate.py [FOLDER]      (the folder of this file unless given)
#
# Each file holds random arguments, the outputs y [T, B, H] and final states of the layer, loss =
# sum(y * r), and the derivative grad.NAME of the loss for each argument NAME. Row vectors:
# x w + h u + b. Gates lie side by side: i, f, g, o in an LSTM; r, z, n in a GRU. Weights are random
# and T > 1: constant weights, or a single step, cannot tell a wrong cell from a right one.
import pathlib
import sys

import numpy
import torch
from safetensors.torch import save_file
from torch.nn.functional import layer_norm

GATES = 4
EPSILON = 1e-5


def gates(z):
    """The four parts of z [B, 4H], the squashing functions not yet applied."""
    return z.chunk(GATES, dim=-1)


def layer_norm_of_gates(z, gain):
    """LN over each gate's H units of z [B, 4H], times gain [4H]."""
    parts = [layer_norm(part, part.shape[-1:], eps=EPSILON) for part in gates(z)]
    return torch.cat(parts, dim=-1) * gain


def lstm_step(a, x, h, c):
    i, f, g, o = gates(x @ a["w"] + h @ a["u"] + a["b"])
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def peephole_step(a, x, h, c):
    i, f, g, o = gates(x @ a["w"] + h @ a["u"] + a["b"])
    i, f = (i + a["p_i"] * c).sigmoid(), (f + a["p_f"] * c).sigmoid()
    c = f * c + i * g.tanh()
    return (o + a["p_o"] * c).sigmoid() * c.tanh(), c


def layer_norm_step(a, x, h, c):
    z = layer_norm_of_gates(x @ a["w"], a["g1"]) + layer_norm_of_gates(h @ a["u"], a["g2"]) + a["b"]
    i, f, g, o = gates(z)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    normal = layer_norm(c, c.shape[-1:], a["g3"], a["b3"], EPSILON)
    return o.sigmoid() * normal.tanh(), c


def gru_reset_before_step(a, x, h, c):
    r, z, n = (x @ a["w"] + a["b"]).chunk(3, dim=-1)
    u_r, u_z, u_n = a["u"].chunk(3, dim=-1)
    r, z = (r + h @ u_r).sigmoid(), (z + h @ u_z).sigmoid()
    n = (n + (r * h) @ u_n).tanh()
    return (1 - z) * n + z * h, c


def unrolled(step):
    """A layer from one step, run by plain Python."""

    def layer(a):
        h, c, y = a["h0"], a.get("c0"), []
        for x in a["x"]:
            h, c = step(a, x, h, c)
            y.append(h)
        return {"y": torch.stack(y), "h_end": h, **({"c_end": c} if c is not None else {})}

    return layer


def lstm(a):
    """torch.nn.LSTM's function, with a projection when the arguments have one."""
    zero = torch.zeros_like(a["b"])
    weights = [a["w"].T, a["u"].T, a["b"], zero] + ([a["p"].T] if "p" in a else [])
    state = (a["h0"][None], a["c0"][None])
    y, h, c = torch._VF.lstm(a["x"], state, weights, True, 1, 0.0, True, False, False)
    return {"y": y, "h_end": h[0], "c_end": c[0]}


def gru(a):
    """torch.nn.GRU's function; of its second bias only the part inside the reset gate is used."""
    hidden = a["h0"].shape[-1]
    inner = torch.cat([torch.zeros(2 * hidden, dtype=torch.float64), a["c"]])
    weights = [a["w"].T, a["u"].T, a["b"], inner]
    y, h = torch._VF.gru(a["x"], a["h0"][None], weights, True, 1, 0.0, True, False, False)
    return {"y": y, "h_end": h[0]}


def rnn(a):
    """torch.nn.RNN's function."""
    weights = [a["w"].T, a["u"].T, a["b"], torch.zeros_like(a["b"])]
    y, h = torch._VF.rnn_tanh(a["x"], a["h0"][None], weights, True, 1, 0.0, True, False, False)
    return {"y": y, "h_end": h[0]}


def arguments(random, steps, batch, inputs, hidden, width, more, projected=None):
    """Random arguments: x, h0, w [I, width], u [out, width], b, and those of `more`, by shape."""
    out = projected or hidden
    shapes = {"x": [steps, batch, inputs], "h0": [batch, out], "w": [inputs, width]}
    shapes.update({"u": [out, width], "b": [width], **more})
    return {
        name: torch.tensor(random.uniform(-1, 1, shape), dtype=torch.float64, requires_grad=True)
        for name, shape in shapes.items()
    }


def write(path, random, layer, a):
    """Runs the layer, differentiates sum(y * r), and writes everything to `path`."""
    outputs = layer(a)
    r = torch.tensor(random.uniform(-1, 1, tuple(outputs["y"].shape)), dtype=torch.float64)
    loss = (outputs["y"] * r).sum()
    loss.backward()
    tensors = {"r": r, "loss": loss.detach()}
    for name, value in {**a, **outputs}.items():
        tensors[name] = value.detach().contiguous()
    for name, value in a.items():
        tensors["grad." + name] = value.grad.contiguous()
    save_file(tensors, path)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    batch, inputs, hidden = 3, 4, 5
    lstm_more = {"c0": [batch, hidden]}
    peepholes = {name: [hidden] for name in ("p_i", "p_f", "p_o")}
    norms = {"g1": [4 * hidden], "g2": [4 * hidden], "g3": [hidden], "b3": [hidden]}
    cells = {
        "lstm": (lstm, 7, 4 * hidden, lstm_more, None),
        "lstm_one_step": (lstm, 1, 4 * hidden, lstm_more, None),
        "peephole": (unrolled(peephole_step), 6, 4 * hidden, {**lstm_more, **peepholes}, None),
        "layer_norm_lstm": (unrolled(layer_norm_step), 6, 4 * hidden, {**lstm_more, **norms}, None),
        "projected": (lstm, 6, 4 * hidden, {**lstm_more, "p": [hidden, 2]}, 2),
        "gru": (gru, 6, 3 * hidden, {"c": [hidden]}, None),
        "gru_reset_before": (unrolled(gru_reset_before_step), 6, 3 * hidden, {}, None),
        "rnn": (rnn, 6, hidden, {}, None),
    }
    for seed, (name, (layer, steps, width, more, projected)) in enumerate(cells.items()):
        # The stream of RandomState is frozen: every version of NumPy draws the same numbers.
        random = numpy.random.RandomState(seed)
        a = arguments(random, steps, batch, inputs, hidden, width, more, projected)
        write(folder / f"{name}.safetensors", random, layer, a)
    # The equations of this file's own cells, checked where PyTorch has the layer too.
    a = arguments(numpy.random.RandomState(99), 4, batch, inputs, hidden, 4 * hidden, lstm_more)
    torch.testing.assert_close(unrolled(lstm_step)(a)["y"], lstm(a)["y"], rtol=1e-13, atol=1e-13)


if __name__ == "__main__":
    main()
