# SPDX-License-Identifier: Apache-2.0
# The exceptions of graphc, a class for each kind, and where its messages go.
"""The exceptions of graphc: whose fault it is, where, what was found and what was wanted."""

import sys


class Error(Exception):
    """What graphc raises. Its text is `<file>:<line>: error: <message>` and notes.

    file and line are those of the user's program, or of a text of graphs; None if there are none.
    """

    #: What the command-line tools exit with.
    exit_code = 1

    def __init__(self, text, message="", file=None, line=None, notes=()):
        super().__init__(text)
        self.message = message or text
        self.file = file
        self.line = line
        self.notes = list(notes)

    def __reduce__(self):
        return type(self), (str(self), self.message, self.file, self.line, self.notes)


class InternalError(Error, RuntimeError):
    """A defect of graphc: please report it."""


class UsageError(Error, ValueError):
    """An option that there is not, or not there."""

    exit_code = 2


class InputError(Error, ValueError):
    """The program or its input is not what it should be."""

    exit_code = 3


class CheckError(Error, ArithmeticError):
    """A check that failed: a number that is not finite."""

    exit_code = 4


class ResourceError(Error, OSError):
    """Disk, memory, device or permission."""

    exit_code = 5

    def __init__(self, text, message="", file=None, line=None, notes=()):
        Error.__init__(self, text, message, file, line, notes)

    def __str__(self):
        return self.args[0]


def announce(line):
    """Writes a message of a session to sys.stderr; without one it is lost."""
    if sys.stderr is not None:
        print(line, file=sys.stderr)
