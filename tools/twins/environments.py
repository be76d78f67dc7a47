# SPDX-License-Identifier: Apache-2.0
# The peers' virtual environments, and a peer's process in one of them.
"""Each peer has an environment of its own, so that none decides the versions of another's needs."""
import json
import os
import pathlib
import selectors
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MARK = "peers.txt"  # what was installed, when that was finished


class Absent(Exception):
    """A peer that cannot be had or has ended, with the reason."""


def default_folder():
    """Below the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "graphc" / "peers"


def last_line(text):
    """The last line of a program's messages that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["no reason given"])[-1].removeprefix("ERROR: ")[:160]


def listed(packages):
    """What MARK begins with in an environment that has the packages."""
    return "\n".join(packages) + "\n"


def installed(folder, name, packages):
    """Whether a peer's environment is there with these packages."""
    mark = folder / name / MARK
    return mark.exists() and mark.read_text(encoding="utf-8").startswith(listed(packages))


def environment(folder, name, packages, say, install=True):
    """The Python of a peer's environment, made and filled where it is not there, unless nothing is
    to be installed. Raises Absent."""
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
    """A worker that is held from turn to turn."""

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
        """The next line. Raises Absent after the limit, or where the process has ended."""
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
        """The answer to a request. Between two the process is stopped, so that its idle threads
        take nothing from whoever's turn it is. Raises Absent."""
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
