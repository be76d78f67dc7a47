# SPDX-License-Identifier: Apache-2.0
# The command line of tools/roofline.
"""Exit codes are graphc's: 2 the command line, 3 the contents of a file, 5 an output that cannot be
written."""
import argparse
import math
import os
import pathlib
import signal
import sys
import tempfile

from picture import MOST_PROFILES, draw
from reading import Unusable, read_bandwidths, read_profiles, roofs_of

INPUT, RESOURCE = 3, 5
DESCRIPTION = (
    "Draws the kernels of `graphc-bench MODEL --profile --json=PROFILE` as points, GFLOP/s over"
    " FLOP for each byte of their operands, under the machine's roofs: its multiply-add peak, and"
    " how fast it reads, as `graphc-bench --bandwidth --json=FILE` has it. A point's area is the"
    " kernel's share of its call."
)


def above_zero(text):
    """A number from the command line."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < math.inf:
        raise argparse.ArgumentTypeError(f"wanted a number above 0: found '{text}'")
    return found


def whole(text):
    """A non-negative integer."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"wanted a whole number from 0: found '{text}'")
    return int(text)


def parser():
    """The options."""
    found = argparse.ArgumentParser(prog="roofline", description=DESCRIPTION)
    found.add_argument("profiles", nargs="+", metavar="PROFILE", help="what --profile --json wrote")
    found.add_argument("--bandwidth", metavar="FILE", help="what --bandwidth --json wrote")
    found.add_argument("--memory", type=above_zero, metavar="GB/s", help="in place of that file's")
    found.add_argument("--cache", type=above_zero, metavar="GB/s", help="of the shared cache")
    found.add_argument("--peak", type=above_zero, metavar="GFLOP/s", help="in place of a profile's")
    found.add_argument("--call", choices=("train", "forward"), help="the calls of this kind alone")
    found.add_argument("--labels", type=whole, default=8, help="for so many kernels at most (8)")
    found.add_argument("--title", default="Kernels against the machine's limits")
    found.add_argument("--output", default="-", metavar="FILE", help="else stdout")
    return found


def write(path, text):
    """Writes a file atomically. Raises OSError."""
    if path == "-":
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except OSError:
            # Otherwise Python would try to write the buffered rest at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise
        return
    place = pathlib.Path(path)
    if place.exists() and not place.is_file():
        raise OSError("not a regular file")
    number, temporary = tempfile.mkstemp(prefix=place.name + ".", suffix=".tmp", dir=place.parent)
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, place.stat().st_mode & 0o777 if place.exists() else 0o666 & ~mask)
        os.replace(temporary, place)
    except BaseException:
        os.unlink(temporary)
        raise


def picture_of(options):
    """The text of the picture. Raises Unusable."""
    profiles = [each for path in options.profiles for each in read_profiles(path)]
    profiles = [each for each in profiles if options.call in (None, each.call)]
    if not profiles:
        raise Unusable(f"no profile of the call '{options.call}' in {', '.join(options.profiles)}")
    if len(profiles) > MOST_PROFILES:
        raise Unusable(
            f"{len(profiles)} profiles: a picture has room for {MOST_PROFILES}; --call chooses"
        )
    measured = read_bandwidths(options.bandwidth) if options.bandwidth else None
    roofs = roofs_of(profiles, measured, options)
    return draw(options.title, profiles, roofs, options.labels)


def say(message):
    """Prints an error on one line, whatever names it contains."""
    words = "".join(each if each.isprintable() else "?" for each in str(message))
    print(f"roofline: {words}", file=sys.stderr)


def stop(number, frame):
    """Makes SIGTERM leave no partial file."""
    del frame
    raise SystemExit(128 + number)


def main(arguments):
    """Runs the program; returns the exit code."""
    own = parser()
    options = own.parse_args(arguments)
    if options.bandwidth is None and options.memory is None:
        own.error("wanted --bandwidth=FILE or --memory=GB/s: without one there is no roof")
    signal.signal(signal.SIGTERM, stop)
    try:
        text = picture_of(options)
    except Unusable as error:
        say(error)
        return INPUT
    try:
        write(options.output, text)
    except OSError as error:
        say(f"'{options.output}': {error.strerror or error}")
        return RESOURCE
    return 0
