# SPDX-License-Identifier: Apache-2.0
"""Facts: measurements, one JSON file each, with their command, commit, date and machine."""
import datetime
import json
import os
import subprocess

CURVE_POINTS = 120


class Folder:
    """The stored facts; a new one replaces the old one atomically."""

    def __init__(self, path):
        self.path = path

    def keep(self, name, fact):
        self.path.mkdir(exist_ok=True)
        temporary = self.path / (name + ".json.new")
        temporary.write_text(json.dumps(fact, indent=1) + "\n", encoding="utf-8")
        os.replace(temporary, self.path / (name + ".json"))

    def all(self):
        """Every fact by its name."""
        return {file.stem: json.loads(file.read_text(encoding="utf-8"))
                for file in sorted(self.path.glob("*.json"))}


def commit_of(root):
    """The commit of the sources, and whether they have been modified since, apart from the files
    that this program writes."""
    def git(*arguments):
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True,
                              check=False)
        return done.stdout.strip() if done.returncode == 0 else ""
    commit = git("rev-parse", "--short", "HEAD") or "unknown"
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/results*")
    return commit + ("+" if changed else "")


def head(root, command, environment, seconds):
    """The common head of every fact."""
    return {"date": datetime.date.today().isoformat(), "commit": commit_of(root),
            "command": command, "environment": environment, "seconds": round(seconds, 1)}


def curve_of(steps):
    """Mean losses of neighbouring steps, at most CURVE_POINTS of them: [last step, loss]."""
    each = max(1, -(-len(steps) // CURVE_POINTS))
    curve = []
    for begin in range(0, len(steps), each):
        part = steps[begin:begin + each]
        curve.append([part[-1]["step"],
                      round(sum(event["loss"] for event in part) / len(part), 5)])
    return curve


def training_of(events):
    """The facts in a log: epochs with their final measurements, the end, the losses."""
    epochs = {}
    for event in events:
        if event["event"] in ("epoch", "evaluation"):
            row = epochs.setdefault(event["epoch"], {})
            row.update({key: value for key, value in event.items() if key != "event"})
    steps = [event for event in events if event["event"] == "step"]
    ends = [event for event in events if event["event"] == "end"]
    speed = [key for key in (steps[-1] if steps else {}) if key.endswith("_per_s")]
    fact = {"epochs": list(epochs.values()), "curve": curve_of(steps), "steps": len(steps)}
    if ends:
        fact["end"] = {key: value for key, value in ends[-1].items() if key != "event"}
    if speed:
        fact["speed"] = {speed[0]: round(steps[-1][speed[0]], 1)}
    return fact


KEPT_OF_A_ROW = ("workload", "parameters", "variant", "precision", "threads", "compile_s",
                 "train_ms", "forward_ms", "train_step_ms", "forward_step_ms",
                 "train_fraction_of_peak", "forward_fraction_of_peak", "peak_gflops",
                 "words_per_s", "samples_per_s", "characters_per_s", "peak_bytes")


def bench_of(report):
    """The rows of graphc-bench's JSON that the page uses."""
    return {"results": [{key: row[key] for key in KEPT_OF_A_ROW if key in row}
                        for row in report["results"]]}
