# SPDX-License-Identifier: Apache-2.0
# The workloads of the references: their extents, the names of their parameters, their work.
"""`lstm-layer` and `ptb-lm`, like graphc's models with these names. Needs no package."""
import collections

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


def workload(model, given, quick=False):
    """The workload of a model with parameters as text: a dictionary of `model` and its extents.
    Raises Refused."""
    given = dict(given)
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
        raise Refused(f"no model is called '{model}': there are lstm-layer and ptb-lm")
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
    """The names of a batch's two arrays in graphc's graph."""
    return ("x", "y") if found["model"] == "lstm-layer" else ("tokens", "targets")


def clip_of(found):
    """The limit of the gradients' global norm; None if they are not clipped."""
    return None if found["model"] == "lstm-layer" else SIZES[found["size"]].clip


def rate_of(found):
    """The learning rate of a step."""
    return LAYER_RATE if found["model"] == "lstm-layer" else 1.0


def work(found):
    """FLOP of a training step and of a forward call: only products, unpadded."""
    rows = found["steps"] * found["batch"]
    layer = 2 * rows * 2 * found["hidden"] * 4 * found["hidden"]
    if found["model"] == "lstm-layer":
        return 2.5 * layer, layer
    forward = found["layers"] * layer + 2 * rows * found["hidden"] * found["vocabulary"]
    return 3 * forward, forward
