# SPDX-License-Identifier: Apache-2.0
# The parts that measure: the workloads, their peers, a training run.
import json
import random
import shutil
import sys

from gpu_check import commands
from gpu_check.checks import CELLS, LAYERS
from gpu_check.items import Item, Part, outcome, skipped

# --- the workloads ---


def layer(hidden, steps, batch=128, cell="lstm"):
    return "lstm-layer", dict(hidden=hidden, steps=steps, batch=batch, cell=cell)


def workloads(context):
    """Name, model, parameters. W3 and W4 have their workloads' extents and the update of the model
    with these extents."""
    rows = [(f"W1 H{h} T{t}", *layer(h, t)) for t in (30, 100) for h in (512, 1024)]
    rows += [(f"W2 {size}", "ptb-lm", dict(size=size)) for size in ("small", "medium", "large")]
    wide = dict(layers=1, hidden=1024, steps=128, batch=128, vocabulary=33279, keep=0.5)
    rows.append(("W3 extents", "ptb-lm", dict(size="small", **wide)))
    rows.append(("W4 extents", "char-lm", dict(hidden=128, steps=40, batch=128, vocabulary=57)))
    rows += [(f"W5 {cell} H512 T30", *layer(512, 30, cell=cell)) for cell in CELLS[1:]]
    if not context.dry_run:
        return rows
    small = dict(hidden=4, steps=2, batch=2)
    words = {"lstm-layer": {}, "ptb-lm": dict(vocabulary=11), "char-lm": dict(vocabulary=11)}
    return [(name, model, {**given, **small, **words[model]}) for name, model, given in rows]


def assignments(parameters):
    return [f"{name}={value}" for name, value in parameters.items()]


def speed_item(name, model, parameters, variant, precision):
    def work(context, seconds):
        # Without the way of the inputs, as the peers have it, and of two with it as well, and with
        # a way beside the step before: each row compiles.
        places = "host,ahead,device" if name in ("W1 H512 T30", "W2 small") else "device"
        options = [f"--variant={variant}", f"--precision={precision}", "--target=cuda",
                   f"--io={places}"]
        repeat = ["--repeat=1", "--compilations=1"] if context.dry_run else []
        command = [context.places.program("graphc-bench"), model, *assignments(parameters)]
        ran = context.run([*command, *options, *repeat, "--json=-"], seconds)
        found = json.loads(ran.out) if ran.code == 0 else {}
        return outcome(ran, workload=name, **found)

    return Item(f"{name} {variant} {precision}", work)


def speed_items(context):
    """The variant expected to be fastest comes first. In a dry run the workloads divide the
    precisions among them."""
    items = []
    for variant in context.variants:
        rows = workloads(context)
        if variant == "cudnn":  # it has no other cells
            rows = [row for row in rows if row[2].get("cell", "lstm") in LAYERS]
        if context.dry_run and variant != context.variants[0]:
            rows = [row for row in rows if row[0] in ("W1 H512 T30", "W2 small", "W4 extents")]
        for place, precision in enumerate(context.precisions):
            shared = rows[place :: len(context.precisions)] if context.dry_run else rows
            items += [speed_item(*row, variant, precision) for row in shared]
    return items


SPEED = Part("speed", "W1 to W5, all variants and precisions", 0.28, speed_items)

# --- the peers ---


def peer_item(name, script, arguments, more=None):
    def work(context, seconds):
        small = ["--small", "--device=cpu"] if context.dry_run else []
        command = [sys.executable, context.places.scripts / script, *arguments, *small]
        ran = context.run(command, seconds, more=more)
        rows = [json.loads(line) for line in ran.out.splitlines() if line.startswith("{")]
        if ran.code == 5:
            return skipped(commands.last_lines(ran.err, 1))
        result = outcome(ran, rows=rows)
        if ran.timed_out and rows:  # rows are independent
            result.update(state="done", reason="out of time after these rows")
        return result

    return Item(name, work)


# XLA's two ways to run loops: as loops in CUDA graphs, and with two steps per iteration.
XLA_LOOPS = (
    "--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN,CONDITIONAL,WHILE"
    " --xla_gpu_enable_while_loop_double_buffering=true"
)


def peer_items(context):
    del context
    layers = [["--hidden=512", "--steps=30"], ["--hidden=1024", "--steps=30"]]
    rows = []
    for words, label in zip(layers, ("W1 H512 T30", "W1 H1024 T30")):
        rows.append(peer_item(f"torch {label}", "torch_peer.py", ["layer", *words]))
        rows.append(
            peer_item(f"jax {label}", "jax_peer.py", words, {"XLA_FLAGS": XLA_LOOPS})
        )
    for size in ("small", "medium", "large"):
        rows.append(peer_item(f"torch W2 {size}", "torch_peer.py", ["model", f"--size={size}"]))
    rows.append(
        peer_item(
            "torch compiled W1 H512 T30", "torch_peer.py", ["layer", *layers[0], "--modes=compiled"]
        )
    )
    rows.append(peer_item("jax W1 H512 T30, no flags", "jax_peer.py", layers[0]))
    return rows


PEERS = Part("peers", "PyTorch and JAX, where this Python has them", 0.17, peer_items)

# --- a training run ---


def words(count, vocabulary, seed):
    """A synthetic corpus of the right size: every word occurs, the rest is random."""
    draw = random.Random(seed)
    names = [f"w{i}" for i in range(vocabulary - 1)]
    drawn = names + [draw.choice(names) for _ in range(max(count - len(names), 0))]
    lines = (" ".join(drawn[i : i + 20]) for i in range(0, len(drawn), 20))
    return "\n".join(lines) + "\n"


def corpus(context):
    folder = context.folder / "corpus"
    folder.mkdir(exist_ok=True)
    vocabulary = context.size(10000, 11)
    for name, count in (("train", 40000), ("valid", 20000), ("test", 20000)):
        path = folder / f"ptb.{name}.txt"
        count = context.size(count, 200)
        path.write_text(words(count, vocabulary, 1), encoding="utf-8")
    return folder


def train_command(context):
    sizes = context.size(["size=small"], ["size=test", "vocabulary=11"])
    limits = ["--epochs=1", f"--max-steps={context.size(50, 3)}"]
    program = context.places.program("graphc")
    return [program, "train", "ptb-lm", *sizes, "--data", corpus(context), "--target=cuda", *limits]


def training(context, seconds):
    """Losses must fall, or at least be finite: otherwise graphc train stops with exit code 4."""
    ran = context.run([*train_command(context), "--log=-"], seconds)
    events = [json.loads(line) for line in ran.out.splitlines() if line.startswith("{")]
    return outcome(ran, events=events)


def profile(context, seconds):
    """The kernels that take the most time, according to Nsight Systems."""
    program = shutil.which("nsys")
    if program is None:
        return skipped("no nsys was found")
    report = context.folder / "training"
    command = [program, "profile", "--force-overwrite=true", "--cuda-graph-trace=node"]
    ran = context.run(
        [*command, "-o", report, "--stats=true", *train_command(context)], seconds
    )
    return outcome(ran, text=ran.out[-6000:])


TRAINING = Part(
    "training",
    "a few steps of ptb-lm size=small",
    0.06,
    lambda context: [Item("steps", training), Item("profile", profile)],
)
