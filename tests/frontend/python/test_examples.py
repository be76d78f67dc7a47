# SPDX-License-Identifier: Apache-2.0
# The Python forms of the tour and of the examples print what the C++ programs print: the same
# graphs, names and losses, to the letter.
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

MODELS = pathlib.Path(__file__).resolve().parents[3] / "models"
#: Where the programs of C++ are, if they were built.
PROGRAMS = os.environ.get("GRAPHC_PROGRAMS", "")


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

    def test_tour_5(self):
        self.check_tour("5", "tour-05-passes")

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

    def test_weights_of_pytorch(self):
        golden = MODELS.parent / "tests/golden"
        files = [golden / f"pytorch_state{end}.safetensors" for end in ("", "_run")]
        found = printed(MODELS / "examples/pytorch_weights.py", *files)
        self.assertEqual(found, "29 arrays read\nPyTorch's numbers\n")

    def test_characters_stopped_and_resumed(self):
        program = MODELS / "examples/char_lm.py"
        with tempfile.TemporaryDirectory() as folder:
            text = pathlib.Path(folder, "numbers.txt")
            text.write_text("one two three four five\n" * 300, encoding="utf-8")
            one = printed(program, text, "one.safetensors", "60", cwd=folder)
            printed(program, text, "two.safetensors", "25", cwd=folder)
            self.assertEqual(printed(program, text, "two.safetensors", "35", cwd=folder), one)
        self.assertTrue(one.startswith("step 60  loss "), one)

    def test_first_program(self):
        program = MODELS / "examples/forecaster.py"
        with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as folder:
            wanted = printed(program, "train", "7", cwd=whole).splitlines()
            self.assertRegex(wanted[0], r"epoch 1: loss 0\.1\d+, validation 0\.0")
            printed(program, "train", "4", cwd=folder)
            found = printed(program, "train", "7", cwd=folder).splitlines()
            # Stopped and resumed it is the same, to the last digit.
            self.assertEqual(found, ["goes on after epoch 4", *wanted[4:]])
            said = printed(program, "predict", cwd=folder).splitlines()
        self.assertRegex(said[0], r"the next hour: -0\.\d+; forty hours ahead within 0\.")
        self.assertEqual(said[1].split()[-1], said[0].split(";")[0].split()[-1])

    @unittest.skipUnless(PROGRAMS, "no programs of C++: GRAPHC_PROGRAMS names their folder")
    def test_files_are_those_of_cpp(self):
        with tempfile.TemporaryDirectory() as folder:
            text = pathlib.Path(folder, "numbers.txt")
            text.write_text("one two three four five\n" * 300, encoding="utf-8")
            ours = (sys.executable, MODELS / "examples/char_lm.py")
            theirs = (pathlib.Path(PROGRAMS or ".", "example-char-lm"),)
            losses = set()
            for first, second in ((ours, theirs), (theirs, ours), (ours, ours), (theirs, theirs)):
                state = f"{len(losses)}{first is ours}{second is ours}.safetensors"
                for program, steps in ((first, "20"), (second, "15")):
                    done = subprocess.run([*program, text, state, steps], cwd=folder, check=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                losses.add(done.stdout)
            # Each goes on where the other stopped, to the same digits.
            self.assertEqual(len(losses), 1, losses)

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
