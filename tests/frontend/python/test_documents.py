# SPDX-License-Identifier: Apache-2.0
# docs/python.md and the Python of README.md run from top to bottom.
import contextlib
import io
import os
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]


def python_of(path):
    """The Python of a document; blank lines for all others, so that lines keep their numbers."""
    inside, lines = False, []
    for line in path.read_text(encoding="utf-8").splitlines():
        if re.match(r"```", line):
            inside = line == "```python"
            line = ""
        lines.append(line if inside else "")
    return "\n".join(lines)


class Documents(unittest.TestCase):
    def check(self, name):
        path = ROOT / name
        code = python_of(path)
        self.assertGreater(len(code.split()), 30)
        before, printed = os.getcwd(), io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                with contextlib.redirect_stdout(printed):
                    exec(compile(code, str(path), "exec"), {"__name__": name})
            finally:
                os.chdir(before)
        return printed.getvalue()

    def test_python_md(self):
        printed = self.check("docs/python.md")
        for words in ("loss ", "float16", "inner dimensions differ", "python.md:"):
            self.assertIn(words, printed)

    def test_readme(self):
        self.check("README.md")


if __name__ == "__main__":
    sys.exit(unittest.main())
