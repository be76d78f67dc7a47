# SPDX-License-Identifier: Apache-2.0
# What a notebook shows: times of kernels as a table, graphs as drawings, progress as a bar.
"""Profiles, drawings and progress."""

import html
import os
import shutil
import subprocess
import sys
import time

from .errors import InputError, ResourceError


class Profile(str):
    """The times of the kernels of a run: text with a line per kernel, a table in a notebook.

    `kernels` has a dict for each, in the order of their starts: name, what, file, line, calls,
    seconds, flop, bytes.
    """

    def __new__(cls, text, kernels):
        self = super().__new__(cls, text)
        self.kernels = kernels
        return self

    @property
    def seconds(self):
        """The time of all kernels."""
        return sum(kernel["seconds"] for kernel in self.kernels)

    def __repr__(self):
        return str(self)

    def _repr_html_(self):
        rows, whole = [], self.seconds or 1
        for one in sorted(self.kernels, key=lambda kernel: -kernel["seconds"]):
            rate = one["flop"] / one["seconds"] / 1e9 if one["seconds"] and one["flop"] else None
            where = f"{os.path.basename(one['file'])}:{one['line']}" if one["file"] else ""
            cells = [f"{100 * one['seconds'] / whole:.1f} %", f"{1e3 * one['seconds']:.3f}",
                     one["calls"], f"{rate:.0f}" if rate else "", f"{one['name']} ({one['what']})",
                     where]
            rows.append("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in cells)
                        + "</tr>")
        names = ("share", "ms", "calls", "GFLOP/s", "kernel", "line")
        head = "".join(f"<th>{name}</th>" for name in names)
        return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


class Drawing:
    """A graph as a drawing by graphviz. A notebook shows it; save() writes it to a file."""

    def __init__(self, dot):
        #: The drawing in graphviz's language.
        self.dot = dot

    def svg(self):
        """The drawing as SVG. ResourceError without the program dot of graphviz."""
        program = shutil.which("dot")
        if program is None:
            raise ResourceError("plot: wanted the program dot of graphviz: found none on PATH; "
                                "the drawing as text is in .dot")
        done = subprocess.run([program, "-Tsvg"], input=self.dot, text=True, capture_output=True,
                              check=False)
        if done.returncode != 0:
            raise ResourceError(f"plot: dot failed: {done.stderr.strip()}")
        return done.stdout

    def save(self, path):
        """Writes .svg, or .dot, which needs no program."""
        ending = os.path.splitext(os.fspath(path))[1]
        if ending not in (".svg", ".dot"):
            raise InputError(f"plot: wanted a file .svg or .dot: found '{path}'")
        text = self.svg() if ending == ".svg" else self.dot
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise ResourceError(f"plot: {error}") from error

    def _repr_svg_(self):
        return self.svg() if shutil.which("dot") else None

    def __repr__(self):
        return f"<graphc.Drawing of {self.dot.count('->')} edges>"


class Progress:
    """A bar on sys.stderr over the steps of a training; an occasional line where it is no terminal.

        for x, y in graphc.Progress(batches):
            loss = session("train", x, y)

    `show(loss=...)` adds figures. Ctrl-C ends the loop by KeyboardInterrupt between two steps.
    """

    def __init__(self, steps, total=None, *, file=None, every=None):
        self.steps = steps
        self.total = total if total is not None else getattr(steps, "__len__", lambda: None)()
        self.file = file if file is not None else sys.stderr
        self.done = 0
        self._figures = ""
        self._terminal = bool(self.file) and self.file.isatty()
        self._every = every if every is not None else (0.1 if self._terminal else 2.0)
        self._begun = self._shown = time.monotonic()

    def __len__(self):
        return len(self.steps)

    def __iter__(self):
        try:
            for one in self.steps:
                yield one
                self.done += 1
                if time.monotonic() - self._shown >= self._every:
                    self._write()
        finally:
            if self.done:
                self._write()
            if self._terminal:
                self.file.write("\n")

    def show(self, **figures):
        """Figures to show beside the bar."""
        self._figures = "".join(f"   {name} {float(value):.4g}" for name, value in figures.items())

    def _write(self):
        if self.file is None:
            return
        self._shown = time.monotonic()
        rate = self.done / max(self._shown - self._begun, 1e-9)
        text = f"{self.done}{f'/{self.total}' if self.total else ''}"
        if self._terminal and self.total:
            filled = 30 * self.done // self.total
            text = f"[{'#' * filled}{'.' * (30 - filled)}] {text}"
        text += f"   {rate:.3g} steps/s{self._figures}"
        self.file.write(f"\r\x1b[K{text}" if self._terminal else f"{text}\n")
        self.file.flush()
