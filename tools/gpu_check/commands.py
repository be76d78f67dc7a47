# SPDX-License-Identifier: Apache-2.0
# Runs a program with a time limit.
import collections
import os
import signal
import subprocess
import time

Ran = collections.namedtuple("Ran", "code out err seconds timed_out")


def run(command, seconds, environment=None, text=""):
    """The result of a command. After so many seconds it is terminated with its children."""
    begun = time.monotonic()
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(text.encode(), timeout=max(seconds, 0.1))
        timed_out = False
    except subprocess.TimeoutExpired:
        end(process)
        out, err = process.communicate()
        timed_out = True
    except BaseException:  # a signal to gpu-check itself
        end(process)
        process.wait()
        raise
    return Ran(
        process.returncode,
        out.decode(errors="replace"),
        err.decode(errors="replace"),
        time.monotonic() - begun,
        timed_out,
    )


def end(process):
    """Terminates a process and its children, which have a session of their own."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def last_lines(text, count=6):
    """The end of a program's output, as a reason."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return " | ".join(lines[-count:])[-800:]
