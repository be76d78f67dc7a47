# SPDX-License-Identifier: Apache-2.0
# Sessions in Python: threads, interruptions, errors, options, files.
import os
import pathlib
import pickle
import signal
import tempfile
import threading
import time
import unittest

import numpy as np

import graphc
from graphc import f32, i32


def long_model(steps):
    """A graph that takes a while, and counts its runs."""
    model = graphc.Model("long")
    count = model.state("count", ())

    @model.graph("f")
    def f(inputs):
        h = graphc.State(inputs("h", f32, [64]))

        def body(step):
            h.value = graphc.tanh(h + 0.5)

        graphc.scan(steps, body)
        count.value = count + 1
        return h

    return model


class Parts(unittest.TestCase):
    def setUp(self):
        model = graphc.Model("sums")
        total = model.state("total", (2,))

        @model.graph("add")
        def add(inputs):
            x = inputs("x", f32, ["batch", 2])
            total.value = total + graphc.sum(x, 0)
            return {"total": total.value, "twice": x * 2}

        self.session = graphc.Session(model)

    def test_a_run_has_the_inputs_of_its_preparation(self):
        x = np.array([[1, 2]], "f4")
        run = self.session.prepare("add", x)
        x[:] = 100
        self.assertEqual(self.session.state("total").tolist(), [0, 0])
        self.session("add", [[10, 20]])
        run.start()
        total, twice = run.wait()
        self.assertEqual((total.tolist(), twice.tolist()), ([11, 22], [[2, 4]]))
        self.assertEqual(self.session.prepare("add", x=[[0, 1]]).wait()["total"].tolist(), [11, 23])

    def test_it_keeps_its_session(self):
        run = self.session.prepare("add", [[1, 2]])
        del self.session
        self.assertEqual(run.wait()["total"].tolist(), [1, 2])
        self.assertIs(run.wait()["total"], run.wait()["total"])

    def test_errors(self):
        first, second = (self.session.prepare("add", [[1, 2]]) for _ in range(2))
        with self.assertRaisesRegex(graphc.InputError, "another run has been prepared"):
            first.start()
        second.start()
        with self.assertRaisesRegex(graphc.InputError, "has started before"):
            second.start()
        with self.assertRaisesRegex(graphc.InputError, "batch,2"):
            self.session.prepare("add", [1, 2])


class Threads(unittest.TestCase):
    def test_the_interpreter_runs_while_compiled_code_runs(self):
        session = graphc.Session(long_model(1_000_000), threads=1)
        session("f", np.zeros(64))
        done, counted = threading.Event(), [0]

        def run():
            session("f", np.zeros(64))
            done.set()

        thread = threading.Thread(target=run)
        thread.start()
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.0005)
        thread.join()
        # With the lock held during the run this would be 0 or 1.
        self.assertGreater(counted[0], 5)

    def test_sessions_run_side_by_side_and_one_serves_one_thread(self):
        model = long_model(20_000)
        sessions = [graphc.Session(model, threads=1) for _ in range(3)]
        results, errors = [None] * 3, []

        def run(place):
            for _ in range(5):
                results[place] = sessions[place]("f", np.zeros(64))

        def share():
            try:
                while not errors:
                    sessions[0]("f", np.zeros(64))
            except graphc.InputError as error:
                errors.append(error)

        for target in (run, lambda _: share()):
            threads = [threading.Thread(target=target, args=(i,)) for i in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        for result in results:
            np.testing.assert_array_equal(result, results[0])
        self.assertIn("two threads at once", errors[0].message)

    def test_many_threads_trace_one_model(self):
        model = long_model(3)
        found = []

        def run(place):
            session = graphc.Session(model, threads=1)
            found.append(session("f", np.full(64, place)))
            self.assertEqual(len(model.params()), 0)

        threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), 8)

    def test_runners_share_a_graph(self):
        model = graphc.Model("m")
        layer = graphc.Linear(model, "layer", 3, 2)

        @model.graph("f")
        def f(inputs):
            return layer(inputs("x", f32, ["batch", 3]))

        session = graphc.Session(model)
        shared = graphc.SharedGraph(session, "f", [(f32, (1, 3))])
        x = np.ones((1, 3), "f4")
        wanted, found = session("f", x), []
        threads = [threading.Thread(target=lambda: found.append(shared.runner()(x)))
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), 4)
        for each in found:
            np.testing.assert_allclose(each, wanted, rtol=1e-6)


class Interruptions(unittest.TestCase):
    def test_ctrl_c_stops_between_steps_with_the_state_kept(self):
        # A shell without job control starts background commands with SIGINT ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        session = graphc.Session(long_model(100_000), threads=1)
        session("f", np.zeros(64))
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        runs = 1
        with self.assertRaises(KeyboardInterrupt):
            while True:
                session("f", np.zeros(64))
                runs += 1
        timer.join()
        # The step that ran when the key was pressed is whole, whether or not it was counted.
        self.assertIn(int(session.state("count")) - runs, (0, 1))
        session("f", np.zeros(64))


class Errors(unittest.TestCase):
    def test_kinds_are_classes(self):
        for kind, base, code in ((graphc.InputError, ValueError, 3),
                                 (graphc.UsageError, ValueError, 2),
                                 (graphc.ResourceError, OSError, 5),
                                 (graphc.CheckError, ArithmeticError, 4),
                                 (graphc.InternalError, RuntimeError, 1)):
            self.assertTrue(issubclass(kind, graphc.Error) and issubclass(kind, base))
            self.assertEqual(kind.exit_code, code)

    def test_an_error_has_the_users_line(self):
        model = graphc.Model("m")

        def helper(x):
            return graphc.concat([x, x @ x])  # the line at fault

        @model.graph("f")
        def f(inputs):
            return helper(inputs("x", f32, ["batch", 3]))

        session = graphc.Session(model)
        with self.assertRaises(graphc.InputError) as caught:
            session("f", np.zeros((2, 3)))
        error = caught.exception
        self.assertEqual((error.file, error.line), (__file__, helper.__code__.co_firstlineno + 1))
        self.assertEqual(error.message,
                         "matmul: inner dimensions differ: 3 and 2: found f32[2,3] and f32[2,3]")
        self.assertEqual(str(error), f"{error.file}:{error.line}: error: {error.message}")
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(again), str(again), again.line),
                         (type(error), str(error), error.line))
        with self.assertRaisesRegex(graphc.InputError, "'batch' is 2.*|extent 3 along axis 1"):
            session("f", np.zeros((2, 4)))
        with self.assertRaisesRegex(graphc.InputError, "did you mean 'f'|no graph"):
            session("g", 1)

    def test_errors_in_the_data_and_in_layers(self):
        model = graphc.Model("m")
        table = graphc.Embedding(model, "table", 4, 2)
        both = graphc.Bidirectional(graphc.Lstm, model, "both", 2, 3)

        @model.graph("rows")
        def rows(inputs):
            return table(inputs("i", i32, ["n"]))  # an index is found outside here

        @model.graph("layer")
        def layer(inputs):
            return both(inputs("x", f32, ["steps", "batch", 5]))

        session = graphc.Session(model)
        with self.assertRaises(graphc.InputError) as caught:
            session("rows", np.array([1, 7], "i4"))
        self.assertIn("index 7 at position 1", str(caught.exception))
        self.assertEqual(caught.exception.line, rows.__code__.co_firstlineno + 2)
        with self.assertRaises(graphc.InputError) as caught:
            session("layer", np.zeros((2, 2, 5)))
        # The line of the program, not one of the package's.
        self.assertEqual((caught.exception.file, caught.exception.line),
                         (__file__, layer.__code__.co_firstlineno + 2))

    def test_options(self):
        model = long_model(2)
        for options in ({"target": "cpo"}, {"precision": "f17"}, {"variant": "fusd"},
                        {"target": "reference", "precision": "bf16"}):
            with self.assertRaises(graphc.UsageError):
                graphc.Session(model, **options)
        for options in ({"threads": -1}, {"kept": 0}, {"cpu": "8086"}, {"unroll": "maybe"}):
            with self.assertRaises(graphc.Error):
                graphc.Session(model, **options)("f", np.zeros(64))
        with self.assertRaises(TypeError):
            graphc.Session(model, thread=1)
        with self.assertRaises(graphc.InputError):
            model.graph("g", 3)
        with self.assertRaisesRegex(graphc.InputError, "'training' or 'evaluation'"):
            model.graph("g", len, mode="train")

    def test_not_finite(self):
        model = graphc.Model("m")
        model.graph("f", lambda inputs: graphc.log(inputs("x", f32, [2])))
        session = graphc.Session(model, check_finite=True, announce=str)
        with self.assertRaises(graphc.CheckError) as caught:
            session("f", [1, -1])
        self.assertEqual(caught.exception.file, __file__)


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = str(pathlib.Path(self.folder.name) / "m.graphc")

    def network(self):
        model = graphc.Model("network")
        lstm, out = graphc.Lstm(model, "lstm", 2, 3), graphc.Linear(model, "out", 3, 1)

        def answer(inputs):
            return out(lstm(inputs("x", f32, ["steps", "batch", 2]))[-1])

        @model.graph("train", mode="training")
        def train(inputs):
            loss = graphc.mse(answer(inputs), inputs("y", f32, ["batch", 1]))
            graphc.minimize(loss, model.params(), graphc.Adam(0.01))
            return loss

        model.graph("predict", lambda inputs: {"answer": answer(inputs)})
        return model

    def test_a_model_file_runs_without_its_program(self):
        session = graphc.Session(self.network(), seed=2)
        x = np.random.default_rng(3).standard_normal((4, 1, 2)).astype("f4")
        session("train", x, [[1.0]])
        graphc.save(session, ["predict"], {"steps": 4, "batch": 1}, self.path)
        loaded = graphc.LoadedModel(self.path)
        self.assertEqual(loaded.graphs(), ["predict"])
        np.testing.assert_array_equal(loaded("predict", x), session("predict", x))
        np.testing.assert_array_equal(loaded("predict", x=x), session("predict", x))
        np.testing.assert_array_equal(loaded.session.state("lstm.w"), session.state("lstm.w"))
        with self.assertRaisesRegex(graphc.InputError, "No such file"):
            graphc.LoadedModel(self.path + "x")

    def test_a_training_goes_on(self):
        x, y = np.ones((3, 1, 2), "f4"), [[0.5]]
        first = graphc.Session(self.network(), seed=1)
        for _ in range(3):
            first("train", x, y)
        first.save(self.path, everything=True)
        wanted = [float(first("train", x, y)) for _ in range(3)]
        second = graphc.Session(self.network(), seed=9)
        report = second.load(self.path, loading="exact")
        self.assertIn("lstm.w", report["loaded"])
        self.assertEqual([float(second("train", x, y)) for _ in range(3)], wanted)
        with self.assertRaises(graphc.InputError):
            second.load(self.path, loading="some")
        with self.assertRaises(graphc.ResourceError):
            second.save("/nowhere/x")

    def test_the_graph_as_text_and_what_compiling_took(self):
        model = self.network()
        text = model.trace("predict", {"steps": 4, "batch": 1}, locations=True)
        self.assertIn("graph @predict (%x: f32[4,1,2])", text)
        self.assertIn("test_sessions.py:", text)
        self.assertIn("lstm", model.summary({"steps": 4, "batch": 1}))
        session = graphc.Session(model)
        report = session.compile("predict", (f32, (4, 1, 2)))
        self.assertGreater(report["seconds"], 0)
        self.assertIn("ms", session.profile("predict", np.zeros((4, 1, 2))))
        self.assertIn("predict", repr(model))

    def test_sizes_are_rounded_up(self):
        compiled = []
        model = graphc.Model("m")

        @model.graph("f")
        def f(inputs):
            x = inputs("x", f32, ["steps", 1])
            return graphc.mean_over_steps(graphc.reshape(x, (x.shape[0], 1, 1)),
                                          inputs.length("steps"))

        session = graphc.Session(model, round_up={"steps": 8}, announce=compiled.append)
        for steps in (3, 5, 8, 9):
            self.assertEqual(float(session("f", np.full((steps, 1), 2.0))), 2)
        self.assertEqual(len(compiled), 1)
        own = graphc.Session(model, round_up={"steps": lambda n: 2 * n}, announce=str)
        self.assertEqual(float(own("f", np.full((3, 1), 2.0))), 2)


if __name__ == "__main__":
    unittest.main()
