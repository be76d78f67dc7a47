# SPDX-License-Identifier: Apache-2.0
# The smallest units of work, and their results.
import collections
import time

from gpu_check import commands

# `work(context, seconds)` returns a dictionary with "state" and further results.
Item = collections.namedtuple("Item", "name work")
# `share` is the part's share of the time; `items(context)` are its items, the most important ones
# first.
Part = collections.namedtuple("Part", "name title share items")

# The state of an item. `done` and `failed` are kept; `skipped` is retried by the next call, which
# may find what was missing; `unfinished` ran out of time.
DONE, FAILED, SKIPPED, UNFINISHED = "done", "failed", "skipped", "unfinished"


class Context:
    """The information that items share in this run."""

    def __init__(self, places, environment, dry_run, folder):
        self.places = places
        self.environment = environment
        self.dry_run = dry_run
        self.folder = folder
        self.variants = ("fused", "basic", "unrolled")
        self.precisions = ("f32",)  # until `graphc targets` says more

    def size(self, full, small):
        """`small` on the mock, where figures have no meaning."""
        return small if self.dry_run else full

    def run(self, command, seconds, text="", more=None):
        environment = dict(self.environment, **(more or {}))
        return commands.run([str(word) for word in command], seconds, environment, text)


def outcome(ran, **found):
    """The result of an item with a single command; includes the reason if the command failed."""
    result = {"state": DONE, "seconds": round(ran.seconds, 3)}
    result.update(found)
    if ran.timed_out:
        result.update(state=UNFINISHED, reason="out of time")
    elif ran.code != 0:
        said = commands.last_lines(ran.err) or commands.last_lines(ran.out)
        result.update(state=FAILED, code=ran.code, reason=said or "no message")
    return result


def skipped(reason):
    return {"state": SKIPPED, "seconds": 0, "reason": reason}


def do(item, context, seconds):
    """The result of an item. A defect of a script fails its item instead of ending the run."""
    begun = time.monotonic()
    try:
        result = item.work(context, seconds)
    except Exception as error:  # noqa: BLE001
        result = {"state": FAILED, "reason": f"gpu-check: {type(error).__name__}: {error}"}
    result.setdefault("seconds", round(time.monotonic() - begun, 3))
    return dict(name=item.name, **result)
