# SPDX-License-Identifier: Apache-2.0
# The Python forms of the tour and of the examples print what the C++ programs print: the same
# graphs, names and losses, to the letter.
import pathlib
import re
import subprocess
import sys
import unittest

MODELS = pathlib.Path(__file__).resolve().parents[3] / "models"


def printed(*command):
    return subprocess.run([sys.executable, *command], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def wanted(document, program):
    """What a document says that a program of C++ prints."""
    text = (MODELS / document).read_text(encoding="utf-8")
    return re.search(rf"^\$ {program}\n(.*?)^```", text, re.M | re.S)[1]


class Examples(unittest.TestCase):
    def check_tour(self, number, program, but=""):
        found = printed(MODELS / "tour/tour.py", number)
        text = wanted("tour/README.md", program)
        self.assertIn(but, text)
        self.assertEqual(found, text.replace(but, "", 1))

    def test_tour_1(self):
        self.check_tour("1", "tour-01-graph", "read back it is the same\n")

    def test_tour_2(self):
        text = wanted("tour/README.md", "tour-02-gradients")
        # What the passes make of the graph.
        second = text.index("graph @train", 10)
        self.check_tour("2", "tour-02-gradients", text[second:text.index("step   0")])

    def test_tour_3(self):
        self.check_tour("3", "tour-03-scan")

    def test_tour_4(self):
        self.check_tour("4", "tour-04-language-model")

    def test_examples(self):
        for name in ("own_cell", "lengths", "seq2seq"):
            text = wanted("examples/README.md", f"example-{name.replace('_', '-')}")
            found = printed(MODELS / f"examples/{name}.py")
            for line in found.splitlines():
                self.assertIn(line, text.splitlines(), name)
            self.assertNotIn("not learnt", found)
            self.assertIn("right", found)


if __name__ == "__main__":
    unittest.main()
