# SPDX-License-Identifier: Apache-2.0
"""The measurements: commands, and the evaluation of their output."""
import dataclasses
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tools/references"))

import environments  # noqa: E402
import facts  # noqa: E402
import settings  # noqa: E402


@dataclasses.dataclass
class Task:
    """One measurement: a name, commands of one kind, and a description."""
    name: str
    what: str
    # "bench": rows of graphc-bench; "train": the log of graphc train; "reference": a reference's
    kind: str
    commands: list
    corpus: str = ""  # the folder of the data it needs


def tasks(options):
    """All measurements, shortest first, in the requested sizes."""
    quick, smoke = options.sizes != "full", options.sizes == "smoke"
    threads = f"--threads={options.threads}"
    def bench(*arguments):
        return ["graphc-bench", *arguments]
    def train(corpus, *arguments):
        data = ["--data", str(options.data / corpus)] if corpus else []
        return ["graphc", "train", *arguments, *data, "--seed", "1", "--quiet"]
    few = ["--repeat=2", "--compilations=1"] if smoke else []
    sizes = "8" if smoke else "512" if quick else "512,1024"
    # Unrolled, the graph and its compile time grow with T: measure as far as is practical.
    lengths = {"loop": "10,100" if smoke else "10,30,100,300,1000",
               "full": "10" if smoke else "10,30,100"}
    def reference(script, corpus, *arguments):
        data = ["--data", str(options.data / corpus)]
        return ["tools/references/" + script, *arguments, *data, threads]
    small = ["hidden=4", "steps=4"] if smoke else []
    suffix = "-quick" if quick else ""
    end = ["--max-steps", "3"] if smoke else []
    def epochs(full):
        return [] if smoke else ["--epochs", "1" if quick else str(full)]
    each_thread = sorted({1, options.threads})
    return [
        Task("w1" + suffix, "an LSTM layer on random data", "bench",
             [bench("lstm-layer", f"hidden={sizes}", "steps=4" if smoke else "steps=30,100",
                    "batch=8" if smoke else "batch=128", "--variant=basic,fused", threads, *few)]),
        Task("w1-lengths" + suffix, "compile time against the length of the sequence", "bench",
             [bench("lstm-layer", "hidden=8" if smoke else "hidden=128", f"steps={steps}",
                    "batch=8", f"--unroll={unroll}", threads, "--repeat=3", *few[1:])
              for unroll, steps in lengths.items()]),
        Task("w2-threads" + suffix, "words a second of ptb-lm small against threads", "bench",
             [bench("ptb-lm", "size=small", *small, f"--threads={count}", *few)
              for count in each_thread]),
        Task("w4-unroll" + suffix, "char-lstm as a loop and unrolled", "bench",
             [bench("char-lstm", "corpus=nietzsche", *small, f"unroll={unroll}", threads, *few)
              for unroll in ("false", "true")]),
        Task("w4-nietzsche" + suffix, "char-lstm trained on Nietzsche", "train",
             [train("nietzsche", "char-lstm", "corpus=nietzsche", *small, *epochs(20), *end,
                    threads)], "nietzsche"),
        Task("w2-small" + suffix, "ptb-lm small trained by its recipe", "train",
             [train("ptb", "ptb-lm", "size=small", *small, *epochs(13), *end, threads)], "ptb"),
        Task("w3-steps" + suffix, "20 steps of wikitext2-lm", "train",
             [train("wikitext-2", "wikitext2-lm", *(["hidden=4", "steps=4", "batch=2"] if smoke
                                                    else []),
                    "--max-steps", "3" if smoke else "20", threads)], "wikitext-2"),
        *([] if quick else [
            Task("w2-reference", "an epoch of ptb-lm small in PyTorch", "reference",
                 [reference("ptb_lm.py", "ptb", "--size=small", "--epochs=1", "--log-every=1000")],
                 "ptb"),
            Task("w3-reference", "20 steps of wikitext2-lm in PyTorch", "reference",
                 [reference("wikitext2_lm.py", "wikitext-2", "--steps=20")], "wikitext-2"),
            Task("w4-reference", "an epoch of char-lstm on Nietzsche in PyTorch", "reference",
                 [reference("char_lstm.py", "nietzsche/nietzsche.txt", "--epochs=1")],
                 "nietzsche")]),
    ]


class Failed(Exception):
    """A command failed; the text says which, and how."""


def ran(command, programs):
    words = [str(programs / command[0]), *command[1:]]
    if command[0].startswith("tools/references/"):
        words = [str(python_of_references()), str(ROOT / command[0]), *command[1:]]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["nothing on stderr"]
        raise Failed(f"{shlex.join(command)}: exit code {done.returncode}: {last[0]}")


def python_of_references():
    """The Python that has PyTorch, as for tools/peers; installs it if missing."""
    try:
        return environments.environment(environments.default_folder(), "torch",
                                        settings.PEERS["torch"].packages,
                                        lambda line: print(line, file=sys.stderr))
    except environments.Absent as error:
        raise Failed(str(error)) from error


def fact_of(task, options):
    """Runs the commands of a task; returns the fact without its head, and the machine."""
    fact, environment = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "out"
        for command in task.commands:
            if task.kind == "bench":
                ran([*command, f"--json={file}"], options.programs)
                report = json.loads(file.read_text(encoding="utf-8"))
                environment = report["environment"]
                rows = facts.bench_of(report)["results"]
                for unroll in [word for word in command if word.startswith("--unroll=")]:
                    rows = [{**row, "unroll": unroll.removeprefix("--unroll=")} for row in rows]
                fact.setdefault("results", []).extend(rows)
            elif task.kind == "reference":
                ran([*command, f"--losses={file}"], options.programs)
                found = json.loads(file.read_text(encoding="utf-8"))
                fact = {"torch": found["torch"], "steps": len(found["losses"]),
                        "seconds_of_steps": found["seconds"]}
            else:
                ran([*command, "--log", str(file)], options.programs)
                events = [json.loads(line) for line in
                          file.read_text(encoding="utf-8").splitlines()]
                fact.update(facts.training_of(events))
    return fact, environment


def shown(command, options):
    """The command for a reader to repeat."""
    return shlex.join(command).replace(str(options.data), "DIR")


def machine(options):
    """graphc-bench's description of the machine, for facts of commands that do not give one."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "out"
        ran(["graphc-bench", "lstm-layer", "hidden=2", "steps=2", "batch=2", "--repeat=1",
             "--compilations=1", f"--json={file}"], options.programs)
        return json.loads(file.read_text(encoding="utf-8"))["environment"]


def measure(root, options, names, kept):
    """Runs the tasks with these names and stores each fact when it is complete; reports failures
    and continues. Returns the number of failures."""
    failed = 0
    for task in tasks(options):
        if task.name not in names:
            continue
        if task.corpus and not (options.has_data and (options.data / task.corpus).is_dir()):
            why = (f"no folder {options.data / task.corpus}" if options.has_data else
                   f"wanted the folder of '{task.corpus}' with --data or GRAPHC_DATA")
            print(f"tools/results: {task.name}: left out: {why}", file=sys.stderr)
            continue
        begun = time.monotonic()
        try:
            fact, environment = fact_of(task, options)
            environment = environment or machine(options)
        except (Failed, OSError) as error:
            print(f"tools/results: {task.name}: {error}", file=sys.stderr)
            failed += 1
            continue
        seconds = time.monotonic() - begun
        print(f"tools/results: {task.name}: {task.what}: {seconds:.0f} s", file=sys.stderr)
        if not options.smoke:
            command = "; ".join(shown(command, options) for command in task.commands)
            kept.keep(task.name, {**facts.head(root, command, environment, seconds), **fact})
    return failed
