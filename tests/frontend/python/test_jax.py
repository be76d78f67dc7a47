# SPDX-License-Identifier: Apache-2.0
# Cells in JAX: the numbers and gradients of the same loop as jax.lax.scan.
import gc
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

try:
    import jax
except ImportError:
    print("skipped: test_jax.py, which wants jax")
    sys.exit(0)

import jax.numpy as jnp
import numpy as np
from jax.test_util import check_grads

import graphc
import graphc.jax
from test_arrays import allocated, resident_kib


def gate(x, h, w, u, b):
    f, g = graphc.split(x @ w + h @ u + b, 2)
    f = graphc.sigmoid(f)
    return f * h + (1 - f) * graphc.tanh(g)


def gate_in_jax(x, h, w, u, b):
    f, g = jnp.split(x @ w + h @ u + b, 2, axis=-1)
    f = jax.nn.sigmoid(f)
    return f * h + (1 - f) * jnp.tanh(g)


def lstm(x, h, c, w, u):
    i, f, g, o = graphc.split(x @ w + h @ u, 4)
    c = graphc.sigmoid(f) * c + graphc.sigmoid(i) * graphc.tanh(g)
    return graphc.sigmoid(o) * graphc.tanh(c), c


def lstm_in_jax(x, h, c, w, u):
    i, f, g, o = jnp.split(x @ w + h @ u, 4, axis=-1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(c), c


def scaled(x, h, w, gain):
    return gain * graphc.layer_norm(h + x @ w)


def scaled_in_jax(x, h, w, gain):
    z = h + x @ w
    mean, variance = z.mean(-1, keepdims=True), z.var(-1, keepdims=True)
    return gain * (z - mean) / jnp.sqrt(variance + 1e-5)


#: A cell, the same in JAX, its states, and the shapes of its parameters for input 3 and hidden 4.
CELLS = {"gate": (gate, gate_in_jax, 1, [(3, 8), (4, 8), (8,)]),
         "lstm": (lstm, lstm_in_jax, 2, [(3, 16), (4, 16)]),
         "scaled": (scaled, scaled_in_jax, 1, [(3, 4), (4,)])}


def arrays(name, steps=5, batch=2, dtype="f4"):
    generator = np.random.default_rng(len(name))
    shapes = [(steps, batch, 3)] + [(batch, 4)] * CELLS[name][2] + CELLS[name][3]
    return [jnp.asarray(generator.standard_normal(shape), dtype) for shape in shapes]


def loop(function, count):
    """The cell as jax.lax.scan."""
    def run(xs, *rest):
        parameters = rest[count:]

        def step(states, x):
            found = function(x, *states, *parameters)
            states = found if isinstance(found, tuple) else (found,)
            return states, states[0]

        last, ys = jax.lax.scan(step, tuple(rest[:count]), xs)
        return ys, *last
    return run


def weighed(function):
    """A scalar that depends on every element of the results."""
    def loss(*inputs):
        return sum((one * jnp.linspace(-1, 1, one.size, dtype=one.dtype).reshape(one.shape)).sum()
                   for one in function(*inputs))
    return loss


class Cells(unittest.TestCase):
    def close(self, found, wanted, rtol=1e-4, atol=1e-5, msg=""):
        found, wanted = jax.tree.leaves(found), jax.tree.leaves(wanted)
        self.assertEqual(len(found), len(wanted))
        for a, b in zip(found, wanted):
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=msg)

    def test_numbers_and_gradients_are_those_of_scan(self):
        for name, (function, in_jax, states, _) in CELLS.items():
            ours, theirs = graphc.jax.cell(function, states=states), loop(in_jax, states)
            for steps, batch in ((5, 2), (1, 3), (17, 1)):
                given = arrays(name, steps, batch)
                self.close(ours(*given), theirs(*given), msg=name)
                every = tuple(range(len(given)))
                wanted = jax.grad(weighed(theirs), every)(*given)
                for transform in (lambda one: one, jax.jit):
                    found = transform(jax.grad(weighed(ours), every))(*given)
                    self.close(found, wanted, 1e-3, 1e-4, name)

    def test_some_gradients(self):
        ours, theirs = graphc.jax.cell(gate), loop(gate_in_jax, 1)
        given = arrays("gate")
        for chosen in ((2,), (1, 3), (0, 4)):
            self.close(jax.grad(weighed(ours), chosen)(*given),
                       jax.grad(weighed(theirs), chosen)(*given), 1e-3, 1e-4)
        # Of one result alone.
        self.close(jax.grad(lambda *inputs: ours(*inputs)[1].sum(), 3)(*given),
                   jax.grad(lambda *inputs: theirs(*inputs)[1].sum(), 3)(*given), 1e-3, 1e-4)

    def test_second_gradients_are_those_of_scan(self):
        for name, (function, in_jax, states, _) in CELLS.items():
            given = arrays(name)
            first, last = 1 + states, len(given) - 1

            def penalty(run, by):
                return lambda *inputs: (jax.grad(weighed(run), by)(*inputs) ** 2).sum() + \
                    weighed(run)(*inputs)

            for by in (first, 0):
                found = jax.grad(penalty(graphc.jax.cell(function, states=states), by),
                                 (0, first, last))(*given)
                wanted = jax.grad(penalty(loop(in_jax, states), by), (0, first, last))(*given)
                self.close(found, wanted, 5e-3, 5e-4, name)

    def test_gradients_in_f64(self):
        with jax.enable_x64(True):
            ours = graphc.jax.cell(gate, target="reference")
            given = arrays("gate", 3, 2, "f8")
            self.assertEqual(ours(*given)[0].dtype, jnp.float64)
            every = tuple(range(len(given)))
            self.close(jax.grad(weighed(ours), every)(*given),
                       jax.grad(weighed(loop(gate_in_jax, 1)), every)(*given), 1e-9, 1e-10)
            check_grads(ours, given, order=2, modes=["rev"])

    def test_lengths_and_reverse(self):
        given, lengths = arrays("gate", 6, 3), np.array([6, 4, 1])
        ours = graphc.jax.cell(gate)
        ys, last = ours(*given, lengths=lengths)
        for row, length in enumerate(lengths):
            alone = [given[0][:length, row:row + 1], given[1][row:row + 1], *given[2:]]
            wanted, end = loop(gate_in_jax, 1)(*alone)
            self.close(ys[:length, row:row + 1], wanted)
            self.close(last[row:row + 1], end)
        self.assertTrue((ys[4:, 1] == 0).all())
        found = jax.grad(lambda w: (ours(given[0], given[1], w, *given[3:],
                                         lengths=lengths)[0] ** 2).sum())(given[2])
        self.assertEqual(found.shape, given[2].shape)
        backwards = graphc.jax.cell(gate, reverse=True)(*given)[0]
        self.close(backwards[::-1], loop(gate_in_jax, 1)(given[0][::-1], *given[1:])[0])

    def test_vmap_is_a_loop_over_the_batch(self):
        ours, theirs = graphc.jax.cell(gate), loop(gate_in_jax, 1)
        given = arrays("gate")
        several = jnp.stack([given[0], 2 * given[0], -given[0]])
        axes = (0, None, None, None, None)
        self.close(jax.vmap(ours, axes)(several, *given[1:]),
                   jax.vmap(theirs, axes)(several, *given[1:]))
        self.close(jax.jit(jax.vmap(jax.grad(weighed(ours), 2), axes))(several, *given[1:]),
                   jax.vmap(jax.grad(weighed(theirs), 2), axes)(several, *given[1:]), 1e-3, 1e-4)

    def test_a_training_in_one_program(self):
        given = arrays("gate", 9, 4)
        target = jnp.ones((4, 4)) * 0.3

        def trained(run):
            def step(parameters, _):
                loss, gradients = jax.value_and_grad(
                    lambda all: ((run(given[0], given[1], *all)[1] - target) ** 2).mean())(
                        parameters)
                return [p - 0.2 * g for p, g in zip(parameters, gradients)], loss
            return jax.jit(lambda all: jax.lax.scan(step, all, None, length=60))(given[2:])[1]

        found, wanted = trained(graphc.jax.cell(gate)), trained(loop(gate_in_jax, 1))
        self.close(found, wanted, 1e-3, 1e-5)
        self.assertLess(found[-1], 0.8 * found[0])

    def test_checkpoint_and_save_every(self):
        given = arrays("gate", 12, 2)
        wanted = jax.grad(weighed(loop(gate_in_jax, 1)), 2)(*given)
        ours = graphc.jax.cell(gate, save_every=3)
        self.close(jax.grad(weighed(ours), 2)(*given), wanted, 1e-3, 1e-4)
        again = jax.checkpoint(graphc.jax.cell(gate))
        self.close(jax.grad(weighed(again), 2)(*given), wanted, 1e-3, 1e-4)

    def test_an_option_without_effect_is_announced(self):
        lines = []
        ours = graphc.jax.cell(gate, save_every=100, announce=lines.append)
        for steps in (5, 5, 5):
            jax.grad(weighed(ours), 2)(*arrays("gate", steps))
        self.assertEqual(len([line for line in lines if "save_every = 100 has no effect" in line]),
                         1, lines)


class Errors(unittest.TestCase):
    def test_what_is_given(self):
        ours, given = graphc.jax.cell(gate), arrays("gate")
        with self.assertRaisesRegex(graphc.InputError, "wanted 1 states after the sequence"):
            ours(given[0])
        with self.assertRaisesRegex(graphc.InputError, "argument 2 is bfloat16: wanted all arrays"):
            ours(*given[:2], given[2].astype(jnp.bfloat16), *given[3:])
        with self.assertRaisesRegex(graphc.InputError, "the sequence: wanted an array: found str"):
            ours("text", *given[1:])
        with self.assertRaisesRegex(graphc.InputError, r"lengths: wanted integers \[batch\]"):
            ours(*given, lengths=jnp.ones(2))
        with self.assertRaisesRegex(graphc.InputError, "wanted a function of one step"):
            graphc.jax.cell(3)

    def test_the_line_of_the_equation(self):
        def wrong(x, h, w):
            return x @ h

        given = arrays("gate")
        with self.assertRaises(graphc.InputError) as caught:
            jax.jit(graphc.jax.cell(wrong))(*given[:3])
        self.assertEqual(pathlib.Path(caught.exception.file).name, "test_jax.py")
        self.assertEqual(caught.exception.line, wrong.__code__.co_firstlineno + 1)

    def test_derivatives_that_there_are_not(self):
        ours, given = graphc.jax.cell(gate), arrays("gate")
        f = lambda w: (ours(*given[:2], w, *given[3:])[1] ** 2).sum()
        g = lambda w: (jax.grad(f)(w) ** 2).sum()
        h = lambda w: (jax.grad(g)(w) ** 2).sum()
        with self.assertRaisesRegex(graphc.InputError, "the first or the second"):
            jax.grad(h)(given[2])
        with self.assertRaisesRegex(TypeError, "forward-mode"):
            jax.jvp(f, (given[2],), (given[2],))

    def test_lengths_beyond_the_steps(self):
        ours, given = graphc.jax.cell(gate), arrays("gate")
        with self.assertRaisesRegex(Exception, "lengths"):
            jax.block_until_ready(ours(*given, lengths=jnp.array([3, 9])))

    def test_a_graph_of_another_process(self):
        call = jax.ffi.ffi_call("graphc_run", jax.ShapeDtypeStruct((2,), "f4"))
        with self.assertRaisesRegex(Exception, "this process has not compiled the graph"):
            jax.block_until_ready(call(jnp.ones(2), graph=np.int64(12), part=np.int64(0)))


class Document(unittest.TestCase):
    def test_python_md(self):
        path = pathlib.Path(__file__).resolve().parents[3] / "docs/python.md"
        [code] = re.findall(r"^```python-jax\n(.*?)^```", path.read_text(encoding="utf-8"),
                            re.M | re.S)
        exec(compile("import graphc\n" + code, str(path), "exec"), {"__name__": "document"})


class Process(unittest.TestCase):
    def test_programs_on_disk_find_their_graphs(self):
        program = pathlib.Path(__file__).with_name("jax_cache.py")
        with tempfile.TemporaryDirectory() as folder:
            printed = [subprocess.run([sys.executable, program, folder, order], text=True,
                                      capture_output=True, check=True).stdout
                       for order in ("first", "second", "first")]
        self.assertEqual(printed[0], printed[1])
        self.assertEqual(printed[0], printed[2])

    def test_threads(self):
        ours, given = graphc.jax.cell(gate, threads=1), arrays("gate")
        step = jax.jit(jax.grad(weighed(ours), 2))
        wanted, found = step(*given), [None] * 4

        def run(place):
            for _ in range(50):
                found[place] = step(*given)

        threads = [threading.Thread(target=run, args=(place,)) for place in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for one in found:
            self.assertTrue((one == wanted).all())

    def test_ten_thousand_calls_leak_nothing(self):
        ours, given = graphc.jax.cell(gate, threads=1), arrays("gate")
        step = jax.jit(jax.grad(weighed(ours), 2))

        def calls(count):
            for _ in range(count):
                step(*given).block_until_ready()
            gc.collect()

        calls(500)
        before, blocks, resident = allocated(), sys.getallocatedblocks(), resident_kib()
        calls(10000)
        self.assertLess(allocated() - before, 1 << 20)
        self.assertLess(sys.getallocatedblocks() - blocks, 2000)
        self.assertLess(resident_kib() - resident, 16 << 10)

    def test_declarations_are_those_of_jaxlib(self):
        compiler = shutil.which("c++")
        root = pathlib.Path(__file__).resolve().parents[3]
        header = root / "frontend/python/src/xla_ffi.h"
        if compiler is None or not header.exists():
            self.skipTest("wants a C++ compiler, and the source")
        source = pathlib.Path(__file__).with_name("xla_declarations.cpp")
        done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", f"-I{root}",
                               f"-I{jax.ffi.include_dir()}", source], text=True,
                              capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
