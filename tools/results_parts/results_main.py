# SPDX-License-Identifier: Apache-2.0
"""The command line of tools/results."""
import argparse
import os
import pathlib
import sys

import facts
import measuring
import page

EXIT_USAGE, EXIT_CHECK, EXIT_RESOURCE = 2, 4, 5


def parsed(root, arguments):
    parser = argparse.ArgumentParser(
        prog="tools/results", allow_abbrev=False,
        description="Trains and measures the workloads on this machine, keeps what came out as "
                    "facts in docs/results/ (one JSON file each), and writes docs/results.md and "
                    "its plots from all facts that are kept.")
    parser.add_argument("--quick", action="store_true",
                        help="what takes ten minutes on two cores: W1 of 512 units, one epoch of "
                             "W2 small and of W4 Nietzsche, 20 steps of W3; kept as facts of "
                             "their own")
    parser.add_argument("--smoke", action="store_true",
                        help="goes through all of it at tiny sizes; keeps and writes nothing")
    parser.add_argument("--only", default="", metavar="NAME,...",
                        help="these measurements alone: see --list")
    parser.add_argument("--list", action="store_true", help="names of the measurements")
    parser.add_argument("--render", action="store_true", help="measures nothing: writes the page")
    parser.add_argument("--check", action="store_true",
                        help="exits with 4 unless the page is what the facts give")
    parser.add_argument("--data", default=os.environ.get("GRAPHC_DATA", ""), metavar="DIR",
                        help="the folder of the corpora (ptb, wikitext-2, nietzsche); "
                             "$GRAPHC_DATA where it is not given")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), metavar="N",
                        help="else the cores this process may use")
    parser.add_argument("--programs", default=str(root / "build/release/bin"), metavar="DIR",
                        help="where graphc and graphc-bench are; build/release/bin")
    options = parser.parse_args(arguments)
    options.has_data = bool(options.data)
    options.data = pathlib.Path(options.data).resolve()
    options.programs = pathlib.Path(options.programs).resolve()
    options.sizes = "smoke" if options.smoke else "quick" if options.quick else "full"
    return options


def main(root, arguments):
    options = parsed(root, arguments)
    documents = root / "docs"
    if options.list:
        for task in measuring.tasks(options):
            print(f"{task.name:16} {task.what}")
        return 0
    if options.check:
        return page.check(documents)
    if not options.render:
        chosen = [name for name in options.only.split(",") if name]
        known = [task.name for task in measuring.tasks(options)]
        for name in chosen:
            if name not in known:
                print(f"tools/results: --only: wanted some of {', '.join(known)}: found '{name}'",
                      file=sys.stderr)
                return EXIT_USAGE
        kept = facts.Folder(documents / "results")
        failed = measuring.measure(root, options, chosen or known, kept)
        if options.smoke:
            return EXIT_CHECK if failed else 0
        page.write(documents)
        return EXIT_CHECK if failed else 0
    page.write(documents)
    return 0
