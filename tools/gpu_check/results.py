# SPDX-License-Identifier: Apache-2.0
# The results folder: one file per item, so that completed items are not repeated, and a JSON file
# and a Markdown table of all of them.
import json
import re
import shutil

from gpu_check import targets
from gpu_check.items import DONE, FAILED, SKIPPED

SCHEMA = "graphc-gpu-check/1"


class Mismatch(Exception):
    """The folder has the results of something else."""


class Results:
    def __init__(self, folder, subject):
        """`subject` identifies what is checked: results of another subject are not continued."""
        self.folder = folder
        self.subject = subject
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "subject.json"
        if path.exists():
            before = json.loads(path.read_text(encoding="utf-8"))
            if before != subject:
                raise Mismatch(
                    f"{folder} holds results of {before}, not of {subject}:"
                    " name another folder with --output"
                )
        else:
            self.write(path, json.dumps(subject))

    def path(self, part, item):
        name = re.sub(r"[^A-Za-z0-9.,_-]+", "_", item)
        return self.folder / "items" / part / f"{name}.json"

    def forget(self, part):
        shutil.rmtree(self.folder / "items" / part, ignore_errors=True)

    def read(self, part, item):
        """The stored result of an item, or None."""
        path = self.path(part, item)
        if not path.exists():
            return None
        return json.loads(path.read_text(encoding="utf-8"))

    def keep(self, part, result):
        path = self.path(part, result["name"])
        path.parent.mkdir(parents=True, exist_ok=True)
        self.write(path, json.dumps(result, indent=1))

    @staticmethod
    def write(path, text):
        """Writes atomically: an interrupted run leaves no partial file."""
        unfinished = path.with_name(path.name + ".new")
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)

    def report(self, parts, head):
        """Writes gpu-check.json and gpu-check.md; `parts` are the parts of this run with
        results."""
        everything = dict(schema=SCHEMA, **head, parts=parts)
        items = [(part, item) for part in parts for item in part["items"]]
        for state in (FAILED, SKIPPED, "unfinished", "left"):
            everything[state] = [
                f"{part['name']}/{item['name']}" for part, item in items if item["state"] == state
            ]
        self.write(self.folder / "gpu-check.json", json.dumps(everything, indent=1) + "\n")
        self.write(self.folder / "gpu-check.md", markdown(everything))
        return everything


# --- the table ---


def number(value):
    return f"{value:.4g}"


def rows_of_probe(item):
    rows = []
    for probe in item.get("probes", []):
        if "median" in probe:
            spread = f"{number(probe['min'])} to {number(probe['max'])}"
            figure = f"{number(probe['median'])} {probe['unit']}"
            rows.append((probe["name"], figure, f"{probe['what']}; {spread}"))
        else:
            rows.append((probe["name"], "absent", probe["absent"]))
    return rows


def paces(figures):
    """The predictions per second, as text: "1200 words/s"."""
    return [f"{number(figures[f'{unit}_per_s'])} {unit}/s"
            for unit in ("words", "characters") if f"{unit}_per_s" in figures]


def rows_of_speed(item):
    rows = []
    for result in item.get("results", []):
        figures = []
        for call in ("train", "forward"):
            if f"{call}_step_ms" in result:
                figures.append(f"{call} {number(result[f'{call}_step_ms'])} ms a step")
        figures += paces(result)
        note = f"compiled in {number(result['compile_s'])} s"
        if "train_gflops" in result:
            note += f", {number(result['train_gflops'] / 1000)} TFLOP/s"
        place = {"device": "on the GPU", "ahead": "brought ahead"}.get(result["io"], "on the host")
        rows.append((f"{item['name']}, inputs {place}", ", ".join(figures), note))
    return rows


def rows_of_peer(item):
    rows = []
    for row in item["rows"]:
        name = f"{item['name']}: {row['mode']} {row['precision']}"
        if "absent" in row:
            rows.append((name, "absent", row["absent"]))
            continue
        figures = f"train {number(row['train_step_ms'])} ms a step"
        if "forward_step_ms" in row:
            figures += f", forward {number(row['forward_step_ms'])} ms a step"
        rows.append((name, figures, row.get("version", "")))
    return rows


def rows_of_machine(item):
    if "libraries" in item:
        return [
            (row["name"], row.get("version", "absent"), row.get("path", row.get("reason", "")))
            for row in item["libraries"]
        ]
    return [(item["name"], item.get("text", item.get("version", "")), item.get("system", ""))]


def rows_of(part, item):
    """What, figure, note."""
    if item["state"] != DONE:
        return [(item["name"], item["state"], item.get("reason", ""))]
    if part == "machine":
        return rows_of_machine(item)
    if part == "probes":
        return rows_of_probe(item)
    if part in ("speed", "targets"):
        return rows_of_speed(item)
    if part in ("peers", "best-of-pytorch"):
        return rows_of_peer(item)
    if part == "training":
        steps = [event for event in item.get("events", []) if event.get("event") == "step"]
        if not steps:
            return [(item["name"], "done", "")]
        last = steps[-1]
        figure = ", ".join([f"loss {number(last['loss'])}", *paces(last)])
        return [(item["name"], figure, f"after {last['step']} steps")]
    is_sanitizer = part == "sanitizer"
    return [(item["name"], "clean" if is_sanitizer else "agrees", item.get("said", ""))]


def cell(text):
    return " ".join(str(text).replace("|", "/").split())


def known(value, unit=""):
    return f"{number(value)}{unit}" if value is not None else "not measured"


def table_of_targets(everything):
    """How fast workloads are beside PyTorch's best, if that was measured."""
    rows = targets.comparisons(everything)
    if not rows:
        return []
    lines = [
        "Milliseconds of a training step, inputs on the GPU; PyTorch's best as one CUDA graph, with"
        " autocast (`graph`) or with parameters in the type (`parameters`).",
        "",
        "| workload | precision | graphc | PyTorch's best | | times as fast | wanted |",
        "| --- | --- | ---: | ---: | --- | ---: | ---: |",
    ]
    for workload, precision, mine, theirs, mode, times, wanted in rows:
        cells = (workload, precision, known(mine), known(theirs), mode or "", known(times), wanted)
        lines.append("| " + " | ".join(str(each) for each in cells) + " |")
    beside = targets.beside_lstm(everything)
    if beside:
        lines += ["", "| cell | precision | graphc | of the LSTM's speed | wanted |",
                  "| --- | --- | ---: | ---: | ---: |"]
        lines += [f"| {name} | {precision} | {number(time)} | {number(share)} | 0.8 |"
                  for name, precision, time, share in beside]
    return lines


def markdown(everything):
    lines = ["# graphc on a GPU", ""]
    if everything["dry_run"]:
        lines += ["**A dry run on the mock driver: its figures of speed mean nothing.**", ""]
    lines += [f"{everything['graphc']}, {everything['gpu']}, {everything['started']}.", ""]
    lines += table_of_targets(everything)
    if lines[-1] != "":
        lines.append("")
    lines += ["| part | what | figure | note |", "| --- | --- | --- | --- |"]
    for part in everything["parts"]:
        for item in part["items"]:
            for row in rows_of(part["name"], item):
                lines.append("| " + " | ".join(cell(text) for text in (part["name"], *row)) + " |")
    for state, meaning in (
        ("failed", "Failed"),
        ("skipped", "Skipped, for want of something named above"),
        ("unfinished", "Ran out of time"),
        ("left", "Not begun, for want of time"),
    ):
        if everything[state]:
            lines += ["", f"{meaning}: {', '.join(everything[state])}."]
    return "\n".join(lines) + "\n"
