# SPDX-License-Identifier: Apache-2.0
# The Python forms of the tour and of the examples print what the C++ programs print: the same
# graphs, names and losses, to the letter.
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

MODELS = pathlib.Path(__file__).resolve().parents[3] / "models"


def printed(*command, cwd=None):
    return subprocess.run([sys.executable, *command], check=True, text=True, cwd=cwd,
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

    def test_forecast(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "load.csv")
            rows = [f"{i},{50 + 20 * math.sin(i * .2618) + 8 * math.sin(i * .0374):.3f}"
                    for i in range(2000)]
            path.write_text("\n".join(["hour,load", *rows]) + "\n", encoding="utf-8")
            first, second = printed(MODELS / "examples/forecast.py", path, "load").splitlines()
        self.assertIn(first, wanted("examples/README.md",
                                    "example-forecast load.csv load").splitlines())
        self.assertLess(int(re.match(r"error (\d+) %", second)[1]), 60)

    def test_fit(self):
        with tempfile.TemporaryDirectory() as folder:
            found = [printed(MODELS / "examples/fit.py", *epochs, cwd=folder)
                     for epochs in (["3"], [])]
            self.assertIn("3 epochs, 60 steps; the best validation is 0", found[0])
            self.assertIn("12 epochs, 240 steps; the best validation is 0", found[1])
            curve = pathlib.Path(folder, "curve.csv").read_text(encoding="utf-8").splitlines()
        self.assertEqual(curve[0], "epoch,loss,validation")
        self.assertEqual(len(curve), 13)
        self.assertLess(float(curve[-1].split(",")[1]), 0.2 * float(curve[1].split(",")[1]))


if __name__ == "__main__":
    unittest.main()
