# SPDX-License-Identifier: Apache-2.0
# Initial weights and batches of the references, drawn by NumPy, and the comparison of results.
"""NumPy's RandomState gives the same numbers in every version, so all peers start identically."""
import numpy

import stream_cells
from workloads import SIZES, parameter_shapes

# Largest relative difference of the loss, and of each gradient and update (as norms), from graphc's
# in f32. bf16 rounds every factor of a product by up to 2^-9; PyTorch's chunked loss comes out in
# bf16, 0.01 away on ptb-lm small.
LIMITS = {"f32": (1e-5, 1e-3), "bf16": (5e-2, 5e-2)}
LOSSES = ("loss", "trained")  # with the gradients, and with the update
EPSILON = 2.0**-24  # relative rounding of an f32 weight


def language_model_weights(size, vocabulary, seed):
    """Weights U(-scale, scale), LSTM biases 0."""
    random = numpy.random.RandomState(seed)
    found = {"model": "ptb-lm", "hidden": size.hidden, "layers": size.layers}
    weights = {}
    for name, shape in parameter_shapes({**found, "vocabulary": vocabulary}).items():
        if name.startswith("lstm") and name.endswith(".b"):
            weights[name] = numpy.zeros(shape, numpy.float32)
        else:
            weights[name] = random.uniform(-size.scale, size.scale, shape).astype(numpy.float32)
    return weights


def layer_weights(found, seed):
    """Glorot-uniform over the packed matrices, biases 0, forget bias 1."""
    random = numpy.random.RandomState(seed)
    hidden = found["hidden"]
    limit = (6 / (hidden + 4 * hidden)) ** 0.5
    weights = {
        name: random.uniform(-limit, limit, (hidden, 4 * hidden)).astype(numpy.float32)
        for name in ("w", "u")
    }
    weights["b"] = numpy.zeros(4 * hidden, numpy.float32)
    weights["b"][hidden : 2 * hidden] = 1
    return weights


def cell_arrays(found, random, arrays):
    """Arrays of a cell, each uniform in its range."""
    return [
        random.uniform(*stream_cells.span(found, array), shape).astype(numpy.float32)
        for array, shape in arrays
    ]


def weights_of(found, seed=1):
    """The initial parameters of every program, by graphc's names."""
    if found["model"] == "cell-layer":
        random, arrays = numpy.random.RandomState(seed), stream_cells.parameters(found)
        return dict(zip(parameter_shapes(found), cell_arrays(found, random, arrays)))
    if found["model"] == "lstm-layer":
        return layer_weights(found, seed)
    size = SIZES[found["size"]]._replace(hidden=found["hidden"], layers=found["layers"])
    return language_model_weights(size, found["vocabulary"], seed)


def batches_of(found, count=4, seed=2):
    """Tuples of arrays: x [T,B,H] and y [B,H] uniform in [0,1), words and targets [T,B], or the
    streams and fixed inputs of a cell."""
    random = numpy.random.RandomState(seed)
    if found["model"] == "cell-layer":
        arrays = stream_cells.inputs(found)
        return [tuple(cell_arrays(found, random, arrays)) for _ in range(count)]
    steps, batch, hidden = found["steps"], found["batch"], found["hidden"]
    if found["model"] == "lstm-layer":
        shapes = ((steps, batch, hidden), (batch, hidden))
        return [
            tuple(random.random_sample(shape).astype(numpy.float32) for shape in shapes)
            for _ in range(count)
        ]
    words = [random.randint(0, found["vocabulary"], (steps + 1, batch)) for _ in range(count)]
    words = [each.astype(numpy.int32) for each in words]
    return [(each[:-1].copy(), each[1:].copy()) for each in words]


def norm(array):
    """The norm of an array, summed in f64."""
    return float(numpy.linalg.norm(numpy.asarray(array, numpy.float64).ravel()))


def differences(start, expected, actual):
    """The distance of a step from the expected one: `loss`, `gradient` and `update`, each relative,
    and the arrays with the largest distances. `start` has what the step read, by name. Arrays are
    `loss`, `gradient.NAME`, `after.NAME`; arrays missing in `actual` are not compared. Differences
    of an update below the rounding of the weights are ignored."""
    result = {}
    losses = [abs(float(actual[n]) / float(expected["loss"]) - 1) for n in LOSSES if n in actual]
    if losses:
        result["loss"] = float(numpy.max(losses))
    for kind, prefix in (("gradient", "gradient."), ("update", "after.")):
        if not any(each.startswith(prefix) for each in actual):
            continue
        worst, name_of_worst = 0.0, None
        for name in start:
            if prefix + name not in actual:
                continue
            wanted, got = expected[prefix + name], actual[prefix + name]
            step = wanted if kind == "gradient" else wanted - start[name]
            rounding = 0.0 if kind == "gradient" else 2 * EPSILON * norm(start[name])
            apart = max(norm(got - wanted) - rounding, 0.0) / max(norm(step), 1e-30)
            if not apart <= worst:  # NaN counts as the worst
                worst, name_of_worst = apart, name
            if apart != apart:
                break
        result[kind], result[f"{kind}_of"] = worst, name_of_worst
    if "output" in actual:
        apart = norm(actual["output"] - expected["output"])
        result["forward"] = apart / max(norm(expected["output"]), 1e-30)
    return result


def fault(differing, precision):
    """What is wrong, or None: differences that exceed the precision."""
    loss_limit, limit = LIMITS[precision]
    if "loss" in differing and not differing["loss"] <= loss_limit:
        return f"the loss differs by {differing['loss']:.2g}"
    for kind in ("gradient", "update"):
        if kind in differing and not differing[kind] <= limit:
            return f"the {kind} of {differing[f'{kind}_of']} differs by {differing[kind]:.2g}"
    if not differing["forward"] <= limit:
        return f"the output differs by {differing['forward']:.2g}"
    return None
