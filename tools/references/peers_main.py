# SPDX-License-Identifier: Apache-2.0
# The command line of tools/peers: what to measure, with which peers, and where to write results.
"""Exit codes are graphc's: 2 the command line, 3 the input, 4 a program that does other work than
graphc's step, 5 something is missing."""
import argparse
import datetime
import itertools
import json
import os
import pathlib
import signal
import sys

from environments import Absent, Process, default_folder, environment, installed
from graphc_side import Failed, Missing, Side, find_programs
from settings import CELL_SETTINGS, PEERS
from table import SCHEMA, Unreadable, tables
from turns import Comparison
from workloads import ALL, MODELS, Refused, title, workload

USAGE, INPUT, CHECK, RESOURCE = 2, 3, 4, 5
PRECISIONS = ("f32", "bf16")
DESCRIPTION = (
    "Compares graphc's training step with other frameworks' on this machine, then times them in"
    " turns: lstm-layer hidden=512,1024 steps=30,100 and ptb-lm size=small where no model is named."
    " Peers are installed from the Python package index into environments of their own."
)


def say(line):
    """Prints a message; stdout has only the table."""
    print(line, file=sys.stderr, flush=True)


def cores():
    """The cores that this process may use."""
    return sorted(os.sched_getaffinity(0))


def parser():
    """The options."""
    found = argparse.ArgumentParser(prog="peers", description=DESCRIPTION)
    found.add_argument("model", nargs="?", metavar="MODEL", help=", ".join(MODELS))
    found.add_argument(
        "parameters", nargs="*", metavar="NAME=VALUE,...", help="a list makes a table for each"
    )
    found.add_argument("--with", dest="peers", metavar="PEER,...", help=", ".join(PEERS))
    found.add_argument("--precision", default="f32,bf16", help="f32,bf16, or one of them")
    found.add_argument("--threads", type=int, help="else the cores this process may use")
    found.add_argument("--rounds", type=int, help="turns of every setting (5; --quick: 2)")
    found.add_argument("--calls", type=int, help="timed calls of a turn (5; --quick: 3)")
    found.add_argument("--quick", action="store_true", help="small extents, to see that it works")
    found.add_argument("--check-only", action="store_true", help="compare; do not time")
    found.add_argument("--limit", type=float, default=900, help="seconds for one request (900)")
    found.add_argument("--dry-run", action="store_true", help="name what would be measured; do not")
    found.add_argument("--no-install", action="store_true", help="take the peers that are there")
    found.add_argument("--venv", metavar="DIR", help=f"the environments ({default_folder()})")
    found.add_argument("--programs", metavar="DIR", help="the folder of graphc and graphc-bench")
    found.add_argument("--json", metavar="FILE", help="write everything that was measured")
    found.add_argument("--table", metavar="FILE", help="print what --json wrote; measure nothing")
    found.add_argument("--list", action="store_true", help="the peers, their packages and settings")
    return found


def combinations(model, parameters):
    """The workloads of a model with lists of parameter values, the first name changing slowest."""
    for values in itertools.product(*parameters.values()):
        yield model, dict(zip(parameters, values))


def workloads(options):
    """The requested workloads. Raises Refused."""
    if options.model is None:
        return [
            workload(*each, quick=options.quick)
            for model, parameters in ALL
            for each in combinations(model, {} if options.quick else parameters)
        ]
    parameters = {}
    for word in options.parameters:
        name, equals, values = word.partition("=")
        if not equals:
            raise Refused(f"wanted NAME=VALUE,...: found '{word}'")
        parameters[name] = values.split(",")
    return [
        workload(*each, quick=options.quick) for each in combinations(options.model, parameters)
    ]


def chosen(text, known, option):
    """The names in a list on the command line. Raises Refused."""
    names = text.split(",")
    for name in names:
        if name not in known:
            raise Refused(f"{option}: wanted some of {', '.join(known)}: found '{name}'")
    return [each for each in known if each in names]


def parse(arguments):
    """The options, validated; argparse ends with exit code 2."""
    own = parser()
    options = own.parse_intermixed_args(arguments)
    try:
        options.peers = chosen(options.peers or ",".join(PEERS), PEERS, "--with")
        options.precisions = chosen(options.precision, PRECISIONS, "--precision")
        options.workloads = workloads(options)
    except Refused as error:
        own.error(str(error))
    available = len(cores())
    options.threads = available if options.threads is None else options.threads
    options.rounds = options.rounds if options.rounds is not None else 2 if options.quick else 5
    options.calls = options.calls if options.calls is not None else 3 if options.quick else 5
    if not 1 <= options.threads <= available:
        own.error(f"--threads: wanted 1 to {available}, the cores here: found {options.threads}")
    for name in ("rounds", "calls", "limit"):
        if not getattr(options, name) > 0:
            own.error(f"--{name}: wanted a number above 0: found {getattr(options, name)}")
    return options


def list_peers():
    """Lists the peers."""
    for name, peer in PEERS.items():
        print(f"{name}: {' '.join(peer.packages)}")
        for precision in PRECISIONS:
            titles = [title for title, _ in peer.settings.get(precision, ())]
            print(f"  {precision}: {'; '.join(titles) or peer.cannot[precision]}")
        if "train" in peer.cannot:
            print(f"  train: {peer.cannot['train']}")
        for precision, settings in CELL_SETTINGS.get(name, {}).items():
            print(f"  cell-layer, {precision}: {'; '.join(title for title, _ in settings)}")


def print_table(path):
    """Prints the table of recorded results."""
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
        sys.stdout.write(tables(json.loads(text)))
    except (OSError, ValueError, Unreadable) as error:
        say(f"peers: '{path}': {error}")
        return INPUT
    return 0


def processes(options, folder):
    """A process for each peer, or the reason why there is none."""
    found = {}
    for name in options.peers:
        peer = PEERS[name]
        try:
            install = not options.no_install
            python = environment(folder, name, peer.packages, say, install)
            found[name] = Process(python, peer.module, options.threads, options.limit)
        except (Absent, OSError) as error:
            found[name] = str(error) if isinstance(error, Absent) else f"not installed: {error}"
            say(f"{name}: {found[name]}")
    return found


def check_installed(options, folder):
    """Raises Absent if installing is disabled and no peer is installed."""
    names = options.peers
    if options.no_install and not any(installed(folder, n, PEERS[n].packages) for n in names):
        raise Absent(
            f"{', '.join(names)}: not installed in {folder}: `{sys.argv[0]} --quick"
            f" --with={','.join(names)}` installs what is missing"
        )


def cpu_name():
    """The CPU's name according to the kernel."""
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "a CPU without a name"


def measure(options, side, held):
    """Measures all workloads; returns a record, and whether a program did different work."""
    load = os.getloadavg()[0]
    available = len(cores())
    # XLA takes its number of threads from the number of cores; there is no other way to set it.
    os.sched_setaffinity(0, cores()[: options.threads])
    done = []
    running = held(options)
    try:
        for found in options.workloads:
            say(title(found))
            comparison = Comparison(found, side, running, options, say)
            try:
                comparison.check()
                if not options.check_only:
                    comparison.measure()
            finally:
                comparison.close()
            done.append(comparison.record())
    finally:
        for process in running.values():
            if not isinstance(process, str):
                process.end()
    return {
        "schema": SCHEMA,
        "date": datetime.date.today().isoformat(),
        "command": " ".join(["tools/peers", *options.words]),
        "rounds": options.rounds,
        "calls": options.calls,
        "environment": {
            "cpu": cpu_name(),
            "cores": available,
            "threads": options.threads,
            "load": [load, os.getloadavg()[0]],
        },
        "workloads": done,
    }


def stop(number, frame):
    """Makes SIGTERM end the peers' processes as well."""
    del frame
    raise KeyboardInterrupt(number)


def run(root, options):
    """Measures and prints; the exit code says whether all programs did the same work."""
    folder = (pathlib.Path(options.venv) if options.venv else default_folder()).resolve()
    side = Side(find_programs(root, options.programs), options.threads)
    check_installed(options, folder)
    if options.dry_run:
        for found in options.workloads:
            print(title(found))
        return 0
    results = measure(options, side, lambda o: processes(o, folder))
    if options.json:
        text = json.dumps(results, indent=1) + "\n"
        pathlib.Path(options.json).write_text(text, encoding="utf-8")
    sys.stdout.write(tables(results))
    faults = [row for each in results["workloads"] for row in each["rows"] if row.get("fault")]
    return CHECK if faults else 0


def main(root, arguments):
    """Runs the program; returns the exit code."""
    options = parse(arguments)
    options.words = arguments
    if options.list:
        list_peers()
        return 0
    if options.table:
        return print_table(options.table)
    signal.signal(signal.SIGTERM, stop)
    try:
        return run(root, options)
    except (Missing, Failed, Absent, OSError) as error:
        say(f"peers: {error}")
        return RESOURCE
    except KeyboardInterrupt:
        say("peers: interrupted")
        return 130
