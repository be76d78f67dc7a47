# SPDX-License-Identifier: Apache-2.0
# One workload: first compares every program's step, then times them in turns.
"""The results are a list of rows: dictionaries that become JSON, then a table."""
import pathlib
import shutil
import statistics
import tempfile

from environments import Absent
from graphc_side import Failed
from settings import PEERS, refusal, settings_of
from workloads import title

SECONDS = 20.0  # limit for the calls of one kind in a turn, as in graphc-bench


def graphc_row(side, precision):
    """The row of graphc itself."""
    return {"library": side.version(), "setting": "fused", "precision": precision, "cells": {}}


def peer_rows(name, found, precision):
    """The rows of a peer, with the settings it does not support; a single row if it supports
    none."""
    peer = PEERS[name]
    head = {"library": peer.title, "peer": name, "precision": precision}
    reason = refusal(name, found["model"], precision)
    if reason is not None:
        return [{**head, "setting": "", "cells": {"all": reason}}]
    rows = []
    for setting in settings_of(name, found, precision):
        cells = {"train": peer.cannot["train"]} if "train" in peer.cannot else {}
        rows.append({**head, "setting": setting.name, "mode": setting.mode, "cells": cells})
    return rows


class Comparison:
    """A workload, in its own folder."""

    def __init__(self, found, side, processes, options, say):
        self.found, self.side, self.processes = found, side, processes
        self.options, self.say = options, say
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="graphc-peers-"))
        self.rows = []

    def key(self, row):
        """The key of a setting in its peer's process."""
        return f"{row['mode']} {row['precision']}"

    def check(self):
        """Creates the rows and compares each with graphc's step in f32. Without a peer there is
        nothing to compare with, and only graphc is timed."""
        some = next((each for each in self.processes.values() if not isinstance(each, str)), None)
        if some is not None:
            some.ask(do="draw", workload=self.found, folder=str(self.folder))
            self.side.step(self.found, self.folder, "f32")
        for precision in self.options.precisions:
            row = graphc_row(self.side, precision)
            self.rows.append(row)
            if some is not None:
                self.check_graphc(row, some)
            for name, process in self.processes.items():
                for row in peer_rows(name, self.found, precision):
                    self.rows.append(row)
                    self.check_peer(row, process)

    def check_graphc(self, row, some):
        """Compares graphc's other precisions with its f32."""
        try:
            if row["precision"] != "f32":
                self.side.step(self.found, self.folder, row["precision"])
            row.update(
                some.ask(do="compare", folder=str(self.folder), precision=row["precision"])
            )
        except (Failed, Absent) as error:
            row["cells"]["all"] = str(error)
        self.tell(row)

    def check_peer(self, row, process):
        """Prepares a peer's setting and compares its step."""
        if isinstance(process, str):
            row["cells"]["all"] = process
        elif "all" not in row["cells"]:
            setting = {"mode": row["mode"], "precision": row["precision"]}
            try:
                row["version"] = process.ask(do="version")["version"]
                row.update(
                    process.ask(
                        do="prepare",
                        workload=self.found,
                        folder=str(self.folder),
                        setting=setting,
                        key=self.key(row),
                    )
                )
            except Absent as error:
                row["cells"]["all"] = str(error)
        self.tell(row)

    def tell(self, row):
        """Reports the comparison of a row."""
        name = f"{row['library']} {row['setting']} {row['precision']}"
        if row.get("fault"):
            row["cells"]["all"] = f"not timed: {row['fault']}"
        if "all" in row["cells"]:
            self.say(f"  {name}: {row['cells']['all']}")
        elif "differences" in row:
            found = row["differences"]
            kinds = ("loss", "gradient", "update", "forward")
            parts = [f"{each} {found[each]:.1e}" for each in kinds if each in found]
            self.say(f"  {name}: apart from graphc f32 by {', '.join(parts)}")

    def turn(self, row):
        """One turn of one row: the milliseconds of its calls, a list per kind."""
        if "peer" not in row:
            found = self.side.bench(self.found, row["precision"], self.options.calls)
            row.setdefault("compile_turns", []).append(found["compile_s"])
            row["peak_gflops"] = found["peak_gflops"]
            return {what: [found[what]] for what in ("train", "forward")}
        process = self.processes[row["peer"]]
        ask = {"do": "time", "key": self.key(row), "seconds": SECONDS, "calls": self.options.calls}
        kinds = [what for what in ("train", "forward") if what not in row["cells"]]
        return {what: process.ask(**ask, what=what)["ms"] for what in kinds}

    def measure(self):
        """All turns: every row once per round, in the same order."""
        for index in range(self.options.rounds):
            self.say(f"  round {index + 1} of {self.options.rounds}")
            for row in self.rows:
                if "all" in row["cells"]:
                    continue
                try:
                    for what, readings in self.turn(row).items():
                        row.setdefault(f"{what}_turns", []).append(statistics.median(readings))
                except (Failed, Absent) as error:
                    row["cells"]["all"] = str(error)
        summarise(self.rows, self.found["batch"])

    def close(self):
        """Cleans up."""
        for process in self.processes.values():
            if not isinstance(process, str) and process.process.poll() is None:
                try:
                    process.ask(do="forget")
                except Absent:
                    pass
        shutil.rmtree(self.folder, ignore_errors=True)

    def record(self):
        """The workload and its rows."""
        return {"title": title(self.found), "workload": self.found, "rows": self.rows}


def summarise(rows, batch):
    """Adds milliseconds per example, medians over the turns, and the median ratio to graphc's in
    the same precision and round."""
    own = {row["precision"]: row for row in rows if "peer" not in row}
    for row in rows:
        if row.get("compile_turns"):
            row["compile_s"] = statistics.median(row["compile_turns"])
        for what in ("train", "forward"):
            turns = row.get(f"{what}_turns")
            if not turns:
                continue
            row[f"{what}_ms"] = statistics.median(turns) / batch
            row[f"{what}_ms_min"] = min(turns) / batch
            row[f"{what}_ms_max"] = max(turns) / batch
            beside = own[row["precision"]].get(f"{what}_turns") or []
            if "peer" in row and beside:
                ratios = [mine / its for mine, its in zip(turns, beside)]
                row[f"{what}_ratio"] = statistics.median(ratios)
