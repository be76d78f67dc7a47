# SPDX-License-Identifier: Apache-2.0
# The plan `targets`: every placement of loops agrees with the evaluator, and workloads beside
# PyTorch's best, which is the fastest of autocast and parameters in the precision's type, each step
# as one CUDA graph.
from gpu_check.checks import MACHINE, model_item
from gpu_check.items import DONE, Part
from gpu_check.speeds import layer, peer_item, speed_item, workloads

# --- placements ---

PLACEMENTS = ("cluster", "grid", "launches", "block", "streamed", "auto")


def placement_items(context):
    """A training step of an LSTM in every placement and precision, and other cells in bf16 where
    blocks exchange or panels are copied ahead. Tiles of rows are not full, and blocks do not divide
    the units evenly."""
    hidden, steps, batch = context.size((136, 7, 36), (5, 2, 2))
    sizes = [f"hidden={hidden}", f"steps={steps}", f"batch={batch}"]
    precisions = [each for each in ("bf16", "tf32", "f32") if each in context.precisions]
    wanted = [("lstm", each, precision) for precision in precisions for each in PLACEMENTS]
    others = ("gru", "layer-norm-lstm", "projected-lstm")
    if "bf16" in precisions and not context.dry_run:
        wanted += [(cell, each, "bf16") for cell in others for each in PLACEMENTS[:3]]
    return [
        model_item(cell, "lstm-layer", [f"cell={cell}", *sizes], "train",
                   ("--variant=fused", f"--placement={placement}", f"--precision={precision}"))
        for cell, placement, precision in wanted
    ]


# --- workloads and peers ---

# How many times as fast as PyTorch's best, by workload and precision.
WANTED = {
    "W1 H512 T30": {"bf16": 2.3, "tf32": 2.0, "f32": 1.3},
    "W1 H512 T100": {"bf16": 2.3, "tf32": 2.0, "f32": 1.3},
    "W1 H1024 T30": {"bf16": 1.5, "tf32": 1.4, "f32": 1.1},
    "W1 H1024 T100": {"bf16": 1.5, "tf32": 1.4, "f32": 1.1},
    "W2 small": {"bf16": 2.5, "tf32": 2.3, "f32": 1.3},
    "W2 medium": {"bf16": 2.3, "tf32": 2.0, "f32": 1.3},
    "W2 large": {"bf16": 1.5, "tf32": 1.3, "f32": 1.3},
    "W3 extents": {"bf16": 1.4, "tf32": 1.3, "f32": 1.1},
    "W4": {"bf16": 2.5, "tf32": 2.5, "f32": 2.5},
}
# What PyTorch's script is given for a workload.
PEER_ARGUMENTS = {
    "W1 H512 T30": ["layer", "--hidden=512", "--steps=30"],
    "W1 H512 T100": ["layer", "--hidden=512", "--steps=100"],
    "W1 H1024 T30": ["layer", "--hidden=1024", "--steps=30"],
    "W1 H1024 T100": ["layer", "--hidden=1024", "--steps=100"],
    "W2 small": ["model", "--size=small"],
    "W2 medium": ["model", "--size=medium"],
    "W2 large": ["model", "--size=large"],
    "W3 extents": ["model", "--size=W3"],
    "W4": ["characters", "--hidden=128", "--steps=40"],
}
# Cells that no library has, beside the LSTM of the same size.
BESIDE_LSTM = ("layer-norm-lstm", "peephole-lstm", "projected-lstm", "gru")


def target_workloads(context):
    rows = [row for row in workloads(context) if row[0] in WANTED]
    small = dict(samples=2) if context.dry_run else {}
    extents = context.size(dict(hidden=128, batch=128, steps=40), dict(hidden=4, batch=2, steps=2))
    rows.append(("W4", "char-lstm", {**extents, **small}))
    hidden, steps, batch = context.size((512, 30, 128), (4, 2, 2))
    rows += [(f"W5 {cell} H512 T30", *layer(hidden, steps, batch, cell)) for cell in BESIDE_LSTM]
    return rows


def speed_items(context):
    """The precisions in turn, since time may run out."""
    precisions = [each for each in ("bf16", "tf32", "f32") if each in context.precisions]
    return [
        speed_item(*row, "fused", precision)
        for precision in precisions
        for row in target_workloads(context)
        if precision == "bf16" or row[0] in WANTED
    ]


def peer_items(context):
    del context
    chosen = ["--modes=graph,parameters", "--precisions=bf16,tf32,f32"]
    return [
        peer_item(f"torch {name}", "torch_peer.py", [*arguments, *chosen])
        for name, arguments in PEER_ARGUMENTS.items()
    ]


PARTS = (
    MACHINE,
    Part("targets", "workloads, inputs on the GPU", 0.40, speed_items),
    Part("best-of-pytorch", "the same in PyTorch, as CUDA graphs", 0.35, peer_items),
    Part("placements", "every placement agrees with the evaluator", 0.23, placement_items),
)
MINUTES = 4

# --- the table ---


def done_items(everything, part):
    parts = [each for each in everything["parts"] if each["name"] == part]
    return [item for each in parts for item in each["items"] if item["state"] == DONE]


def own_times(everything):
    """Milliseconds of a training step with inputs on the GPU, by workload and precision."""
    times = {}
    for item in done_items(everything, "targets"):
        for result in item.get("results", []):
            if result["io"] == "device" and "train_step_ms" in result:
                times[item["workload"], result["precision"]] = result["train_step_ms"]
    return times


def best_times(everything):
    """The least of PyTorch, with its mode."""
    times = {}
    for item in done_items(everything, "best-of-pytorch"):
        workload = item["name"].removeprefix("torch ")
        for row in item["rows"]:
            if "absent" in row:
                continue
            key = workload, row["precision"]
            time = row["train_step_ms"], row["mode"]
            times[key] = min(times.get(key, time), time)
    return times


def comparisons(everything):
    """Workload, precision, graphc's milliseconds, PyTorch's, its mode, how many times as fast
    graphc is, how many times it is to be; None for what is not known."""
    own, best = own_times(everything), best_times(everything)
    rows = []
    for workload, wanted in WANTED.items():
        for precision, ratio in wanted.items():
            mine = own.get((workload, precision))
            theirs, mode = best.get((workload, precision), (None, None))
            if mine is None and theirs is None:
                continue
            times = theirs / mine if mine and theirs else None
            rows.append((workload, precision, mine, theirs, mode, times, ratio))
    return rows


def beside_lstm(everything):
    """Cell, precision, milliseconds, and the LSTM's milliseconds by those."""
    own = own_times(everything)
    rows = []
    for (workload, precision), time in own.items():
        lstm = own.get(("W1 H512 T30", precision))
        if workload.startswith("W5 ") and lstm:
            rows.append((workload, precision, time, lstm / time))
    return rows
