# SPDX-License-Identifier: Apache-2.0
# Arrays in the memory of a GPU: a real one, or that which GRAPHC_CUDA_LIBRARIES emulates.
import copy
import gc
import unittest

import numpy as np

import graphc
from graphc import f32, i32


def model_of(function):
    model = graphc.Model("m")
    model.graph("f", function)
    return model


def product(inputs):
    x, y = inputs("x", f32, ["a", "b"]), inputs("y", f32, ["b", "c"])
    return {"p": graphc.tanh(x @ y), "s": graphc.sum(x)}


class OnAGpu(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(1)
        self.x = rng.standard_normal((4, 8), dtype="f4")
        self.y = rng.standard_normal((8, 5), dtype="f4")

    def test_results_stay_where_inputs_are(self):
        session = graphc.Session(model_of(product), target="cuda", announce=str)
        x = graphc.to_device(self.x)
        self.assertEqual(repr(x), "<graphc.DeviceArray f32[4,8] on GPU 0>")
        self.assertEqual((x.shape, x.dtype, x.device), ((4, 8), f32, 0))
        np.testing.assert_array_equal(x.numpy(), self.x)
        on_host = session("f", self.x, self.y)
        for found in (session("f", x, graphc.to_device(self.y)), session("f", x, self.y),
                      session("f", self.x, graphc.to_device(self.y)), session("f", y=self.y, x=x)):
            self.assertIsInstance(found["p"], graphc.DeviceArray)
            self.assertEqual(found.names, ("p", "s"))
            np.testing.assert_array_equal(found["p"].numpy(), on_host["p"])
            self.assertEqual(float(found["s"]), float(on_host["s"]))
            self.assertAlmostEqual(found["s"].item(), float(self.x.sum()), 4)

    def test_results_are_inputs_and_outlive_everything(self):
        session = graphc.Session(model_of(product), target="cuda", announce=str)
        found = session("f", graphc.to_device(self.x), self.y)["p"]
        again = session("f", graphc.to_device(self.y.T.copy()), graphc.to_device(self.x.T.copy()))
        wanted = session("f", found, np.ones((5, 1), "f4"))["p"].numpy()
        np.testing.assert_allclose(wanted[:, 0], np.tanh(found.numpy().sum(1)), rtol=1e-5)
        kept = found.numpy()
        del session, again
        gc.collect()
        np.testing.assert_array_equal(found.numpy(), kept)

    def test_dlpack(self):
        """Another library's array is asked for in the default stream, ours gives a capsule."""
        inner = graphc.to_device(self.x)
        asked = []

        class Theirs:
            def __dlpack_device__(self):
                return inner.__dlpack_device__()

            def __dlpack__(self, *, stream=None):
                asked.append(stream)
                return inner.__dlpack__(stream=stream)

        session = graphc.Session(model_of(product), target="cuda", announce=str)
        found = session("f", Theirs(), self.y)
        self.assertEqual(asked, [1])
        self.assertEqual(found["p"].__dlpack_device__(), (2, 0))
        for capsule in (found["p"].__dlpack__(), found["p"].__dlpack__(stream=2),
                        found["p"].__dlpack__(max_version=(1, 1))):
            self.assertIn("dltensor", repr(capsule))

    def test_what_cannot_be_is_said(self):
        on_cpu = graphc.Session(model_of(product), target="cpu", announce=str)
        x, y = graphc.to_device(self.x), graphc.to_device(self.y)
        with self.assertRaisesRegex(graphc.InputError, "is computed in the host's memory"):
            on_cpu("f", x, self.y)
        session = graphc.Session(model_of(product), target="cuda", announce=str)
        with self.assertRaisesRegex(graphc.InputError, "'b' is 8 in an input before: found f32.4"):
            session("f", x, x)
        with self.assertRaisesRegex(graphc.ResourceError, "no GPU 7"):
            graphc.to_device(self.x, 7)
        with self.assertRaisesRegex(graphc.InputError, "check_finite"):
            graphc.Session(model_of(product), target="cuda", check_finite=True, announce=str)(
                "f", x, y)
        with self.assertRaisesRegex(graphc.InputError, "round_up"):
            graphc.Session(model_of(product), target="cuda", round_up={"a": 8}, announce=str)(
                "f", x, y)
        wide = graphc.to_device(np.array([1, 2], "i8"))
        looked = graphc.Session(model_of(lambda inputs: inputs("i", i32, [2]) + 1), target="cuda",
                                announce=str)
        with self.assertRaisesRegex(graphc.InputError, r"i32\[2\].*found i64\[2\]"):
            looked("f", wide)

    def test_numpy_answers_for_a_copy(self):
        """As for an array of the host: what a program does with a result stays what it is."""
        x, same = graphc.to_device(self.x), graphc.to_device(graphc.to_device(self.x))
        self.assertTrue(np.array_equal(x, same) and (x == same).all() and (x == self.x).all())
        self.assertFalse((x != same).any())
        np.testing.assert_allclose(np.tanh(x), np.tanh(self.x))
        with self.assertRaisesRegex(ValueError, "ambiguous"):
            bool(x)
        self.assertEqual(len(x), 4)
        one = graphc.to_device(np.float32(0.5))
        self.assertTrue(one and one == 0.5 and one < 1 and one >= 0.5 and 0.25 < one)
        self.assertFalse(graphc.to_device(False))
        self.assertEqual((f"{one:.3f}", int(one), float(one), one.item()), ("0.500", 0, 0.5, 0.5))
        self.assertIs(copy.deepcopy([one])[0], one)
        np.testing.assert_array_equal(self.x + x, 2 * self.x)

    def test_producers_that_answer_nonsense(self):
        class Nonsense:
            def __init__(self, device):
                self.device = device

            def __dlpack_device__(self):
                return self.device

            def __dlpack__(self, **named):
                raise KeyError("of mine")

        session = graphc.Session(model_of(product), target="cuda", announce=str)
        for device in ("cuda", (), (None, 0), None):
            with self.assertRaisesRegex(graphc.InputError, "wanted .kind, number.: found"):
                session("f", Nonsense(device), self.y)
        with self.assertRaisesRegex(KeyError, "of mine"):
            session("f", Nonsense((2, 0)), self.y)

    def test_which_gpu(self):
        model = model_of(product)
        for target, device, words in (("cpu", 0, "target 'cpu' has none"),
                                      ("cuda", -2, "wanted a GPU from 0 on")):
            with self.assertRaisesRegex(graphc.UsageError, words):
                graphc.Session(model, target=target, device=device, announce=str)

    def test_training_leaves_its_states_on_the_gpu(self):
        def trained(place):
            model = graphc.Model("line")
            layer = graphc.Linear(model, "layer", 8, 1)

            @model.graph("train", mode="training")
            def train(inputs):
                x = inputs("x", f32, ["batch", 8])
                loss = graphc.mse(layer(x), inputs("y", f32, ["batch", 1]))
                graphc.minimize(loss, model.params(), graphc.Adam(rate=0.1))
                return loss

            session = graphc.Session(model, target="cuda", seed=3, announce=str)
            x, y = place(self.x), place(self.x[:, :1].copy())
            losses = [float(session("train", x, y)) for _ in range(5)]
            return losses, session.state("layer.w")

        losses, weights = trained(graphc.to_device)
        wanted, wanted_weights = trained(lambda array: array)
        self.assertEqual(losses, wanted)
        np.testing.assert_array_equal(weights, wanted_weights)

    def test_lengths_are_checked_on_the_gpu(self):
        def summed(inputs):
            xs = inputs("xs", f32, ["steps", "batch", 2])
            h = graphc.State(graphc.filled((xs.shape[1], 2), 0), "h")

            def step(x):
                h.value = h + x
                return h

            return graphc.scan(xs, step, lengths=inputs("n", i32, ["batch"]))

        session = graphc.Session(model_of(summed), target="cuda", announce=str)
        xs = np.ones((3, 2, 2), "f4")
        n = np.array([3, 1], "i4")
        found = session("f", graphc.to_device(xs), graphc.to_device(n)).numpy()
        np.testing.assert_array_equal(found, session("f", xs, n))
        with self.assertRaisesRegex(graphc.InputError, "row 1 has 4 steps: wanted 0 to 3"):
            session("f", graphc.to_device(xs), graphc.to_device(np.array([3, 4], "i4")))


if __name__ == "__main__":
    unittest.main()
