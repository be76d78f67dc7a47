# SPDX-License-Identifier: Apache-2.0
# The workloads of the references: their extents, the names of their parameters, their work.
"""`lstm-layer`, `ptb-lm` and `cell-layer`, like graphc's models with these names. Needs no
package."""
import collections

import stream_cells

Size = collections.namedtuple(
    "Size", "layers hidden steps scale keep clip constant_epochs epochs decay"
)
SIZES = {
    "test": Size(1, 2, 2, 0.1, 1.0, 1.0, 1, 1, 0.5),
    "small": Size(2, 200, 20, 0.1, 1.0, 5.0, 4, 13, 0.5),
    "medium": Size(2, 650, 35, 0.05, 0.5, 5.0, 6, 39, 0.8),
    "large": Size(2, 1500, 35, 0.04, 0.35, 10.0, 14, 55, 1 / 1.15),
}
BATCH = 20  # of ptb-lm
WORDS = 10000
LAYER_RATE = 0.01

# The default parameters of wikitext2-lm, by `config`.
WIKITEXT2 = {
    "kawakami": {"hidden": 1024, "layers": 1, "steps": 128, "batch": 128, "vocabulary": 33279}
    | {"keep": 0.5, "clip": None, "learning-rate": 2e-4},
    "pytorch": {"hidden": 1500, "layers": 2, "steps": 35, "batch": 20, "vocabulary": 33278}
    | {"keep": 0.35, "clip": 0.25, "learning-rate": 20.0},
}

LAYER = {"hidden": 512, "steps": 30, "batch": 128}
QUICK = {
    "lstm-layer": {"hidden": 64, "steps": 5, "batch": 16},
    "ptb-lm": {"hidden": 32, "steps": 5, "batch": 4, "vocabulary": 200},
}
MODELS = ("lstm-layer", "ptb-lm", "cell-layer")
# The default measurements.
ALL = (
    ("lstm-layer", {"hidden": ["512", "1024"], "steps": ["30", "100"]}),
    ("ptb-lm", {}),
)


class Refused(Exception):
    """An unknown model or parameter, with what was wanted."""


def extent(model, name, text):
    """A positive integer from the command line."""
    if not text.isdecimal() or int(text) < 1:
        raise Refused(f"{name}: wanted a whole number above 0: found '{text}'")
    return int(text)


def number(name, text):
    """A positive number from the command line, or `none`."""
    if name == "clip" and text == "none":
        return None
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise Refused(f"{name}: wanted a number above 0: found '{text}'")
    return found


def wikitext2(given):
    """The parameters of wikitext2-lm; those given are text. Raises Refused."""
    given = dict(given)
    config, tied = given.pop("config", "kawakami"), given.pop("tied", "false")
    if config not in WIKITEXT2 or tied not in ("true", "false"):
        raise Refused("wanted config=kawakami or config=pytorch, tied=true or tied=false")
    found = {"config": config, "tied": tied == "true", **WIKITEXT2[config]}
    for name, text in given.items():
        if name not in WIKITEXT2[config]:
            raise Refused(f"'{name}' is no parameter: there are {', '.join(found)}")
        whole = name in ("hidden", "layers", "steps", "batch", "vocabulary")
        found[name] = extent("wikitext2-lm", name, text) if whole else number(name, text)
    return found


def cell_layer(given, quick):
    """The extents of cell-layer; those given are text. Raises Refused."""
    given = dict(given)
    cell, size = given.pop("cell", "gated-delta"), given.pop("size", "small")
    if cell not in stream_cells.CELLS:
        known = ", ".join(stream_cells.CELLS)
        raise Refused(f"cell: wanted one of {known}: found '{cell}'")
    if size not in stream_cells.SIZES:
        raise Refused(f"size: wanted one of {', '.join(stream_cells.SIZES)}: found '{size}'")
    found = {"model": "cell-layer", "cell": cell, "size": size}
    found.update(stream_cells.defaults(cell, "test" if quick else size))
    if quick:
        found["steps"] = stream_cells.QUICK_STEPS
    for name, text in given.items():
        if name not in found and text == str(stream_cells.ABSENT.get(name)):
            continue  # as graphc lists it
        if name not in found:
            known = ", ".join(each for each in found if each != "model")
            raise Refused(f"cell-layer cell={cell} has no parameter '{name}': there are {known}")
        found[name] = extent("cell-layer", name, text)
    if cell == "slstm" and found["hidden"] % found["heads"]:
        raise Refused(
            f"heads: wanted a divisor of the {found['hidden']} units: found {found['heads']}"
        )
    return found


def workload(model, given, quick=False):
    """The workload of a model with parameters as text: a dictionary of `model` and its extents.
    Raises Refused."""
    given = dict(given)
    if model == "cell-layer":
        return cell_layer(given, quick)
    if model == "lstm-layer":
        found = {"model": model, **LAYER}
    elif model == "ptb-lm":
        name = given.pop("size", "small")
        if name not in SIZES or SIZES[name].keep != 1:
            raise Refused(
                f"size: wanted one without dropout, whose masks no two programs draw alike:"
                f" test or small: found '{name}'"
            )
        size = SIZES[name]
        found = {"model": model, "size": name, "hidden": size.hidden, "layers": size.layers}
        found.update(steps=size.steps, batch=BATCH, vocabulary=WORDS)
    else:
        raise Refused(f"no model is called '{model}': there are {', '.join(MODELS)}")
    if quick:
        found.update(QUICK[model])
    for name, text in given.items():
        if name not in found or name in ("model", "size"):
            known = ", ".join(each for each in found if each != "model")
            raise Refused(f"'{model}' has no parameter '{name}' here: there are {known}")
        found[name] = extent(model, name, text)
    return found


def title(found):
    """The name of a workload in tables: "lstm-layer hidden=512 steps=30 batch=128"."""
    return " ".join([found["model"]] + graphc_parameters(found))


def graphc_parameters(found):
    """graphc's arguments after the model's name."""
    return [f"{name}={value}" for name, value in found.items() if name != "model"]


def parameter_shapes(found):
    """Shape by name of every parameter, gates i, f, g, o side by side, z = x w + h u + b."""
    if found["model"] == "cell-layer":
        return {array.name: shape for array, shape in stream_cells.parameters(found)}
    hidden = found["hidden"]
    if found["model"] == "lstm-layer":
        return {"w": (hidden, 4 * hidden), "u": (hidden, 4 * hidden), "b": (4 * hidden,)}
    shapes = {"embedding": (found["vocabulary"], hidden)}
    for layer in range(found["layers"]):
        shapes[f"lstm.{layer}.w"] = (hidden, 4 * hidden)
        shapes[f"lstm.{layer}.u"] = (hidden, 4 * hidden)
        shapes[f"lstm.{layer}.b"] = (4 * hidden,)
    shapes["softmax.w"] = (hidden, found["vocabulary"])
    shapes["softmax.b"] = (found["vocabulary"],)
    return shapes


def input_names(found):
    """The names of a batch's arrays in graphc's graph."""
    if found["model"] == "cell-layer":
        return tuple(array.name for array, _ in stream_cells.inputs(found))
    return ("x", "y") if found["model"] == "lstm-layer" else ("tokens", "targets")


def has_update(found):
    """Whether a training step updates the parameters: cell-layer only computes gradients."""
    return found["model"] != "cell-layer"


def gradient_names(found):
    """The names of what a training step has gradients of: of cell-layer's inputs, too."""
    inputs = input_names(found) if found["model"] == "cell-layer" else ()
    return [*inputs, *parameter_shapes(found)]


def clip_of(found):
    """The limit of the gradients' global norm; None if they are not clipped."""
    return None if found["model"] == "lstm-layer" else SIZES[found["size"]].clip


def rate_of(found):
    """The learning rate of a step."""
    return LAYER_RATE if found["model"] == "lstm-layer" else 1.0


def work(found):
    """FLOP of a training step and of a forward call: only products, unpadded; cell-layer's are
    graphc's nominal ones."""
    if found["model"] == "cell-layer":
        return stream_cells.work(found)
    rows = found["steps"] * found["batch"]
    layer = 2 * rows * 2 * found["hidden"] * 4 * found["hidden"]
    if found["model"] == "lstm-layer":
        return 2.5 * layer, layer
    forward = found["layers"] * layer + 2 * rows * found["hidden"] * found["vocabulary"]
    return 3 * forward, forward
