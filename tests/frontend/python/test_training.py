# SPDX-License-Identifier: Apache-2.0
# fit and its parts, tables, and groups of parameters.
import math
import os
import pathlib
import signal
import tempfile
import unittest

import numpy as np

import graphc
from graphc import f32

rng = np.random.default_rng(11)
X = rng.standard_normal((64, 3)).astype("f4")
Y = (X @ [[0.5], [-1], [2]] + 0.25).astype("f4")


def line(optimizer=lambda rate: graphc.Sgd(rate)):
    """A model of a line, and a session with it."""
    model = graphc.Model("line")
    layer = graphc.Linear(model, "layer", 3, 1)

    def loss_of(inputs):
        return graphc.mse(layer(inputs("x", f32, ["batch", 3])), inputs("y", f32, ["batch", 1]))

    @model.graph("train", mode="training")
    def train(inputs):
        loss = loss_of(inputs)
        graphc.minimize(loss, model.params(), optimizer(inputs("rate", f32, [])))
        return loss

    model.graph("validate", loss_of)
    return graphc.Session(model, seed=3, announce=str)


def inputs_of(samples):
    return X[samples], Y[samples], 0.05


def validate_of(session):
    batches = graphc.in_batches(range(48, 64), 5)
    return lambda: graphc.mean_loss(session, "validate", batches, lambda some: (X[some], Y[some]))


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)


class Fit(InFolder):
    def fit(self, session, **options):
        return graphc.fit(session, inputs_of, **{"samples": 48, "batch": 8, "progress": False,
                                                 **options})

    def test_it_trains(self):
        session, steps, epochs = line(), [], []
        report = self.fit(session, epochs=8, validate=validate_of(session),
                          after_step=steps.append, after_epoch=epochs.append)
        self.assertEqual((report.epochs, report.steps), (8, 48))
        self.assertEqual((report.stopped, report.gave_up), (False, False))
        self.assertEqual([one.step for one in steps], list(range(1, 49)))
        self.assertEqual([(one.epoch, one.done, one.steps) for one in steps[5:8]],
                         [(0, 6, 6), (1, 1, 6), (1, 2, 6)])
        self.assertEqual([one.epoch for one in epochs], list(range(8)))
        self.assertLess(epochs[-1].validation, 0.1 * epochs[0].validation)
        self.assertAlmostEqual(report.validation, validate_of(session)(), 6)
        self.assertEqual(report.best, min(one.validation for one in epochs))
        # The loss of an epoch is the mean over its samples.
        self.assertAlmostEqual(epochs[2].loss, np.mean([one.loss for one in steps[12:18]]), 6)
        self.assertIn("8 epochs", repr(report))

    def test_it_is_the_same_as_a_loop_by_hand(self):
        session, by_hand = line(), line()
        self.fit(session, epochs=3)
        for epoch in range(3):
            for samples in graphc.in_batches(graphc.shuffled(48, 3, epoch), 8):
                by_hand("train", *inputs_of(samples))
        for name in ("layer.w", "layer.b"):
            self.assertTrue((session.state(name) == by_hand.state(name)).all())

    def test_an_order_of_ones_own(self):
        session, seen = line(), []

        def inputs(samples):
            seen.append(samples.tolist())
            return inputs_of(samples)

        graphc.fit(session, inputs, order=lambda epoch: [[epoch, 1], np.array([2, 3, 4])], epochs=2,
                   progress=False)
        self.assertEqual(seen, [[0, 1], [2, 3, 4], [1, 1], [2, 3, 4]])

    def test_stopped_and_resumed_it_gives_the_same(self):
        whole = line()
        files = {"curve": "whole.csv", "best": "whole.safetensors"}
        report = self.fit(whole, epochs=6, validate=validate_of(whole), **files)
        files = {"curve": "parts.csv", "best": "parts.safetensors",
                 "checkpoint": "last.safetensors", "checkpoint_every": 4}
        for at in (9, 20, None):
            session, done = line(), []
            report_of_part = self.fit(
                session, epochs=6, validate=validate_of(session), after_step=done.append,
                stop=lambda: at is not None and done[-1].step == at, **files)
            self.assertEqual(report_of_part.stopped, at is not None)
        self.assertEqual((report_of_part.steps, report_of_part.best), (report.steps, report.best))
        for a, b in (("whole.csv", "parts.csv"), ("whole.safetensors", "parts.safetensors")):
            self.assertEqual(pathlib.Path(a).read_bytes(), pathlib.Path(b).read_bytes())

    def test_inputs_are_asked_for_ahead(self):
        sessions, calls = [line(), line()], []

        def inputs(samples):
            calls.append("inputs")
            if calls.count("inputs") == 9:
                raise LookupError("no more samples")
            return inputs_of(samples)

        for session, prefetch in zip(sessions, (False, True)):
            calls.clear()
            with self.assertRaisesRegex(LookupError, "no more samples"):
                graphc.fit(session, inputs, samples=48, batch=8, epochs=3, progress=False,
                           prefetch=prefetch, after_step=lambda step: calls.append(step.step))
            self.assertEqual(calls[:4], ["inputs", "inputs", 1, "inputs"] if prefetch else
                             ["inputs", 1, "inputs", 2])
        self.assertEqual(self.fit(sessions[0], epochs=3).steps, 18)
        self.assertEqual(self.fit(sessions[1], epochs=3, prefetch=True).steps, 18)
        self.assertTrue((sessions[0].state("layer.w") == sessions[1].state("layer.w")).all())

    def test_patience(self):
        session = line()
        measured = iter([3, 2, 5, 4, 4.5, 0, 0])
        report = self.fit(session, epochs=7, validate=lambda: next(measured), patience=3)
        self.assertEqual((report.epochs, report.gave_up, report.best), (5, True, 2))

    def test_ctrl_c_stops_between_steps(self):
        signal.signal(signal.SIGINT, signal.default_int_handler)  # as in test_sessions.py
        session, done = line(), []

        def after_step(step):
            done.append(session.state("layer.w").copy())
            if step.step == 5:
                os.kill(os.getpid(), signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            self.fit(session, epochs=3, after_step=after_step)
        self.assertEqual(len(done), 5)
        self.assertTrue((session.state("layer.w") == done[-1]).all())
        self.assertEqual(self.fit(session, epochs=3).steps, 18)

    def test_exceptions_of_functions_come_through(self):
        class Mine(Exception):
            pass

        def fail(*_):
            raise Mine("no")

        for options in ({"after_step": fail}, {"after_epoch": fail}, {"validate": fail},
                        {"order": fail}, {"stop": fail}):
            with self.assertRaisesRegex(Mine, "no"):
                self.fit(line(), **options)
        with self.assertRaisesRegex(Mine, "no"):
            graphc.fit(line(), fail, samples=4, progress=False)

    def test_what_is_given(self):
        session = line()
        for words, call in (
                ("fit: inputs: wanted a function of sample numbers: found int",
                 lambda: graphc.fit(session, 3, samples=4)),
                ("samples", lambda: graphc.fit(session, inputs_of)),
                ("wanted a list of batches",
                 lambda: self.fit(session, order=lambda epoch: 5)),
                ("wanted sample numbers: found str",
                 lambda: self.fit(session, order=lambda epoch: [["a"]])),
                ("input 0: wanted numbers", lambda: graphc.fit(
                    session, lambda samples: ("x", Y[samples], 0.1), samples=4, progress=False)),
                ("threshold", lambda: self.fit(session, threshold=2, validate=lambda: 1))):
            with self.assertRaisesRegex(graphc.Error, words) as caught:
                call()
            self.assertEqual(pathlib.Path(caught.exception.file).name, "test_training.py", words)


class Parts(InFolder):
    def test_orders(self):
        order = graphc.shuffled(10, 1, 2)
        self.assertEqual(sorted(order), list(range(10)))
        self.assertEqual(order.dtype, np.int64)
        self.assertEqual([len(batch) for batch in graphc.in_batches(order, 4)], [4, 4, 2])
        lengths = rng.integers(1, 50, 20)
        for batch in graphc.batches_by_length(graphc.shuffled(20, 1, 0), lengths, 5):
            others = np.setdiff1d(np.arange(20), batch)
            inside = (lengths[others] > lengths[batch].min()) & \
                (lengths[others] < lengths[batch].max())
            self.assertFalse(inside.any())

    def test_numbers_that_are_kept(self):
        session = line()
        epoch = graphc.KeptCounter(session, "epoch")
        stopping = graphc.EarlyStopping(session, patience=2)
        plateau = graphc.Plateau(session, 0.1, factor=0.5, patience=0)
        best = graphc.BestCheckpoint(session, "best.safetensors")
        last = graphc.LastCheckpoint(session, "last.safetensors")
        self.assertFalse(last.resume())
        self.assertFalse(best.restore())
        self.assertTrue(math.isnan(stopping.best))
        session("train", *inputs_of(np.arange(8)))
        kept = session.state("layer.w")
        for measured in (2.0, 1.0, 1.5):
            best.observe(measured)
            stopping.observe(measured)
            plateau.observe(measured)
            epoch.value += 1
            if measured == 1.0:
                kept = session.state("layer.w")
            session("train", *inputs_of(np.arange(8)))
        self.assertEqual((int(epoch), stopping.waited, stopping.best, best.best), (3, 1, 1, 1))
        self.assertFalse(stopping.stops())
        self.assertEqual(plateau.rate, 0.05)
        last.save()
        self.assertTrue(best.restore())
        self.assertTrue((session.state("layer.w") == kept).all())

        other = line()
        parts = (graphc.KeptCounter(other, "epoch"), graphc.EarlyStopping(other, patience=2),
                 graphc.Plateau(other, 0.1, factor=0.5, patience=0),
                 graphc.BestCheckpoint(other, "best.safetensors"))
        self.assertTrue(graphc.LastCheckpoint(other, "last.safetensors").resume())
        self.assertEqual((parts[0].value, parts[1].waited, parts[2].rate, parts[3].best),
                         (3, 1, 0.05, 1))
        with self.assertRaisesRegex(graphc.InputError, "epoch"):
            graphc.KeptCounter(other, "epoch")

    def test_curves(self):
        curve = graphc.Curve("curve.csv", ["epoch", "loss"])
        curve.add([1, 0.5])
        graphc.Curve("curve.csv", ["epoch", "loss"]).add([2, math.nan])
        self.assertEqual(pathlib.Path("curve.csv").read_text(), "epoch,loss\n1,0.5\n2,\n")
        curve.draw("curve.svg")
        self.assertIn("<svg", pathlib.Path("curve.svg").read_text())
        with self.assertRaises(graphc.InputError):
            curve.add([1])
        board = graphc.TensorBoard("board")
        board.add(1, {"loss": 0.5})
        [file] = pathlib.Path("board").iterdir()
        self.assertIn(b"loss", file.read_bytes())


class Tables(InFolder):
    def test_columns(self):
        pathlib.Path("t.csv").write_text(
            "time;load;site\n2024-01-01;1,5;a\n2024-01-02;;b\n2024-01-03;2,5;a\n")
        table = graphc.read_table("t.csv", ["load", "time:date", "site:category"],
                                  missing="previous")
        self.assertEqual((len(table), table.rows), (3, 3))
        self.assertEqual([(one.name, one.kind) for one in table.columns],
                         [("load", "number"), ("time", "date"), ("site", "category")])
        self.assertEqual(table["load"].values.tolist(), [1.5, 1.5, 2.5])
        self.assertEqual(table["site"].values.tolist(), [0, 1, 0])
        self.assertEqual(table["site"].categories, ["a", "b"])
        self.assertEqual(np.diff(table["time"].values).tolist(), [86400, 86400])
        self.assertEqual(table.f32(["load", "site"]).tolist(), [[1.5, 0], [1.5, 1], [2.5, 0]])
        self.assertEqual(table.f32(["load"]).dtype, np.float32)
        self.assertTrue(any("missing" in remark for remark in table.remarks), table.remarks)
        self.assertIn("3 rows of load, time, site", repr(table))
        masked = graphc.read_table("t.csv", ["load"], missing="mask")
        self.assertEqual(masked.known().tolist(), [[1], [0], [1]])
        self.assertTrue(math.isnan(masked["load"].values[1]))

    def test_errors(self):
        pathlib.Path("t.csv").write_text("a,b\n1,2\n3,\n")
        for words, kind, call in (
                ("t.csv:3", graphc.InputError, lambda: graphc.read_table("t.csv", ["b"])),
                ("no column", graphc.InputError, lambda: graphc.read_table("t.csv", ["c"])),
                ("found 'perhaps'", graphc.UsageError,
                 lambda: graphc.read_table("t.csv", missing="perhaps")),
                ("decimal: wanted '.' or ',': found ';'", graphc.InputError,
                 lambda: graphc.read_table("t.csv", decimal=";"))):
            with self.assertRaisesRegex(kind, words):
                call()
        # A column lives longer than its table.
        column = graphc.read_table("t.csv", ["a"])["a"]
        self.assertEqual(column.values.tolist(), [1, 3])


class Groups(unittest.TestCase):
    def trained(self, update):
        model = graphc.Model("groups")
        a, b = (model.param(name, 3, graphc.constant(1)) for name in "ab")

        @model.graph("train", mode="training")
        def train(inputs):
            x = inputs("x", f32, [3])
            loss = graphc.sum(a * x) + graphc.sum(b * b * x)
            update(loss, a, b)
            return loss

        session = graphc.Session(model, announce=str)
        session("train", [1, 2, 2])
        return session.state("a"), session.state("b")

    def test_each_has_its_optimizer(self):
        a, b = self.trained(lambda loss, a, b: graphc.minimize(
            loss, [([a], graphc.Sgd(0.1)), ([b], graphc.Sgd(0.01))]))
        np.testing.assert_allclose(a, 1 - 0.1 * np.array([1, 2, 2]), rtol=1e-6)
        np.testing.assert_allclose(b, 1 - 0.01 * np.array([2, 4, 4]), rtol=1e-6)

    def test_clipping_is_over_all(self):
        # The gradients are [1, 2, 2] and [2, 4, 4]: norms 3 and 6, together sqrt(45).
        a, b = self.trained(lambda loss, a, b: graphc.minimize(
            loss, [([a], graphc.Sgd(1)), ([b], graphc.Sgd(1))], clip_norm=1))
        np.testing.assert_allclose(a, 1 - np.array([1, 2, 2]) / math.sqrt(45), rtol=1e-5)
        np.testing.assert_allclose(b, 1 - np.array([2, 4, 4]) / math.sqrt(45), rtol=1e-5)
        a, _ = self.trained(lambda loss, a, b: graphc.minimize(
            loss, [([a], graphc.Sgd(1)), ([b], graphc.Sgd(1))], clip_value=1.5))
        np.testing.assert_allclose(a, [0, -0.5, -0.5], rtol=1e-6)

    def test_an_optimizer_of_python(self):
        class Mine:
            def update(self, params, gradients):
                for param, gradient in zip(params, gradients):
                    param.value = param - 0.5 * gradient

        a, _ = self.trained(lambda loss, a, b: graphc.minimize(
            loss, [([a], Mine()), ([b], graphc.Sgd(1))]))
        np.testing.assert_allclose(a, 1 - 0.5 * np.array([1, 2, 2]), rtol=1e-6)

    def test_errors(self):
        for words, update in (
                ("wanted parameters and an optimizer, or a list of groups",
                 lambda loss, a, b: graphc.minimize(loss, [a, b])),
                ("wanted an optimizer, such as Adam..: found",
                 lambda loss, a, b: graphc.minimize(loss, [([a], graphc.Sgd)])),
                ("'?a'?", lambda loss, a, b: graphc.minimize(
                    loss, [([a], graphc.Sgd()), ([a, b], graphc.Sgd())]))):
            with self.assertRaisesRegex(graphc.InputError, words):
                self.trained(update)


if __name__ == "__main__":
    unittest.main()
