#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# What a call of a compiled graph costs from Python and from C++.
"""Prints the microseconds of a call of a graph that computes next to nothing, the fastest of 20
rounds, from Python with arrays of NumPy and, by graphc-bench, from C++.

    call_cost.py [GRAPHC_BENCH]
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

import graphc

TEXT = """graph @f(%x: f32[4,8], %w: f32[8,8]) {
  %y = tanh(matmul(%x,%w))
  return %y
}
"""


def from_python(threads, calls=2000):
    """The microseconds of a call."""
    model = graphc.Model("call")
    model.graph("f", lambda inputs: graphc.tanh(inputs("x", graphc.f32, [4, 8])
                                                @ inputs("w", graphc.f32, [8, 8])))
    session = graphc.Session(model, target="cpu", threads=threads)
    x, w = np.ones((4, 8), np.float32), np.ones((8, 8), np.float32)
    rounds = []
    for _ in range(20):
        begun = time.perf_counter()
        for _ in range(calls):
            session("f", x, w)
        rounds.append((time.perf_counter() - begun) / calls)
    return 1e6 * min(rounds)


def from_cpp(program, threads, folder):
    """The same from C++."""
    graph, results = folder / "call.graph", folder / "results.json"
    graph.write_text(TEXT)
    subprocess.run([program, graph, f"--threads={threads}", "--repeat=2000", "--json", results],
                   check=True, capture_output=True)
    return 1e3 * json.loads(results.read_text())["results"][0]["forward_step_ms_min"]


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "graphc-bench"
    if shutil.which(program) is None:
        sys.exit("call_cost.py: wanted graphc-bench as the argument or in PATH: found no "
                 f"'{program}'")
    print("threads  Python     C++  more")
    with tempfile.TemporaryDirectory() as folder:
        for threads in (1, 2):
            python = from_python(threads)
            cpp = from_cpp(program, threads, pathlib.Path(folder))
            print(f"{threads:7} {python:7.1f} {cpp:7.1f} {python - cpp:5.1f} us")


if __name__ == "__main__":
    main()
