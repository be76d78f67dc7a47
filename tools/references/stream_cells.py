# SPDX-License-Identifier: Apache-2.0
# The cells of cell-layer: their extents, the shapes and ranges of their arrays, their work.
"""Like graphc's models/stream_cells.cpp and models/cell_layer.cpp. Needs no package."""
import collections

Cell = collections.namedtuple("Cell", "extents streams fixed parameters flop")
Array = collections.namedtuple("Array", "name axes low high", defaults=(-1, 1))
SIZES = ("small", "medium", "long", "test")
STEPS = (128, 512, 4096, 5)
EXTENTS = {  # of a cell that has them, by size
    "heads": (8, 32, 32, 2),
    "key": (64, 128, 128, 5),
    "value": (64, 128, 128, 3),
    "hidden": (512, 512, 512, 6),
    "state": (16, 16, 16, 3),
    "memory": (50, 50, 50, 4),
}
ABSENT = {name: 1 if name == "heads" else 0 for name in EXTENTS}  # of a cell without them
OWN = {("selective-scan", "hidden"): 1024, ("slstm", "heads"): 4}  # other than EXTENTS
QUICK_STEPS = 37  # more than a chunk of graphc's
UNIT, GLOROT = "unit", "glorot"  # ranges that follow from extents

# Axes: R rows (a head of a sequence), B sequences, N heads, K and V keys and values, D units, S
# numbers of a channel, M rows of memory, W units of a head; 3D and 4W are gates side by side.
# Streams have steps before these.
CELLS = {
    "gated-delta": Cell(
        ("heads", "key", "value"),
        (Array("q", "R K"), Array("k", "R K", UNIT), Array("v", "R V"), Array("g", "R", 0, 0.2),
         Array("beta", "R", 0, 1)),
        (),
        (),
        lambda e: e["R"] * 7 * e["K"] * e["V"],
    ),
    "selective-scan": Cell(
        ("hidden", "state"),
        (Array("delta", "B D"), Array("u", "B D"), Array("b", "B S"), Array("c", "B S")),
        (),
        (Array("a", "D S"), Array("skip", "D", 1, 1)),
        lambda e: e["B"] * 6 * e["D"] * e["S"],
    ),
    "mlstm": Cell(
        ("heads", "key", "value"),
        (Array("q", "R K"), Array("k", "R K"), Array("v", "R V"), Array("i", "R"),
         Array("f", "R", 1, 5)),
        (),
        (),
        lambda e: e["R"] * 5 * e["K"] * (e["V"] + 1),
    ),
    "slstm": Cell(
        ("heads", "hidden"),
        (Array("x", "B N 4W"),),
        (),
        (Array("u", "N W 4W", UNIT),),
        lambda e: e["R"] * 2 * e["W"] * e["4W"],
    ),
    "rwkv7": Cell(
        ("heads", "key", "value"),
        (Array("r", "R K"), Array("w", "R K", -0.6, 0), Array("k", "R K"), Array("v", "R V"),
         Array("a", "R K", UNIT), Array("b", "R K", UNIT)),
        (),
        (),
        lambda e: e["R"] * 9 * e["K"] * e["V"],
    ),
    "rg-lru": Cell(
        ("hidden",),
        (Array("r", "B D"), Array("i", "B D"), Array("x", "B D")),
        (),
        (Array("l", "D", -4, 4),),
        lambda e: e["B"] * 8 * e["D"],
    ),
    "min-gru": Cell(
        ("hidden",),
        (Array("z", "B D"), Array("x", "B D")),
        (),
        (),
        lambda e: e["B"] * 4 * e["D"],
    ),
    "attention-decoder": Cell(
        ("hidden", "memory"),
        (Array("x", "B 3D"),),
        (Array("keys", "B M D"), Array("memory", "B M D")),
        (Array("w_h", "D D", GLOROT), Array("v", "D", -0.1, 0.1), Array("w", "D 3D", GLOROT),
         Array("u", "D 3D", GLOROT), Array("b", "3D", 0, 0)),
        lambda e: e["B"] * (14 * e["D"] * e["D"] + 5 * e["M"] * e["D"]),
    ),
}


def defaults(cell, size):
    """The extents of a cell, by graphc's names."""
    index, test = SIZES.index(size), size == "test"
    batch = 2 if test else 1 if "key" in CELLS[cell].extents else 16
    if cell == "selective-scan" and not test:
        batch = 4
    found = {"steps": STEPS[index], "batch": batch}
    for name in CELLS[cell].extents:
        found[name] = EXTENTS[name][index] if test else OWN.get((cell, name), EXTENTS[name][index])
    return found


def extents(found):
    """The extents of a workload, by axis."""
    heads, hidden = found.get("heads", 1), found.get("hidden", 0)
    named = {"B": found["batch"], "N": heads, "R": found["batch"] * heads, "D": hidden}
    for axis, name in (("K", "key"), ("V", "value"), ("S", "state"), ("M", "memory")):
        named[axis] = found.get(name, 0)
    return {**named, "3D": 3 * hidden, "W": hidden // heads, "4W": 4 * (hidden // heads)}


def shape(found, array):
    """The shape of an array in one step."""
    named = extents(found)
    return tuple(named[axis] for axis in array.axes.split())


def span(found, array):
    """The range that an array is drawn from."""
    if array.low not in (UNIT, GLOROT):
        return array.low, array.high
    own, named = shape(found, array), extents(found)
    if array.low == GLOROT:
        limit = (6 / (own[0] + own[1])) ** 0.5
    else:
        # A key's norm is at most 1; a head's matrix has W rows.
        limit = named["W" if "W" in array.axes else "K"] ** -0.5
    return -limit, limit


def inputs(found):
    """The streams and fixed inputs, each with its whole shape."""
    cell = CELLS[found["cell"]]
    streams = [(each, (found["steps"], *shape(found, each))) for each in cell.streams]
    return streams + [(each, shape(found, each)) for each in cell.fixed]


def parameters(found):
    """The parameters, each with its shape."""
    return [(each, shape(found, each)) for each in CELLS[found["cell"]].parameters]


def work(found):
    """Nominal FLOP of a training step and of a forward call."""
    forward = found["steps"] * CELLS[found["cell"]].flop(extents(found))
    return 3 * forward, forward
