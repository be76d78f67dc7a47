# SPDX-License-Identifier: Apache-2.0
# The parts that inspect the environment and check results.
import glob
import json
import platform
import shutil
import sys

from gpu_check import commands, places
from gpu_check.items import DONE, FAILED, Item, Part, outcome, skipped

# --- environment ---

# The libraries of the variant cudnn, whose products are tried with cuBLASLt.
LAYER_LIBRARIES = ("cudnn", "cublaslt")


def libraries(context, seconds):
    """The libraries graphc finds; NVRTC may be in the bundle or in this Python's packages."""
    command = [context.places.program("graphc"), "targets", "--json"]
    ran = context.run(command, seconds)
    if ran.code != 0 or ran.timed_out:
        return outcome(ran)
    found = json.loads(ran.out)
    nvrtc = [row for row in found["libraries"] if row["name"] == "nvrtc"][0]
    if not nvrtc["available"] and not context.dry_run:
        folders = places.package_folders()
        if context.places.cuda.is_dir():
            folders.append(str(context.places.cuda))
        if folders:
            context.environment["GRAPHC_CUDA_LIBRARIES"] = ":".join(folders)
            ran = context.run(command, seconds)
            found = json.loads(ran.out)
    if all(row["available"] for row in found["libraries"] if row["name"] in LAYER_LIBRARIES):
        context.variants = ("fused", "cudnn", *context.variants[1:])
    target = [row for row in found["targets"] if row["name"] == "cuda"][0]
    context.precisions = tuple(target["precisions"])
    result = outcome(ran, libraries=found["libraries"], precisions=target["precisions"])
    if not target["available"]:
        result.update(state=FAILED, reason=target["reason"])
    return result


def system(context, seconds):
    """The machine, according to NVIDIA's programs and the system."""
    del seconds
    return {
        "state": DONE,
        "system": platform.platform(),
        "c_library": " ".join(platform.libc_ver()),
        "python": sys.version.split()[0],
        "version": context.run([context.places.program("graphc"), "version"], 20).out.strip(),
    }


def gpu_state(context, seconds):
    """Clocks and other users of the GPU, to judge the figures by."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return skipped("no nvidia-smi was found")
    fields = "name,driver_version,memory.total,clocks.sm,clocks.max.sm,power.limit,utilization.gpu"
    ran = context.run([program, f"--query-gpu={fields}", "--format=csv,noheader"], seconds)
    return outcome(ran, text=ran.out.strip())


MACHINE = Part(
    "machine",
    "what is there",
    0.02,
    lambda context: [
        Item("libraries", libraries),
        Item("system", system),
        Item("nvidia-smi", gpu_state),
    ],
)

# --- speed of the GPU ---


def probe(context, seconds):
    quick = ["--quick"] if context.dry_run else []
    ran = context.run([context.places.program("graphc-gpu-probe"), *quick], seconds)
    return outcome(ran, **(json.loads(ran.out) if ran.code == 0 else {}))


PROBES = Part(
    "probes",
    "bandwidth, rates and waiting, measured",
    0.10,
    lambda context: [Item("probes", probe)],
)

# --- correctness ---

# Those that cuDNN has, then those that no library has.
LAYERS = ("lstm", "gru", "rnn")
CELLS = (*LAYERS, "layer-norm-lstm", "peephole-lstm", "projected-lstm", "gru-reset-before")


def models(context):
    """Name, model, parameters."""
    hidden, steps, batch = context.size((64, 9, 18), (4, 3, 2))
    sizes = [f"hidden={hidden}", f"steps={steps}", f"batch={batch}"]
    rows = [(cell, "lstm-layer", [f"cell={cell}", *sizes]) for cell in CELLS]
    words = f"vocabulary={context.size(300, 11)}"
    dropout = ["keep=0.5", "clip=0.1", words]
    rows.append(("ptb-lm", "ptb-lm", ["size=test", "layers=2", *sizes, *dropout]))
    rows.append(("char-lm", "char-lm", [*sizes, words]))
    return rows


def check(context, graph, options, seconds):
    """Runs graphc check: agreement with the evaluator."""
    command = [context.places.program("graphc"), "check", "-", "--target=cuda", *options]
    ran = context.run(command, seconds, graph)
    return outcome(ran, said=commands.last_lines(ran.out, 3))


def model_item(name, model, parameters, graph, more=()):
    def work(context, seconds):
        command = [context.places.program("graphc"), "dump", model, *parameters, f"--graph={graph}"]
        dumped = context.run(command, seconds)
        if dumped.code != 0:
            return outcome(dumped)
        options = ["--runs=1", *more] if context.dry_run else list(more)
        if context.dry_run and graph == "forward" and not more:
            options.append("--variant=fused")
        return check(context, dumped.out, options, seconds - dumped.seconds)

    return Item(" ".join([name, graph, *more]), work)


def library_items(context):
    """Layers by cuDNN, and every product that cuBLASLt supports, compared with the evaluator."""
    if "cudnn" not in context.variants:
        return []
    chosen = [row for row in models(context) if row[0] in (*LAYERS, "ptb-lm")]
    options = ("--variant=cudnn", "--products=cublaslt")
    return [model_item(*row, "train", options) for row in chosen]


# Enough units for products with several pieces, and gates that are not a power of two.
WIDE_LAYERS = ("lstm", "gru")


def wide_items(context):
    """The results of layers in each precision, which one training step hardly changes."""
    hidden, steps, batch = context.size((300, 3, 20), (5, 2, 2))
    sizes = [f"hidden={hidden}", f"steps={steps}", f"batch={batch}"]
    return [
        model_item(f"{cell} of {hidden}", "lstm-layer", [f"cell={cell}", *sizes], "forward",
                   (f"--precision={precision}",))
        for precision in context.precisions
        for cell in WIDE_LAYERS
    ]


def graph_text(path):
    """The graphs in the first part of a test file, without the test directives."""
    lines = path.read_text(encoding="utf-8").split("\n---\n")[0].splitlines()
    return "\n".join(line for line in lines if not line.startswith("test ")) + "\n"


def graph_item(path):
    def work(context, seconds):
        options = ["--variant=fused", "--runs=1"] if context.dry_run else []
        return check(context, graph_text(path), options, seconds)

    return Item(path.stem, work)


def conformance_items(context):
    rows = [model_item(*row, graph) for row in models(context) for graph in ("train", "forward")]
    rows += wide_items(context)
    # A dry run tries the bundle; in the emulator the tests go through all graphs.
    graphs = context.places.graphs[:: 6 if context.dry_run else 1]
    return rows + library_items(context) + [graph_item(path) for path in graphs]


CONFORMANCE = Part(
    "conformance", "agrees with the evaluator, all variants", 0.27, conformance_items
)

# --- races and invalid accesses ---


def sanitizer():
    """The path of compute-sanitizer, or None."""
    found = shutil.which("compute-sanitizer")
    toolkits = sorted(glob.glob("/usr/local/cuda*/bin/compute-sanitizer"))
    return found or (toolkits[-1] if toolkits else None)


def sanitizer_item(tool, name, model, parameters):
    def work(context, seconds):
        program = sanitizer()
        if program is None:
            return skipped("no compute-sanitizer was found")
        graphc = context.places.program("graphc")
        dumped = context.run([graphc, "dump", model, *parameters, "--graph=train"], seconds)
        if dumped.code != 0:
            return outcome(dumped)
        command = [program, f"--tool={tool}", "--error-exitcode=86", graphc, "check", "-"]
        options = ["--target=cuda", "--variant=fused", "--runs=1"]
        ran = context.run(command + options, seconds - dumped.seconds, dumped.out)
        return outcome(ran, said=commands.last_lines(ran.out, 3))

    return Item(f"{tool} {name}", work)


def sanitizer_items(context):
    chosen = [row for row in models(context) if row[0] in ("lstm", "layer-norm-lstm", "ptb-lm")]
    return [sanitizer_item(tool, *row) for tool in ("memcheck", "racecheck") for row in chosen]


SANITIZER = Part("sanitizer", "compute-sanitizer finds nothing", 0.10, sanitizer_items)
