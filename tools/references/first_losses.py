#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Compares the first losses of a language model's training in graphc and in its PyTorch reference,
# from the same weights and on the same words.
#
# usage: first_losses.py [MODEL [NAME=VALUE ...]] [--data DIR] [--steps N] ...
#
# Without a model: ptb-lm size=medium keep=1 learning-rate=0.1 and wikitext2-lm keep=1, with the
# limits below. Dropout is refused, because programs draw different masks. PyTorch is that of
# tools/peers, installed if missing.
"""Exit codes are graphc's: 2 the command line, 3 the input, 4 losses that differ by more than the
limit, 5 something is missing."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from environments import HERE, Absent, default_folder, environment
from graphc_side import Failed, Missing, find_programs, output_of
from settings import PEERS
from workloads import SIZES, WIKITEXT2

USAGE, INPUT, CHECK, RESOURCE = 2, 3, 4, 5
FOLDERS = {"ptb-lm": "ptb", "wikitext2-lm": "wikitext-2"}
# The default comparisons: parameters, steps, largest relative difference.
ALL = {
    "ptb-lm": (["size=medium", "keep=1", "learning-rate=0.1"], 50, 3e-4),
    "wikitext2-lm": (["keep=1"], 50, 5e-5),
}


def say(line):
    """Prints a message; stdout has only the figures."""
    print(line, file=sys.stderr, flush=True)


def keep_of(model, parameters):
    """The keep probability of dropout: the recipe's unless it is given."""
    name = "size" if model == "ptb-lm" else "config"
    recipes = {each: size.keep for each, size in SIZES.items()}
    if model == "wikitext2-lm":
        recipes = {each: defaults["keep"] for each, defaults in WIKITEXT2.items()}
    chosen = parameters.get(name, "small" if model == "ptb-lm" else "kawakami")
    if chosen not in recipes:
        raise ValueError(f"{model}: {name} is one of {', '.join(recipes)}: found '{chosen}'")
    return float(parameters.get("keep", recipes[chosen]))


def reference_command(model, parameters):
    """The reference's script and its options for graphc's parameters. Raises ValueError."""
    if model == "wikitext2-lm":
        return ["wikitext2_lm.py", *(f"{name}={value}" for name, value in parameters.items())]
    unknown = set(parameters) - {"size", "keep", "learning-rate"}
    if unknown:
        raise ValueError(f"the reference of ptb-lm has no '{sorted(unknown)[0]}'")
    return ["ptb_lm.py", *(f"--{name}={value}" for name, value in parameters.items())]


class Run:
    """One comparison, in its own folder."""

    def __init__(self, options, model, words, steps):
        self.options, self.model, self.words, self.steps = options, model, words, steps
        for word in words:
            if "=" not in word:
                raise ValueError(f"wanted NAME=VALUE: found '{word}'")
        self.parameters = dict(word.split("=", 1) for word in words)
        if keep_of(model, self.parameters) != 1:
            raise ValueError(f"{model}: wanted keep=1, without dropout")
        reference_command(model, self.parameters)  # rejects what the reference does not support
        self.data = options.data or pathlib.Path(os.environ["GRAPHC_DATA"]) / FOLDERS[model]

    def reference(self, python, *more):
        script, *arguments = reference_command(self.model, self.parameters)
        command = [python, HERE / script, *arguments, "--seed=1", *more]
        if self.options.threads:
            command.append(f"--threads={self.options.threads}")
        return output_of(command)

    def losses(self, python, programs, folder):
        """The losses of graphc and of the reference."""
        init, theirs, ours = folder / "init.safetensors", folder / "theirs", folder / "ours"
        self.reference(python, f"--save-init={init}")
        say(f"{self.model}: {self.steps} steps in PyTorch")
        more = [f"--data={self.data}", f"--init={init}", f"--steps={self.steps}"]
        self.reference(python, *more, f"--losses={theirs}")
        say(f"{self.model}: {self.steps} steps in graphc")
        command = [programs / "graphc", "train", self.model, *self.words, "--quiet"]
        command += [f"--data={self.data}", f"--init={init}", f"--max-steps={self.steps}"]
        command += [f"--log={ours}"]
        if self.options.threads:
            command.append(f"--threads={self.options.threads}")
        output_of(command)
        events = [json.loads(line) for line in ours.read_text(encoding="utf-8").splitlines()]
        found = [event["loss"] for event in events if event["event"] == "step"]
        return found, json.loads(theirs.read_text(encoding="utf-8"))["losses"]


def verdict(ours, theirs, limit):
    """The largest relative difference as text, and whether it is within the limit."""
    apart = [abs(a / b - 1) for a, b in zip(ours, theirs)]
    for step, difference in enumerate(apart, 1):
        if difference != difference:
            return f"one of the losses of step {step} is no number: FAILED", False
    worst = max(apart)
    within = worst <= limit
    text = f"{len(apart)} losses agree to {worst:.2e} (step {apart.index(worst) + 1})"
    return f"{text}, limit {limit:.0e}{'' if within else ': FAILED'}", within


def compare(options, run, limit, python, programs):
    """Prints the losses and their distance; returns whether it is within the limit."""
    with tempfile.TemporaryDirectory(prefix="graphc-losses.") as folder:
        ours, theirs = run.losses(python, programs, pathlib.Path(folder))
    if len(ours) != run.steps or len(theirs) != run.steps:
        raise Failed(f"{len(ours)} and {len(theirs)} losses of {run.steps} steps")
    if options.verbose:
        for step, (a, b) in enumerate(zip(ours, theirs), 1):
            print(f"{step:5} {a:.7f} {b:.7f} {abs(a / b - 1):.2e}")
    text, within = verdict(ours, theirs, limit)
    print(f"{run.model} {' '.join(run.words)}: {text}", flush=True)
    return within


def parse_options():
    found = argparse.ArgumentParser(description="first losses of graphc and of PyTorch")
    found.add_argument("model", nargs="?", choices=list(ALL))
    found.add_argument("parameters", nargs="*", metavar="NAME=VALUE")
    found.add_argument("--data", type=pathlib.Path, help="else $GRAPHC_DATA/ptb or wikitext-2")
    found.add_argument("--steps", type=int, help="training steps (50)")
    found.add_argument("--limit", type=float, help="of the relative differences")
    found.add_argument("--threads", type=int)
    found.add_argument("--verbose", action="store_true", help="print every loss")
    found.add_argument("--programs", metavar="DIR", help="the folder of graphc")
    found.add_argument("--venv", metavar="DIR", help=f"the environments ({default_folder()})")
    options = found.parse_args()
    if options.data is None and not os.environ.get("GRAPHC_DATA"):
        found.error("--data is wanted, or GRAPHC_DATA set to the folder of the corpora")
    if options.data is not None and options.model is None:
        found.error("--data wants a model")
    if options.steps is not None and options.steps < 1:
        found.error(f"--steps: wanted a number above 0: found {options.steps}")
    return options


def runs_of(options):
    """The requested comparisons, each with its limit. Raises ValueError."""
    found = []
    for model in [options.model] if options.model else ALL:
        words, steps, limit = ALL[model]
        words = options.parameters or words
        run = Run(options, model, words, options.steps or steps)
        found.append((run, options.limit or limit))
    return found


def main():
    options = parse_options()
    try:
        runs = runs_of(options)
    except ValueError as error:
        say(f"error: {error}")
        return USAGE
    try:
        programs = find_programs(HERE.parent.parent, options.programs, ("graphc",))
        venv = pathlib.Path(options.venv) if options.venv else default_folder()
        python = environment(venv, "torch", PEERS["torch"].packages, say)
        within = [compare(options, run, limit, python, programs) for run, limit in runs]
    except (Missing, Absent) as error:
        say(f"error: {error}")
        return RESOURCE
    except Failed as error:
        say(f"error: {error}")
        return INPUT
    return 0 if all(within) else CHECK


if __name__ == "__main__":
    sys.exit(main())
