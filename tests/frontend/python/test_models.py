# SPDX-License-Identifier: Apache-2.0
# Models in Python: equations, loops, states, layers, training; against NumPy.
import unittest

import numpy as np

import graphc
from graphc import f32, i32

rng = np.random.default_rng(5)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def run(function, *arrays, target="cpu", **options):
    """The results of a graph whose inputs are declared like these arrays."""
    model = graphc.Model("test")

    @model.graph("f")
    def f(inputs):
        return function(*[inputs(f"x{i}", a.dtype, a.shape) for i, a in enumerate(arrays)])

    return graphc.Session(model, target=target, announce=str, **options)("f", *arrays)


class Equations(unittest.TestCase):
    def setUp(self):
        self.a = rng.standard_normal((3, 4)).astype("f4")
        self.b = rng.standard_normal((3, 4)).astype("f4")

    def check(self, function, by_numpy, *arrays):
        arrays = arrays or (self.a, self.b)
        np.testing.assert_allclose(run(function, *arrays), by_numpy(*arrays), rtol=2e-5, atol=1e-6)

    def test_operators_are_those_of_numpy(self):
        for f in (lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b,
                  lambda a, b: 2 - a, lambda a, b: 2 / (b * b + 1), lambda a, b: 3 + a * 2,
                  lambda a, b: a - 1, lambda a, b: -a, lambda a, b: +a, lambda a, b: abs(a),
                  lambda a, b: (b * b + 1) ** a, lambda a, b: 2 ** a, lambda a, b: a ** 2,
                  lambda a, b: np.float32(1.5) * a, lambda a, b: a * np.int64(2)):
            self.check(f, f)

    def test_comparisons_and_logic(self):
        for f in (lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a > b, lambda a, b: a >= b,
                  lambda a, b: a == b, lambda a, b: a != b, lambda a, b: (a < 0) & (b < 0),
                  lambda a, b: (a < 0) | (b < 0), lambda a, b: (a < 0) ^ (b < 0),
                  lambda a, b: ~(a < b), lambda a, b: 0 < a):
            found = run(f, self.a, self.b)
            self.assertEqual(found.dtype, np.bool_)
            np.testing.assert_array_equal(found, f(self.a, self.b))

    def test_products_and_broadcasting(self):
        c = rng.standard_normal((4, 2)).astype("f4")
        row = rng.standard_normal(4).astype("f4")
        self.check(lambda a, c: a @ c, lambda a, c: a @ c, self.a, c)
        self.check(lambda a, row: a * row + row, lambda a, row: a * row + row, self.a, row)
        self.check(lambda a, row: a[:, None, :] * row, lambda a, row: a[:, None, :] * row, self.a,
                   row)
        self.check(lambda a, c: graphc.einsum("ij,jk->ki", [a, c]),
                   lambda a, c: np.einsum("ij,jk->ki", a, c), self.a, c)

    def test_indices_are_those_of_numpy(self):
        x = rng.standard_normal((4, 5, 6)).astype("f4")
        for index in (0, -1, slice(1, 3), slice(None, -1), (slice(None), 2), (..., -1),
                      (0, ..., slice(2, 4)), (None, 1), (slice(None, None, -1),), (..., None),
                      (1, 2, 3), (slice(2, 100), slice(-3, None)), (..., slice(1, 2), None),
                      (slice(3, 1),), (slice(None, 1, -1), ..., 0), (Ellipsis,)):
            found = run(lambda x: x[index] + 0, x)
            np.testing.assert_array_equal(found, x[index], err_msg=str(index))

    def test_rows_are_gathered_by_a_value(self):
        places = np.array([[2, 0], [1, 1]], dtype="i4")
        np.testing.assert_array_equal(run(lambda a, i: a[i], self.a, places), self.a[places])

    def test_what_numpy_has_and_values_have_not_is_an_error(self):
        for wrong in (lambda a, b: a[::2], lambda a, b: a[[0, 1]], lambda a, b: a[5],
                      lambda a, b: a[0, 0, 0], lambda a, b: a[..., ...], lambda a, b: a["x"],
                      lambda a, b: a if a < b else b, lambda a, b: a + "x",
                      lambda a, b: a + True, lambda a, b: a + np.ones((3, 4), "f4"),
                      lambda a, b: graphc.concat(a), lambda a, b: graphc.concat([a, 1]),
                      lambda a, b: graphc.tanh(1.0), lambda a, b: np.ones(4, "f4") * a):
            with self.assertRaises(graphc.InputError) as caught:
                run(wrong, self.a, self.b)
            self.assertEqual(caught.exception.file, __file__)
            self.assertEqual(caught.exception.line, wrong.__code__.co_firstlineno)

    def test_functions(self):
        for name in ("exp", "tanh", "sin", "cos", "square", "floor", "ceil", "sign", "expm1"):
            self.check(lambda a: getattr(graphc, name)(a), lambda a: getattr(np, name)(a), self.a)
        self.check(graphc.sigmoid, sigmoid, self.a)
        self.check(lambda a, b: graphc.maximum(a, 0.5), lambda a, b: np.maximum(a, 0.5))
        self.check(lambda a, b: graphc.select(a < b, a, 0), lambda a, b: np.where(a < b, a, 0))
        self.check(lambda a: graphc.clip(a, -0.5, 0.5), lambda a: np.clip(a, -0.5, 0.5), self.a)
        for name in ("sum", "mean", "max", "min", "prod"):
            for axes in (None, 0, -1, (0, 1)):
                self.check(lambda a: getattr(graphc, name)(a, axes),
                           lambda a: getattr(np, name)(a, axis=axes), self.a)
        self.check(lambda a: graphc.sum(a, 1, keep=True), lambda a: a.sum(1, keepdims=True), self.a)
        self.check(lambda a: graphc.transpose(a, (1, 0)), np.transpose, self.a)
        self.check(lambda a: graphc.reshape(a, (2, -1)), lambda a: a.reshape(2, -1), self.a)
        self.check(lambda a, b: graphc.concat([a, b], 1), lambda a, b: np.concatenate([a, b], 1))
        self.check(lambda a, b: graphc.stack([a, b]), lambda a, b: np.stack([a, b]))
        self.check(lambda a: graphc.cumsum(a, 1), lambda a: np.cumsum(a, 1), self.a)
        self.check(lambda a: graphc.pad(a, (1, 0), (0, 2), 9),
                   lambda a: np.pad(a, ((1, 0), (0, 2)), constant_values=9), self.a)
        self.check(lambda a: graphc.softmax(a) + graphc.literal([1., 2., 3., 4.]),
                   lambda a: np.exp(a) / np.exp(a).sum(1, keepdims=True) + [1, 2, 3, 4], self.a)
        self.check(lambda a: graphc.iota((3, 4), 1, f32) + graphc.filled((3, 1), 2) + a * 0,
                   lambda a: np.broadcast_to(np.arange(4) + 2, (3, 4)), self.a)


class Loops(unittest.TestCase):
    def test_a_cell_is_a_function_traced_once(self):
        x = rng.standard_normal((7, 2, 3)).astype("f4")
        w = rng.standard_normal((3, 4)).astype("f4")
        calls = []

        def f(x, w):
            h = graphc.State(graphc.filled((2, 4), 0), "h")

            def cell(x_t):
                calls.append(x_t)
                h.value = graphc.tanh(x_t @ w + h)
                return h, graphc.sum(h.value, 1)

            ys, sums = graphc.scan(x, cell)
            return {"ys": ys, "sums": sums, "last": h}

        out = run(f, x, w)
        h, ys = np.zeros((2, 4)), []
        for step in x:
            h = np.tanh(step @ w + h)
            ys.append(h)
        self.assertEqual(len(calls), 1)
        self.assertEqual(out.names, ("ys", "sums", "last"))
        np.testing.assert_allclose(out["ys"], ys, atol=1e-5)
        np.testing.assert_allclose(out["sums"], np.sum(ys, 2), atol=1e-5)
        np.testing.assert_allclose(out["last"], ys[-1], atol=1e-5)
        with self.assertRaisesRegex(graphc.InputError, "no result is called 'y'"):
            out["y"]

    def test_streams_steps_lengths_and_reverse(self):
        x = rng.standard_normal((5, 2)).astype("f4")
        n = np.array([3, 5], dtype="i4")

        def sums(x, n, **options):
            total = graphc.State(graphc.filled(2, 0))

            def body(x_t):
                total.value += x_t
                return total

            return graphc.scan(x, body, **options)

        valid = np.arange(5)[:, None] < n
        np.testing.assert_allclose(run(lambda x, n: sums(x, n, lengths=n), x, n),
                                   np.cumsum(x * valid, 0) * valid, atol=1e-6)
        np.testing.assert_allclose(run(lambda x, n: sums(x, n, reverse=True), x, n),
                                   np.cumsum(x[::-1], 0)[::-1], atol=1e-6)

        def counted(x, n):
            return graphc.scan(4, lambda step: graphc.cast(step, f32) + x[0])

        np.testing.assert_allclose(run(counted, x, n), np.arange(4)[:, None] + x[0])
        both = run(lambda x, n: graphc.scan([x, x], lambda a, b: [a + b, a * b]), x, n)
        np.testing.assert_allclose(both[0], 2 * x)
        np.testing.assert_allclose(both[1], x * x)

    def test_an_error_in_a_body_is_pythons_own_and_leaves_the_model_usable(self):
        model = graphc.Model("m")
        wrong, lines = [True], []

        @model.graph("f")
        def f(inputs):
            def body(x):
                if wrong[0]:
                    raise KeyError("of the user")
                return x * 2

            return graphc.scan(inputs("x", f32, ["steps", 2]), body)

        session = graphc.Session(model, announce=lines.append)
        with self.assertRaisesRegex(KeyError, "of the user"):
            session("f", np.ones((3, 2)))
        wrong[0] = False
        np.testing.assert_array_equal(session("f", np.ones((3, 2))), 2 * np.ones((3, 2)))
        # What a session has to say goes to the program, or to sys.stderr.
        self.assertIn(f"{__file__}:{f.__code__.co_firstlineno + 7}: remark: ", lines[0])


class States(unittest.TestCase):
    def test_a_state_is_kept_and_assigned(self):
        model = graphc.Model("m")
        total = model.state("total", 3)
        count = model.state("count", (), graphc.i64, graphc.constant(5))

        @model.graph("add")
        def add(inputs):
            total.value = total + inputs("x", f32, [3])
            count.assign(count + 1)
            return total, count

        session = graphc.Session(model)
        session("add", [1, 2, 3])
        sums, counted = session("add", [1, 2, 3])
        np.testing.assert_array_equal(sums, [2, 4, 6])
        self.assertEqual(int(counted), 7)
        session.set_state("total", [10, 20, 30])
        np.testing.assert_array_equal(session("add", x=[1, 1, 1])[0], [11, 21, 31])
        session.reset("total")
        np.testing.assert_array_equal(session.state("total"), [0, 0, 0])

    def test_a_state_is_changed_in_place(self):
        def f(x):
            h = graphc.State(x)
            same = h
            h += 2
            h *= x
            h -= 1
            h /= 2
            h.value += 1
            self.assertIs(h, same)
            return h

        x = np.array([1, 2], "f4")
        np.testing.assert_allclose(run(f, x), ((x + 2) * x - 1) / 2 + 1)

    def test_an_input_may_have_any_name(self):
        model = graphc.Model("m")
        model.graph("f", lambda inputs: inputs("graph", f32, [1]) - inputs("self", f32, [1]))
        self.assertEqual(graphc.Session(model)("f", **{"graph": [3], "self": [1]}), 2)

    def test_a_star_leaves_pythons_own_functions(self):
        names = {}
        exec("from graphc import *", names)
        self.assertNotIn("sum", names)
        self.assertIs(names["tanh"], graphc.tanh)

    def test_values_do_not_outlive_their_trace(self):
        model = graphc.Model("m")
        kept = []

        @model.graph("f")
        def f(inputs):
            kept.extend([inputs, inputs("x", f32, [2])])
            return kept[-1]

        graphc.Session(model)("f", [1, 2])
        inputs, value = kept
        for use in (lambda: value + 1, lambda: value.shape, lambda: inputs("y", f32, [1]),
                    lambda: inputs.training, lambda: graphc.filled(2, 1),
                    lambda: graphc.State(value)):
            with self.assertRaises(graphc.InputError):
                use()
        self.assertIn("ended", repr(value))


class Training(unittest.TestCase):
    def test_every_layer_and_optimizer(self):
        x = rng.standard_normal((6, 4, 3)).astype("f4")
        y = rng.standard_normal((4, 2)).astype("f4")
        optimizers = (graphc.Sgd(0.1, clip_norm=5), graphc.Momentum(0.05, nesterov=True),
                      graphc.Rmsprop(0.01), graphc.Adagrad(0.1),
                      graphc.Adam(rate=0.01, weight_decay=0.01))
        stacks = (lambda m: graphc.Lstm(m, "layer", 3, 8), lambda m: graphc.Gru(m, "layer", 3, 8),
                  lambda m: graphc.Rnn(m, "layer", 3, 8, weights=graphc.normal(0.3)),
                  lambda m: graphc.Bidirectional(graphc.Gru, m, "layer", 3, 4),
                  lambda m: graphc.Stacked(graphc.Lstm, m, "layer", 2, 3, 8, rate=0.1))
        for optimizer, layers in zip(optimizers, stacks):
            model = graphc.Model("m")
            layer, out = layers(model), graphc.Linear(model, "out", 8, 2)
            norm = graphc.LayerNorm(model, "norm", 8)

            @model.graph("train", mode="training")
            def train(inputs):
                xs, t = inputs("x", f32, ["steps", "batch", 3]), inputs("y", f32, ["batch", 2])
                loss = graphc.mse(out(norm(layer(xs)[-1])), t)
                graphc.minimize(loss, model.params(), optimizer)
                return loss

            session = graphc.Session(model, seed=3)
            losses = [float(session("train", x, y)) for _ in range(40)]
            self.assertLess(losses[-1], 0.8 * losses[0])

    def test_an_optimizer_of_ones_own(self):
        class Signs:
            def update(self, params, gradients):
                for param, gradient in zip(params, gradients):
                    count = graphc.slot(param, "count")
                    count.value = count + 1
                    param.value = param - 0.25 * graphc.sign(gradient)

        model = graphc.Model("m")
        w = model.param("w", 2, graphc.constant(1))

        @model.graph("train", mode="training")
        def train(inputs):
            loss = graphc.sum(w * inputs("x", f32, [2]))
            return graphc.minimize(loss, model.params(), Signs())

        session = graphc.Session(model)
        np.testing.assert_array_equal(session("train", [3, -4]), [3, -4])
        np.testing.assert_array_equal(session.state("w"), [0.75, 1.25])
        np.testing.assert_array_equal(session.state("w.count"), [1, 1])

    def test_initializers_params_and_gradients(self):
        model = graphc.Model("m")

        def twos(key, shape, dtype):
            return graphc.filled(shape, 2, dtype)

        a = model.param("a.w", (2, 3), twos)
        model.param("b.w", (3,), graphc.parts([graphc.zeros(), graphc.constant(1), twos]))
        params = model.params()
        self.assertEqual(len(params), 2)
        self.assertEqual([p.name for p in params], ["a.w", "b.w"])
        self.assertEqual([p.name for p in params.without("a")], ["b.w"])
        self.assertEqual([p.name for p in params.only(a)], ["a.w"])
        self.assertEqual(model.parameter_count(), 9)

        @model.graph("f")
        def f(inputs):
            x = inputs("x", f32, [1, 2])
            return graphc.gradients(graphc.sum(x @ a * params[1]), [a, x])

        session = graphc.Session(model)
        da, dx = session("f", [[1, 10]])
        np.testing.assert_array_equal(session.state("b.w"), [0, 1, 2])
        np.testing.assert_array_equal(da, [[0, 1, 2], [0, 10, 20]])
        np.testing.assert_array_equal(dx, [[6, 6]])

    def test_accumulation_and_clipping(self):
        model = graphc.Model("m")
        w = model.param("w", 2, graphc.constant(1))
        sums = graphc.Accumulator()

        @model.graph("add", mode="training")
        def add(inputs):
            sums.add(model.params(), graphc.gradients(graphc.sum(w * inputs("x", f32, [2])), [w]))

        @model.graph("update", mode="training")
        def update(inputs):
            gradients = sums.take(model.params())
            graphc.Sgd(1.0).update(model.params(), gradients)
            return (graphc.clip_by_norm(gradients, 1), graphc.clip_by_value(gradients, 3.5),
                    graphc.clip_by_global_norm(gradients, 2.5), graphc.global_norm(gradients))

        def flat(inputs):
            return [x[0] if isinstance(x, list) else x for x in update(inputs)]

        model.graph("flat", flat, mode="training")
        session = graphc.Session(model, announce=str)
        session("add", [2, 4])
        session("add", [4, 4])
        found = session("flat")
        np.testing.assert_allclose(found[0], [0.6, 0.8], rtol=1e-6)
        np.testing.assert_allclose(found[1], [3, 3.5])
        np.testing.assert_allclose(found[2], [1.5, 2], rtol=1e-6)
        self.assertEqual(float(found[3]), 5)
        np.testing.assert_array_equal(session.state("w"), [-2, -3])

    def test_rows_of_equal_index_are_merged(self):
        places, rows = np.array([2, 0, 2], "i4"), np.array([[1], [2], [4]], "f4")
        found = run(lambda i, r: graphc.merge_rows(i, r), places, rows)
        np.testing.assert_array_equal(found[0][:2], [0, 2])
        np.testing.assert_array_equal(found[1][:2], [[2], [5]])

    def test_embedding_dropout_and_labels(self):
        model = graphc.Model("m")
        table = graphc.Embedding(model, "table", 5, 4)
        drop = graphc.Dropout(rate=0.5)

        @model.graph("loss", mode="training")
        def loss(inputs):
            labels = inputs("labels", i32, ["n"])
            dropped = drop(graphc.filled((1000,), 1))
            return graphc.cross_entropy(table(labels), graphc.minimum(labels, 3), ignore=3), dropped

        losses, dropped = graphc.Session(model)("loss", np.array([0, 4, 3], "i4"))
        self.assertEqual(losses[1], 0)
        self.assertTrue(set(np.unique(dropped)) == {0, 2} and 400 < (dropped == 2).sum() < 600)


if __name__ == "__main__":
    unittest.main()
