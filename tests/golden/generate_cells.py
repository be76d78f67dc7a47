#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Writes golden vectors of the cells of cell-layer, in f64, with NumPy.
#
# usage: generate_cells.py [FOLDER]      (the folder of this file unless given)
#
# A file cell_NAME.safetensors holds arrays REGIME.T.NAME: y, the last states NAME_end, and
# grad.NAME for every stream, fixed input, parameter and initial state, of the loss = sum(y r) + the
# sums of the last states times an r of their own. Arguments are not stored: `Numbers` draws them,
# in the order of CELLS, and tests/models/stream_cells_test.cpp draws the same. An array of more
# than WHOLE elements is stored as its products with 8 directions.
#
# A derivative is the coefficient of an infinitesimal: every element of every argument is disturbed
# by 1e-100 i in a run of its own (all runs side by side, on axis 0). Its square vanishes, so sums
# and products of complex numbers are those of first-order series; elementary functions are lifted
# with their derivatives. There is no reverse sweep here that could have a compiler's mistake too.
import json
import pathlib
import struct
import sys

import numpy

from drawn import WHOLE, Numbers, directions

TINY = 1e-100
STEPS = (1, 7, 64)
REGIMES = ("plain", "closed", "large")
EXTENTS = {"R": 4, "B": 2, "N": 2, "K": 5, "V": 3, "D": 7, "S": 3, "M": 4, "H": 3}
SUMS = {"E": ("H", 4), "G": ("D", 3)}  # extents that are multiples of others


def stored(value, seed):
    """The array, or its products with directions if it has more than WHOLE elements."""
    if value.size <= WHOLE:
        return value
    return numpy.stack([value.reshape(-1) @ each for each in directions(value.size, seed)])


def lifted(function, derivative):
    return lambda z: function(z.real) + 1j * z.imag * derivative(z.real)


def sigmoid_of(x):
    return numpy.where(x >= 0, 1, numpy.exp(-abs(x))) / (1 + numpy.exp(-abs(x)))


exp = lifted(numpy.exp, numpy.exp)
tanh = lifted(numpy.tanh, lambda x: 1 / numpy.cosh(x) ** 2)
sigmoid = lifted(sigmoid_of, lambda x: sigmoid_of(x) * sigmoid_of(-x))
softplus = lifted(lambda x: numpy.logaddexp(0, x), sigmoid_of)
sqrt = lifted(numpy.sqrt, lambda x: 0.5 / numpy.sqrt(x))
expm1 = lifted(numpy.expm1, numpy.exp)
absolute = lifted(abs, numpy.sign)


def larger(a, b):
    return numpy.where(a.real >= b.real, a, b)


def scaled_gates(i, f, m):
    """The gates of xLSTM relative to the new stabiliser, and it."""
    log_f = -softplus(-f)
    new = larger(log_f + m, i)
    # Before the first step m is -infinity, whose product with 0 i is not a number.
    begins = numpy.isneginf(m.real)
    kept = exp(numpy.where(begins, 0, log_f + m - new))
    return exp(i - new), numpy.where(begins, 0, kept), new


def gated_delta(x, _, s):
    (q, k, v, g, beta), (S,) = x, s
    S = exp(-g)[..., None, None] * S
    error = v - numpy.einsum("prkv,prk->prv", S, k)
    S = S + numpy.einsum("pr,prk,prv->prkv", beta, k, error)
    return numpy.einsum("prkv,prk->prv", S, q), [S]


def selective_scan(x, p, s):
    (delta, u, b, c), (a, skip), (h,) = x, p, s
    d = softplus(delta)
    rate = exp(-numpy.einsum("pbd,pds->pbds", d, exp(a)))
    h = rate * h + numpy.einsum("pbd,pbd,pbs->pbds", d, u, b)
    return numpy.einsum("pbds,pbs->pbd", h, c) + skip[:, None] * u, [h]


def mlstm(x, _, s):
    (q, k, v, i, f), (C, n, m) = x, s
    i, f, m = scaled_gates(i, f, m)
    C = f[..., None, None] * C + numpy.einsum("pr,prk,prv->prkv", i, k, v)
    n = f[..., None] * n + i[..., None] * k
    q = q / numpy.sqrt(EXTENTS["K"])
    least = larger(absolute(numpy.einsum("prk,prk->pr", n, q)), exp(-m))
    return numpy.einsum("prkv,prk->prv", C, q) / least[..., None], [C, n, m]


def slstm(x, p, s):
    (x,), (u,), (h, c, n, m) = x, p, s
    i, f, g, o = numpy.split(x + numpy.einsum("pbnd,pnde->pbne", h, u), 4, axis=-1)
    i, f, m = scaled_gates(i, f, m)
    c, n = f * c + i * tanh(g), f * n + i
    h = sigmoid(o) * c / n
    return h, [h, c, n, m]


def rwkv7(x, _, s):
    (r, w, k, v, a, b), (S,) = x, s
    transition = numpy.einsum("prk,prl->prkl", a, b)
    S = (
        S * exp(w)[:, :, None, :]
        + numpy.einsum("prvk,prkl->prvl", S, transition)
        + numpy.einsum("prv,prk->prvk", v, k)
    )
    return numpy.einsum("prvk,prk->prv", S, r), [S]


def rg_lru(x, p, s):
    (r, i, x), (l,), (h,) = x, p, s
    log_a = -8 * softplus(l)[:, None] * sigmoid(r)
    h = exp(log_a) * h + sqrt(-expm1(2 * log_a)) * sigmoid(i) * x
    return h, [h]


def min_gru(x, _, s):
    (z, x), (h,) = x, s
    z = sigmoid(z)
    h = (1 - z) * h + z * numpy.where(x.real >= 0, x + 0.5, sigmoid(x))
    return h, [h]


def attention_decoder(x, p, s):
    (x,), (keys, memory, w_h, v, w, u, b), (h,) = x, p, s
    query = numpy.einsum("pbd,pde->pbe", h, w_h)
    e = exp(numpy.einsum("pbme,pe->pbm", tanh(query[:, :, None] + keys), v))
    context = numpy.einsum("pbm,pbmd->pbd", e / e.sum(-1, keepdims=True), memory)
    xr, xz, xn = numpy.split(x + numpy.einsum("pbd,pdg->pbg", context, w) + b[:, None], 3, axis=-1)
    hr, hz, hn = numpy.split(numpy.einsum("pbd,pdg->pbg", h, u), 3, axis=-1)
    r, z = sigmoid(xr + hr), sigmoid(xz + hz)
    h = (1 - z) * tanh(xn + r * hn) + z * h
    return h, [h]


KEY = 1 / numpy.sqrt(EXTENTS["K"])
SHUT, OPEN = (-40, -30), (20, 40)
# Streams, then fixed inputs and parameters, then states: name, axes, range; the range in another
# regime. A state that starts at -infinity does so outside the regime `plain`.
CELLS = {
    "gated-delta": (
        gated_delta,
        [("q", "RK", (-1, 1)), ("k", "RK", (-KEY, KEY)), ("v", "RV", (-1, 1)), ("g", "R", (0, 0.2)),
         ("beta", "R", (0, 1))],
        [],
        [("s", "RKV", (-1, 1))],
        {"closed": {"g": (0, 0), "beta": (0, 0)}, "large": {"g": (20, 100), "beta": (0.9, 1)}},
    ),
    "selective-scan": (
        selective_scan,
        [("delta", "BD", (-1, 1)), ("u", "BD", (-1, 1)), ("b", "BS", (-1, 1)),
         ("c", "BS", (-1, 1))],
        [("a", "DS", (-1, 1)), ("skip", "D", (-1, 1))],
        [("h", "BDS", (-1, 1))],
        {"closed": {"delta": SHUT}, "large": {"delta": OPEN}},
    ),
    "mlstm": (
        mlstm,
        [("q", "RK", (-1, 1)), ("k", "RK", (-1, 1)), ("v", "RV", (-1, 1)), ("i", "R", (-1, 1)),
         ("f", "R", (-1, 1))],
        [],
        [("c", "RKV", (-1, 1)), ("n", "RK", (-1, 1)), ("m", "R", (-1, 1))],
        {"closed": {"i": SHUT, "f": SHUT}, "large": {"i": OPEN, "f": (-5, 40)}},
    ),
    "slstm": (
        slstm,
        [("x", "BNE", (-1, 1))],
        [("u", "NHE", (-0.5, 0.5))],
        [("h", "BNH", (-1, 1)), ("c", "BNH", (-1, 1)), ("n", "BNH", (0.5, 1.5)),
         ("m", "BNH", (-1, 1))],
        {"closed": {"x": SHUT}, "large": {"x": (-20, 40)}},
    ),
    "rwkv7": (
        rwkv7,
        [("r", "RK", (-1, 1)), ("w", "RK", (-0.6, 0)), ("k", "RK", (-1, 1)), ("v", "RV", (-1, 1)),
         ("a", "RK", (-KEY, KEY)), ("b", "RK", (-KEY, KEY))],
        [],
        [("s", "RVK", (-1, 1))],
        {"closed": {"w": (0, 0), "a": (0, 0), "b": (0, 0)}, "large": {"w": (-100, -20)}},
    ),
    "rg-lru": (
        rg_lru,
        [("r", "BD", (-1, 1)), ("i", "BD", (-1, 1)), ("x", "BD", (-1, 1))],
        [("l", "D", (-4, 1))],
        [("h", "BD", (-1, 1))],
        {"closed": {"r": SHUT, "i": SHUT}, "large": {"r": OPEN, "i": OPEN}},
    ),
    "min-gru": (
        min_gru,
        [("z", "BD", (-1, 1)), ("x", "BD", (-1, 1))],
        [],
        [("h", "BD", (-1, 1))],
        {"closed": {"z": SHUT}, "large": {"z": OPEN}},
    ),
    "attention-decoder": (
        attention_decoder,
        [("x", "BG", (-1, 1))],
        [("keys", "BMD", (-1, 1)), ("memory", "BMD", (-1, 1)), ("w_h", "DD", (-0.5, 0.5)),
         ("v", "D", (-1, 1)), ("w", "DG", (-0.5, 0.5)), ("u", "DG", (-0.5, 0.5)),
         ("b", "G", (-0.5, 0.5))],
        [("h", "BD", (-1, 1))],
        {"closed": {"x": SHUT}, "large": {"x": OPEN}},
    ),
}


def shape_of(axes):
    extent = {**EXTENTS, **{name: EXTENTS[of] * times for name, (of, times) in SUMS.items()}}
    return [extent[axis] for axis in axes]


def disturbed(arguments):
    """The arguments with an axis of runs, in each of which one element of one of them differs."""
    runs = sum(value.size for value, _ in arguments.values())
    result, first = {}, 0
    for name, (value, _) in arguments.items():
        many = numpy.zeros((runs, value.size), dtype=numpy.complex128)
        many[:] = value.reshape(-1)
        many.imag[first + numpy.arange(value.size), numpy.arange(value.size)] = TINY
        result[name] = many.reshape(runs, *value.shape)
        first += value.size
    return result


def one_case(cell, regime, steps):
    """The arrays of a regime and a number of steps, by name."""
    step, streams, captures, states, others = CELLS[cell]
    seed = (list(CELLS).index(cell) * 10 + REGIMES.index(regime)) * 100 + steps
    numbers, ranges = Numbers(seed), others.get(regime, {})
    arguments = {}
    for kind, group in enumerate((streams, captures, states)):
        for name, axes, span in group:
            shape = ([steps] if kind == 0 else []) + shape_of(axes)
            value = numbers.uniform(shape, *ranges.get(name, span))
            if kind == 2 and name == "m" and regime != "plain":
                value[:] = -numpy.inf
            # A name may be both a stream's and a state's.
            arguments[(name + "0") if kind == 2 else name] = (value, kind)
    runs = disturbed(arguments)
    held = [runs[name] for name, _, _ in captures]
    carried = [runs[name + "0"] for name, _, _ in states]
    y = []
    for t in range(steps):
        emit, carried = step([runs[name][:, t] for name, _, _ in streams], held, carried)
        y.append(emit)
    outputs = {"y": numpy.stack(y, axis=1)}
    outputs.update({name + "_end": value for (name, _, _), value in zip(states, carried)})
    loss = 0
    for value in outputs.values():
        r = numbers.uniform(value.shape[1:], -1, 1)
        loss = loss + (value * r).reshape(len(value), -1).sum(-1)
    # No disturbance changes the first-order values.
    arrays = {name: value[0].real for name, value in outputs.items()}
    first = 0
    for name, (value, _) in arguments.items():
        if not numpy.isneginf(value).any():
            slopes = loss.imag[first : first + value.size] / TINY
            arrays["grad." + name] = slopes.reshape(value.shape)
        first += value.size
    assert all(numpy.isfinite(value).all() for value in arrays.values()), (cell, regime, steps)
    return {
        f"{regime}.{steps}.{name}": stored(value, seed * 100 + index)
        for index, (name, value) in enumerate(arrays.items())
    }


def save(arrays, path):
    """The arrays as a safetensors file."""
    header, blocks, end = {}, [], 0
    for name, value in arrays.items():
        block = numpy.ascontiguousarray(value, dtype="<f8").tobytes()
        header[name] = {
            "dtype": "F64",
            "shape": list(value.shape),
            "data_offsets": [end, end + len(block)],
        }
        blocks.append(block)
        end += len(block)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blocks))


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for cell in CELLS:
        arrays = {}
        for regime in REGIMES:
            for steps in STEPS:
                arrays.update(one_case(cell, regime, steps))
        save(arrays, folder / f"cell_{cell.replace('-', '_')}.safetensors")


if __name__ == "__main__":
    main()
