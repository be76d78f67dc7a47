# SPDX-License-Identifier: Apache-2.0
# What a notebook user looks at: representations, help, profiles, drawings, progress.
import io
import pathlib
import pydoc
import re
import shutil
import tempfile
import unittest

import numpy as np

import graphc
from graphc import f32


def network():
    model = graphc.Model("network")
    lstm, out = graphc.Lstm(model, "lstm", 2, 3), graphc.Linear(model, "out", 3, 1)
    model.graph("predict",
                lambda inputs: out(lstm(inputs("x", f32, ["steps", "batch", 2]))[-1]))
    return model


class Looking(unittest.TestCase):
    def test_a_profile_is_text_and_a_table(self):
        profile = graphc.Session(network()).profile("predict", np.zeros((4, 1, 2)))
        self.assertIsInstance(profile, graphc.Profile)
        self.assertIn("ms", profile)
        self.assertEqual(repr(profile), str(profile))
        self.assertGreaterEqual(len(profile.kernels), 2)
        for kernel in profile.kernels:
            self.assertEqual(set(kernel), {"name", "what", "file", "line", "calls", "seconds",
                                           "flop", "bytes"})
        self.assertGreater(profile.seconds, 0)
        html = profile._repr_html_()
        self.assertEqual(html.count("<tr>"), 1 + len(profile.kernels))
        self.assertIn("test_looking.py:", html)

    def test_a_graph_is_a_drawing(self):
        drawing = network().plot("predict", {"steps": 4, "batch": 1})
        self.assertIn("digraph", drawing.dot)
        self.assertIn("lstm", drawing.dot)
        self.assertIn("edges", repr(drawing))
        with tempfile.TemporaryDirectory() as folder:
            drawing.save(pathlib.Path(folder) / "g.dot")
            text = (pathlib.Path(folder) / "g.dot").read_text(encoding="utf-8")
            self.assertEqual(text, drawing.dot)
            if shutil.which("dot"):
                drawing.save(f"{folder}/g.svg")
                self.assertIn("<svg", pathlib.Path(f"{folder}/g.svg").read_text(encoding="utf-8"))
                self.assertIn("<svg", drawing._repr_svg_())
            else:
                self.assertIsNone(drawing._repr_svg_())
                with self.assertRaisesRegex(graphc.ResourceError, "dot of graphviz"):
                    drawing.svg()
        with self.assertRaisesRegex(graphc.InputError, ".svg or .dot"):
            drawing.save("g.png")
        with self.assertRaises(graphc.ResourceError):
            drawing.save("/nowhere/g.dot")

    def test_progress(self):
        file = io.StringIO()
        progress, seen = graphc.Progress([1, 2, 3], file=file, every=0), []
        for one in progress:
            seen.append(one)
            progress.show(loss=one / 2)
        self.assertEqual(seen, [1, 2, 3])
        last = file.getvalue().splitlines()[-1]
        self.assertIn("3/3", last)
        self.assertIn("loss 1.5", last)
        self.assertEqual(list(graphc.Progress(iter("ab"), file=io.StringIO())), ["a", "b"])

    def test_ctrl_c_ends_a_loop_with_progress(self):
        file, seen = io.StringIO(), []
        with self.assertRaises(KeyboardInterrupt):
            for one in graphc.Progress(range(5), file=file, every=0):
                seen.append(one)
                if one == 2:
                    raise KeyboardInterrupt
        self.assertEqual(seen, [0, 1, 2])
        self.assertIn("2/5", file.getvalue().splitlines()[-1])

    def test_every_object_says_what_it_is(self):
        model = network()
        session = graphc.Session(model)
        shared = graphc.SharedGraph(session, "predict", [(f32, (4, 1, 2))])
        for thing, words in ((model, "network.*predict"), (session, "network.*cpu"),
                             (model.params(), "lstm.w"), (shared, "SharedGraph"),
                             (model.params()[0], "lstm.w")):
            self.assertRegex(repr(thing), words)
        self.assertRegex(model.summary({"steps": 4, "batch": 1}), "lstm")

    def test_help_says_what_the_reference_says(self):
        for name in graphc.__all__:
            thing = getattr(graphc, name)
            if callable(thing):
                self.assertTrue(thing.__doc__, name)
        for name, words in (("tanh", "tanh"), ("scan", "save_every"), ("gather", "Rows of"),
                            ("Session", "remat"), ("Lstm", "sigmoid")):
            self.assertIn(words, pydoc.render_doc(getattr(graphc, name)), name)


class Ops(unittest.TestCase):
    def test_help_of_every_op_is_that_of_the_reference(self):
        path = pathlib.Path(__file__).resolve().parents[3] / "docs/ops.md"
        sections = re.split(r"^### (\w+)\n", path.read_text(encoding="utf-8"), flags=re.M)[1:]
        self.assertEqual(sorted(sections[::2]), sorted(graphc.ops.__all__))
        for name, section in zip(sections[::2], sections[1::2]):
            said = pydoc.render_doc(getattr(graphc.ops, name), renderer=pydoc.plaintext)
            words = " ".join(said.split())
            wanted = section.strip().split("\n")[0]
            self.assertIn(" ".join(wanted.split()), words, name)
            for one in re.findall(r"`(\w+)`", "".join(re.findall("Attributes: .*", section))):
                self.assertIn(f"{one}=None", words, name)
            for body in re.findall(r"^Defined as\n\n```\n(.*?)^```", section, re.M | re.S):
                self.assertIn(" ".join(body.split()), words, name)

    def test_ops_are_functions(self):
        model = graphc.Model("m")
        lstm = graphc.Lstm(model, "lstm", 2, 3)

        @model.graph("f")
        def f(inputs):
            x = inputs("x", f32, [4, 2, 2])
            zero = graphc.filled((2, 3), 0)
            ys, h, c = graphc.ops.lstm(x, zero, zero, lstm.w, lstm.u, lstm.b)
            back, _, _ = graphc.ops.lstm(x, zero, zero, lstm.w, lstm.u, lstm.b, reverse=True)
            return (ys, lstm(x), h, back, lstm(x, reverse=True), graphc.ops.sum(x, axes=[0, 2]),
                    graphc.ops.cast(x, dtype="i32"), graphc.ops.clip(x, low=0, high=0.5))

        x = np.random.default_rng(1).standard_normal((4, 2, 2)).astype("f4")
        found = graphc.Session(model, announce=str)("f", x)
        np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(found[2], found[0][-1])
        np.testing.assert_allclose(found[3], found[4], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found[5], x.sum((0, 2)), rtol=1e-5)
        np.testing.assert_array_equal(found[6], x.astype("i4"))
        np.testing.assert_array_equal(found[7], x.clip(0, 0.5))

    def test_errors_of_ops(self):
        def wrong(function, words):
            model = graphc.Model("m")
            model.graph("f", lambda inputs: function(inputs("x", f32, [4, 2])))
            with self.assertRaisesRegex(graphc.InputError, words) as caught:
                model.trace("f")
            self.assertEqual(caught.exception.file, __file__)

        wrong(lambda x: graphc.ops.sum(x, axis=[0]), "sum: wanted the attributes axes, keep: found "
              "an attribute 'axis'")
        wrong(lambda x: graphc.ops.tanh(x, x), "tanh: takes 1")
        wrong(lambda x: graphc.ops.tanh(), "tanh: takes at least one value")
        wrong(lambda x: graphc.ops.sum(x, axes=[5], keep=False), "sum")
        wrong(lambda x: graphc.ops.scan(x), "scan: it is made by graphc.scan")
        wrong(lambda x: graphc.ops.add(x, np.zeros(2)), "wanted")
        with self.assertRaisesRegex(AttributeError, "no op 'tanhh'.*docs/ops.md"):
            graphc.ops.tanhh


class Options(unittest.TestCase):
    def model(self, save_every=0):
        model = graphc.Model("m")
        u = model.param("u", (8, 8))

        @model.graph("train", mode="training")
        def train(inputs):
            x = inputs("x", f32, [32, 4, 8])
            h = graphc.State(graphc.filled((4, 8), 0))

            def step(x):
                h.value = graphc.tanh(x + h @ u)
                return h

            loss = graphc.mean(graphc.square(graphc.scan(x, step, save_every=save_every)))
            graphc.minimize(loss, model.params(), graphc.Sgd(0.1))
            return loss

        return model

    def test_what_is_kept_of_a_loop_changes_no_number(self):
        x = np.random.default_rng(1).standard_normal((32, 4, 8)).astype("f4")
        wanted = None
        for options, every in (({}, 0), ({"remat": "off"}, 0), ({"remat": 8}, 0), ({}, 8),
                               ({"memory": 1 << 20}, 0)):
            session = graphc.Session(self.model(every), seed=2, announce=str, **options)
            losses = [float(session("train", x)) for _ in range(3)]
            wanted = wanted or losses
            np.testing.assert_allclose(losses, wanted, rtol=1e-6, err_msg=str(options))
        self.assertIn("save_every = 8", self.model(8).trace("train"))
        with self.assertRaisesRegex(graphc.Error, "remat is auto"):
            graphc.Session(self.model(), remat="maybe")("train", x)

    def test_a_trace_of_events(self):
        with tempfile.TemporaryDirectory() as folder:
            session = graphc.Session(self.model(), trace=f"{folder}/t.json", announce=str)
            session("train", np.zeros((32, 4, 8)))
            del session
            self.assertIn("train", pathlib.Path(f"{folder}/t.json").read_text(encoding="utf-8"))
            with self.assertRaises(graphc.ResourceError):
                graphc.Session(self.model(), trace="/nowhere/t.json")


if __name__ == "__main__":
    unittest.main()
