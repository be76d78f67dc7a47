# SPDX-License-Identifier: Apache-2.0
# One peer in its own environment: requests on stdin, answers on stdout, one line of JSON each.
"""Started by tools/peers and paused between turns: `worker.py MODULE THREADS`, where MODULE is one
of the references, or `none` to draw and compare with NumPy only."""
import importlib
import json
import os
import pathlib
import sys
import time

import numpy

import drawn
import workloads


def load(folder):
    """The arrays in a folder, by file name."""
    return {path.stem: numpy.load(path) for path in sorted(pathlib.Path(folder).glob("*.npy"))}


def save(folder, arrays):
    """Writes arrays to a folder, one .npy file each."""
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        numpy.save(pathlib.Path(folder) / f"{name}.npy", array)


def compared(folder, actual, precision):
    """Differences from graphc's step in f32, and what is wrong, if anything."""
    folder = pathlib.Path(folder)
    start = {**load(folder / "start"), **load(folder / "batch")}
    found = drawn.differences(start, load(folder / "f32"), actual)
    return {"differences": found, "fault": drawn.fault(found, precision)}


class Worker:
    """Answers requests: dictionaries whose `do` names a method."""

    def __init__(self, module, threads):
        self.reference = None
        if module != "none":
            self.reference = importlib.import_module(module)
            self.reference.prepare(threads)
        self.runners = {}

    def version(self, request):
        """The peer's version."""
        del request
        return {"version": self.reference.version()}

    def draw(self, request):
        """Writes weights and a batch for graphc to read."""
        found = request["workload"]
        names = workloads.input_names(found)
        arrays = {**drawn.weights_of(found), **dict(zip(names, drawn.batches_of(found, 1)[0]))}
        folder = pathlib.Path(request["folder"])
        save(folder / "start", {name: arrays[name] for name in workloads.parameter_shapes(found)})
        save(folder / "batch", {name: arrays[name] for name in names})
        return {}

    def compare(self, request):
        """Compares arrays written by graphc in one precision with those in f32."""
        folder, precision = pathlib.Path(request["folder"]), request["precision"]
        return compared(folder, load(folder / precision), precision)

    def prepare(self, request):
        """Prepares a setting; returns the time to its first step, and whether it does graphc's
        work."""
        found, setting = request["workload"], request["setting"]
        weights = drawn.weights_of(found)
        batches = self.reference.place(found, drawn.batches_of(found))
        begun = time.perf_counter()
        cell = found["model"] == "cell-layer"
        make = self.reference.CellRunner if cell else self.reference.Runner
        runner = make(found, setting["mode"], setting["precision"], weights, batches)
        result, actual = {}, {}
        if hasattr(runner, "train"):
            runner.train(0)
            result["compile_s"] = time.perf_counter() - begun
            runner.reset(weights)
            actual = {**runner.gradients()}
            runner.reset(weights)
            again = runner.train(0)
            if workloads.has_update(found):
                actual.update({f"after.{name}": each for name, each in runner.weights().items()})
            actual["trained"] = numpy.asarray(again)
            runner.reset(weights)
        actual["output"] = numpy.asarray(runner.forward(0))
        runner.reset(weights)
        self.runners[request["key"]] = runner
        return {**result, **compared(request["folder"], actual, setting["precision"])}

    def time(self, request):
        """The milliseconds of consecutive calls, after one warm-up."""
        call = getattr(self.runners[request["key"]], request["what"])
        call(0)
        readings, until = [], time.perf_counter() + request["seconds"]
        while len(readings) < request["calls"] and (not readings or time.perf_counter() < until):
            begun = time.perf_counter()
            call(len(readings) + 1)
            readings.append(1000 * (time.perf_counter() - begun))
        return {"ms": readings}

    def forget(self, request):
        """Discards everything that was prepared."""
        del request
        self.runners.clear()
        return {}

    def answer(self, request):
        """The answer to a request, or why there is none."""
        try:
            return getattr(self, request["do"])(request)
        except Exception as error:  # noqa: BLE001: the other settings are worth having without it
            lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
            # TensorFlow's messages begin with where and end with what.
            line = lines[-1] if lines[0].endswith(":") else lines[0]
            return {"error": f"{type(error).__name__}: {line}"[:160]}


def main():
    """Answers requests until there are no more. Output of libraries goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        worker = Worker(sys.argv[1], int(sys.argv[2]))
        print(json.dumps({"ready": True}), file=answers, flush=True)
    except Exception as error:  # reported in the peer's cells
        print(json.dumps({"error": str(error)[:200]}), file=answers, flush=True)
        return
    for line in sys.stdin:
        print(json.dumps(worker.answer(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
