# SPDX-License-Identifier: Apache-2.0
# graphc's side of a comparison: a step with given weights and batch, and its times.
"""A model's graph is dumped as text and made to return its gradients with its loss; `graphc run`
reads and writes arrays. Times come from `graphc-bench`."""
import json
import pathlib
import re
import subprocess

from workloads import (
    gradient_names, graphc_parameters, has_update, input_names, parameter_shapes, rate_of)

NAMES = ("graphc", "graphc-bench")


class Failed(Exception):
    """A graphc program that failed, with its message."""


class Missing(Exception):
    """The programs are missing."""


def find_programs(root, given, names=NAMES):
    """The folder of graphc and graphc-bench: the given one, a build's, or that of the installation
    prefix. Raises Missing."""
    folders = [root / "build" / name / "bin" for name in ("release", "dev")]
    if root.parent.name == "share":
        folders = [root.parent.parent / "bin"]
    if given:
        folders = [pathlib.Path(given)]
    for folder in folders:
        if all((folder / name).exists() for name in names):
            return folder.resolve()
    raise Missing(f"no {' and '.join(names)} in {' or '.join(map(str, folders))}")


def output_of(command):
    """The output of a program; on failure raises Failed with its last error line."""
    ran = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        lines = [line for line in ran.stderr.splitlines() if line.startswith("error")]
        lines = lines or ran.stderr.splitlines() or [f"exit code {ran.returncode}"]
        raise Failed(lines[0].removeprefix("error: "))
    return ran.stdout


def with_gradients(text):
    """A training graph in our text that also returns its gradients; and the names of all results.
    `grad` assigns to the names d.NAME for parameters NAME."""
    gradients = re.findall(r"^\s*(%d\..*?) = grad ", text, re.MULTILINE)
    ends = re.findall(r"^  return (.*)$", text, re.MULTILINE)
    if len(gradients) != 1 or len(ends) != 1:
        raise Failed(f"a graph with {len(gradients)} gradients and {len(ends)} results")
    names = [each.strip().removeprefix("%") for each in ends[0].split(",")]
    if ends[0].endswith(gradients[0]):
        return text, names  # cell-layer returns them itself
    changed = text.replace(f"\n  return {ends[0]}\n", f"\n  return {ends[0]}, {gradients[0]}\n")
    return changed, names


def zero_states(text, known):
    """The states of a graph that are not parameters; they start at zero."""
    state = re.search(r"\) state \((.*)\) \{", text)
    names = re.findall(r"%([\w.]+):", state.group(1)) if state else []
    return [name for name in names if name not in known]


class Side:
    """graphc's programs, in one folder, with this many threads."""

    def __init__(self, programs, threads):
        self.programs, self.threads = programs, threads

    def version(self):
        """The first line of `graphc version`."""
        return output_of([self.programs / "graphc", "version"]).splitlines()[0]

    def graph(self, found, name):
        """A graph of the model in our text."""
        model = [found["model"], *graphc_parameters(found)]
        return output_of([self.programs / "graphc", "dump", *model, f"--graph={name}"])

    def run(self, folder, precision, name, text, given, wanted):
        """Runs the text of a graph: reads the arrays in `given` (as text or a path), writes those
        in `wanted`."""
        graph = folder / f"{name}.graph"
        graph.write_text(text, encoding="utf-8")
        command = [self.programs / "graphc", "run", graph, "--quiet", f"--precision={precision}"]
        for each, value in given.items():
            command += ["--input", f"{each}={value}"]
        for each, place in wanted.items():
            command += ["--output", f"{each}={place}"]
        output_of(command)

    def step(self, found, folder, precision):
        """Writes the results of a step on folder/start and folder/batch to folder/precision: loss,
        gradients, updated parameters if there is an update, and the output of the forward graph."""
        place = folder / precision
        place.mkdir(parents=True, exist_ok=True)
        names = list(parameter_shapes(found))
        weights = {name: f"@{folder}/start/{name}.npy" for name in names}
        batch = {name: f"@{folder}/batch/{name}.npy" for name in input_names(found)}
        text, results = with_gradients(self.graph(found, "train"))
        given = {**weights, **batch, **{name: "0" for name in zero_states(text, names)}}
        if "%rate:" in text.splitlines()[0]:
            given["rate"] = str(rate_of(found))
        wanted = {results[0]: place / "loss.npy"}
        for name in gradient_names(found):
            wanted[f"d.{name}"] = place / f"gradient.{name}.npy"
        if has_update(found):
            wanted.update({name: place / f"after.{name}.npy" for name in names})
        self.run(folder, precision, "train", text, given, wanted)

        text = self.graph(found, "forward")
        head = text.split(" state ")[0]
        given = {**weights, **{n: v for n, v in batch.items() if f"%{n}:" in head}}
        given.update({name: "0" for name in zero_states(text, names)})
        results = re.findall(r"^  return %([\w.]+)", text, re.MULTILINE)
        self.run(folder, precision, "forward", text, given, {results[0]: place / "output.npy"})

    def bench(self, found, precision, calls):
        """The result of one run of graphc-bench: its record of the model."""
        options = [f"--threads={self.threads}", f"--precision={precision}", f"--repeat={calls}"]
        model = [found["model"], *graphc_parameters(found)]
        command = [self.programs / "graphc-bench", *model, *options, "--compilations=1"]
        return read_bench(output_of([*command, "--json=-"]))


def read_bench(text):
    """The only record in graphc-bench's JSON. Raises Failed if it lacks what we need."""
    try:
        (record,) = json.loads(text)["results"]
        return {
            "compile_s": float(record["compile_s"]),
            "train": float(record["train_step_ms"]),
            "forward": float(record["forward_step_ms"]),
            "peak_gflops": float(record.get("peak_gflops", 0)),
        }
    except (ValueError, KeyError, TypeError) as error:
        raise Failed(f"graphc-bench wrote no record of one model: {error!r}") from error
