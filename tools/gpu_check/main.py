# SPDX-License-Identifier: Apache-2.0
# The command line of gpu-check; runs the parts in turn, each within its time.
import argparse
import json
import pathlib
import signal
import sys
import time

from gpu_check import items, targets
from gpu_check.checks import CONFORMANCE, MACHINE, PROBES, SANITIZER
from gpu_check.places import Missing, Places, environment
from gpu_check.results import Mismatch, Results
from gpu_check.speeds import PEERS, SPEED, TRAINING

# Parts, and minutes for them.
PLANS = {
    "all": ((MACHINE, PROBES, CONFORMANCE, SANITIZER, SPEED, PEERS, TRAINING), 8),
    "targets": (targets.PARTS, targets.MINUTES),
}
USAGE, CHECK, RESOURCE = 2, 4, 5  # exit codes, as graphc has them
LEAST_SECONDS = 1.0  # the least time worth starting an item with


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="gpu-check",
        description="Checks graphc on the GPU of this machine and measures it. Exit code: 0 all is"
        " done and right, 4 something is wrong, 5 something is missing or time ran out (call again"
        " to go on).",
    )
    parser.add_argument(
        "--plan",
        choices=PLANS,
        default="all",
        help="all (8 minutes); or targets (4): workloads beside PyTorch's best, and every placement"
        " of loops",
    )
    parser.add_argument("--only", metavar="PART,...", help="these parts of the plan alone")
    parser.add_argument("--list", action="store_true", help="the parts and their items")
    parser.add_argument(
        "--dry-run", action="store_true", help="on the mock driver, with small sizes; no GPU"
    )
    parser.add_argument("--output", metavar="DIR", help="the folder of the results")
    parser.add_argument("--again", action="store_true", help="do what is done already again")
    parser.add_argument("--minutes", type=float, help="of all parts together")
    parser.add_argument("--programs", metavar="DIR", help="the folder of graphc and graphc-bench")
    options = parser.parse_args(arguments)
    parts, minutes = PLANS[options.plan]
    options.minutes = minutes if options.minutes is None else options.minutes
    if not 0 < options.minutes < 1e6:
        parser.error(f"--minutes: wanted a number above 0: found {options.minutes}")
    names = [part.name for part in parts]
    chosen = options.only.split(",") if options.only else names
    for name in chosen:
        if name not in names:
            parser.error(f"--only: no part is called '{name}': there are {', '.join(names)}")
    options.parts = [part for part in parts if part.name in chosen]
    return options


def say(line):
    print(line, file=sys.stderr, flush=True)


def describe(name, result):
    reason = f": {result['reason']}" if "reason" in result else ""
    say(f"  {result['state']:<10} {result['seconds']:6.1f} s  {name}{reason}")


class Run:
    """The parts of one call."""

    def __init__(self, options, context, results):
        self.options = options
        self.context = context
        self.results = results
        self.begun = time.monotonic()
        self.started = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
        self.seconds = options.minutes * 60
        self.kept = {part.name: {} for part in options.parts}  # by item

    def left(self, until):
        return self.begun + until - time.monotonic()

    def one(self, part, item, until):
        """Runs an item unless it is done, until the given time."""
        before = None if self.options.again else self.results.read(part.name, item.name)
        before = self.kept[part.name].get(item.name, before)
        if before is not None and before["state"] in (items.DONE, items.FAILED):
            self.kept[part.name][item.name] = before
            return
        seconds = self.left(until)
        if seconds < LEAST_SECONDS:
            return
        result = items.do(item, self.context, seconds)
        describe(item.name, result)
        self.kept[part.name][item.name] = result
        if result["state"] != items.UNFINISHED:
            self.results.keep(part.name, result)

    def all_parts(self):
        """Each part may use its share of the time plus what earlier ones left; items that did not
        fit are retried in the remaining time."""
        shares = sum(part.share for part in self.options.parts)
        until = 0.0
        for part in self.options.parts:
            until += self.seconds * part.share / shares
            if self.options.again:
                self.results.forget(part.name)
            say(f"{part.name}: {part.title}")
            for item in part.items(self.context):
                self.one(part, item, until)
            self.report()
        for part in self.options.parts:
            for item in part.items(self.context):
                state = self.kept[part.name].get(item.name, {}).get("state")
                if state in (None, items.UNFINISHED):
                    self.one(part, item, self.seconds)

    def rows(self, part):
        """The results of every item, including those not started."""
        rows = []
        for item in part.items(self.context):
            known = self.kept[part.name].get(item.name)
            known = known or self.results.read(part.name, item.name)
            rows.append(known or {"name": item.name, "state": "left", "seconds": 0})
        return rows

    def report(self):
        parts = [
            {"name": part.name, "title": part.title, "items": self.rows(part)}
            for part in self.options.parts
        ]
        head = dict(self.results.subject, started=self.started, minutes=self.options.minutes)
        return self.results.report(parts, head)


def read_machine(context):
    """Determines what to check: the libraries first, because everything else depends on them."""
    found = items.do(MACHINE.items(context)[0], context, 60)
    if found["state"] != items.DONE:
        raise Missing(found["reason"])
    version = context.run([context.places.program("graphc"), "version"], 60)
    device = context.run([context.places.program("graphc-gpu-probe"), "--describe"], 60)
    if device.code != 0:
        raise Missing(device.err.strip())
    gpu = json.loads(device.out)["device"]["name"]
    return {"graphc": version.out.strip(), "gpu": gpu, "dry_run": context.dry_run}


def list_items(options, context):
    for part in options.parts:
        print(f"{part.name}: {part.title}")
        for item in part.items(context):
            print(f"  {item.name}")


def stop(number, frame):
    del frame
    raise KeyboardInterrupt(number)


def main(here, arguments):
    options = parse(arguments)
    signal.signal(signal.SIGTERM, stop)
    try:
        return check(here, options)
    except Missing as missing:
        say(f"gpu-check: {missing}")
        if not options.dry_run:
            say("gpu-check: --dry-run goes through all of it on the mock driver")
        return RESOURCE
    except Mismatch as mismatch:
        say(f"gpu-check: {mismatch}")
        return USAGE
    except KeyboardInterrupt:
        say("gpu-check: interrupted; what is done is kept: call again to go on")
        return 130


def check(here, options):
    places = Places(here, options.programs, options.dry_run)
    name = "gpu-check-dry-run" if options.dry_run else "gpu-check-results"
    folder = pathlib.Path(options.output or name)
    variables = environment(places, options.dry_run, folder)
    context = items.Context(places, variables, options.dry_run, folder)
    if options.list:
        list_items(options, context)
        return 0
    results = Results(folder, read_machine(context))
    run = Run(options, context, results)
    try:
        run.all_parts()
    finally:
        everything = run.report()
        say(f"results: {folder / 'gpu-check.md'}, {folder / 'gpu-check.json'}")
    for state in ("failed", "unfinished", "left"):
        if everything[state]:
            say(f"{state}: {', '.join(everything[state])}")
    if everything["failed"]:
        return CHECK
    return RESOURCE if everything["unfinished"] or everything["left"] else 0
