# SPDX-License-Identifier: Apache-2.0
# The peers' virtual environments, and a peer's process in one of them.
"""Each peer has its own environment, so that the version requirements of different peers do not
conflict."""
import json
import os
import pathlib
import selectors
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MARK = "peers.txt"  # lists the packages once they are installed


class Absent(Exception):
    """A peer that is unavailable or has ended, with the reason."""


def default_folder():
    """The default folder, in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "graphc" / "peers"


def last_line(text):
    """The last significant line of a program's messages."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["no reason given"])[-1].removeprefix("ERROR: ")[:160]


def listed(packages):
    """The beginning of MARK in an environment with these packages."""
    return "\n".join(packages) + "\n"


def installed(folder, name, packages):
    """Whether a peer's environment exists with these packages."""
    mark = folder / name / MARK
    return mark.exists() and mark.read_text(encoding="utf-8").startswith(listed(packages))


def environment(folder, name, packages, say, install=True):
    """The Python of a peer's environment, which is created and filled if missing, unless installing
    is disabled. Raises Absent."""
    place = folder / name
    python = place / "bin" / "python"
    if installed(folder, name, packages):
        return python
    if not install:
        raise Absent("not installed")
    say(f"{name}: installing {' '.join(packages)} into {place}")
    for command in (
        [sys.executable, "-m", "venv", place],
        [python, "-m", "pip", "install", "--quiet", *packages],
    ):
        try:
            ran = subprocess.run(
                list(map(str, command)), capture_output=True, text=True, check=False
            )
        except OSError as error:
            raise Absent(f"not installed: {error}") from error
        if ran.returncode != 0:
            raise Absent(f"not installed: {last_line(ran.stderr or ran.stdout)}")
    frozen = [str(python), "-m", "pip", "freeze"]
    record = subprocess.run(frozen, capture_output=True, text=True, check=False).stdout
    (place / MARK).write_text(listed(packages) + "\n" + record, encoding="utf-8")
    return python


class Process:
    """A worker process that is paused between turns."""

    def __init__(self, python, module, threads, limit):
        variables = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS=str(threads))
        self.limit = limit
        self.process = subprocess.Popen(
            [str(python), str(HERE / "worker.py"), module, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=variables,
        )
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)
        self.answer()
        self.process.send_signal(signal.SIGSTOP)

    def answer(self):
        """The next line. Raises Absent after the time limit, or if the process has ended."""
        if not self.selector.select(self.limit):
            self.end()
            raise Absent(f"stopped after {self.limit:g} s")
        line = self.process.stdout.readline()
        if not line:
            raise Absent(f"ended with exit code {self.process.wait()}")
        found = json.loads(line)
        if "error" in found:
            raise Absent(found["error"])
        return found

    def ask(self, **request):
        """The answer to a request. The process is stopped between requests, so that its idle
        threads do not slow down others. Raises Absent."""
        try:
            self.process.send_signal(signal.SIGCONT)
            self.process.stdin.write((json.dumps(request) + "\n").encode())
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError) as error:
            raise Absent("has ended") from error
        try:
            return self.answer()
        finally:
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGSTOP)

    def end(self):
        """Ends the process."""
        self.process.kill()
        self.process.wait()
