# SPDX-License-Identifier: Apache-2.0
# Runs a program with a limit of time.
import collections
import os
import signal
import subprocess
import time

Ran = collections.namedtuple("Ran", "code out err seconds timed_out")


def run(command, seconds, environment=None, text=""):
    """What came of a command. One that is not done after so many seconds is ended, with what it
    has started."""
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
    """Ends a process and its children: they have a session of their own."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def last_lines(text, count=6):
    """The end of what a program said, as a reason."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return " | ".join(lines[-count:])[-800:]
