# SPDX-License-Identifier: Apache-2.0
# What a call keeps for the next: calls in any order give what each gives alone.
import gc
import random
import threading
import unittest
import unittest.mock

import torch

import graphc
import graphc.torch
from graphc.networks import KEPT
from graphc.torch.calls import Call
from torch_cells import gate, gate_in_torch, loop, tensors


def call_of(number):
    """Tensors of a gate, and which are wanted, by a number: types, layouts, gradients, lengths."""
    draw = random.Random(number)
    dtype = torch.float64 if number % 5 == 4 else torch.float32
    leaves = tensors("gate", dtype, draw.randint(1, 4), draw.randint(1, 3))
    wanted = [draw.random() < 0.6 for _ in leaves]
    leaves = [torch.nn.Parameter(leaf.detach()) if draw.random() < 0.3 else leaf.detach()
              for leaf in leaves]
    for leaf, one in zip(leaves, wanted):
        leaf.requires_grad_(one)
    if draw.random() < 0.3:
        leaves[2] = leaves[2].t().contiguous().t()
    return leaves, [leaf for leaf, one in zip(leaves, wanted) if one]


class Calls(unittest.TestCase):
    def check(self, ours, number):
        leaves, wanted = call_of(number)
        results, theirs = ours(*leaves), loop(gate_in_torch, 1, *leaves)
        near = {"rtol": 1e-4, "atol": 1e-5, "msg": f"call {number}"}
        for found, right in zip(results, theirs):
            torch.testing.assert_close(found, right, **near)
            self.assertEqual(found.requires_grad, bool(wanted))
        if wanted:
            sums = [sum(one.square().sum() for one in each) for each in (results, theirs)]
            found, right = [torch.autograd.grad(one, wanted) for one in sums]
            torch.testing.assert_close(found, right, **near)
        with torch.no_grad():
            alone = ours(*leaves)
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(alone, results)))
        self.assertFalse(any(one.requires_grad for one in alone))

    def test_in_any_order(self):
        # float64 needs target reference, which computes float32 as well.
        ours = graphc.torch.cell(gate, target="reference")
        order = [*range(2 * KEPT), *range(2 * KEPT)]
        random.Random(0).shuffle(order)
        for number in [*order, 0, 0, 1, 0]:
            self.check(ours, number)
        self.assertLessEqual(len(ours._checked), KEPT)
        self.assertLessEqual(len(ours._operators._calls), KEPT)

    def test_in_threads(self):
        ours = graphc.torch.cell(gate, target="reference")
        wrong = []

        def work(seed):
            draw = random.Random(seed)
            try:
                for _ in range(40):
                    self.check(ours, draw.randrange(3 * KEPT))
            except Exception as error:
                wrong.append(error)

        threads = [threading.Thread(target=work, args=[seed]) for seed in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_lengths_and_none(self):
        ours = graphc.torch.cell(gate)
        leaves = tensors("gate", torch.float32, 3, 2)
        whole = ours(*leaves)[0]
        for lengths in ([3, 3], [1, 2]):
            for dtype in (torch.int32, torch.int64):
                found = ours(*leaves, lengths=torch.tensor(lengths, dtype=dtype))[0]
                for row, length in enumerate(lengths):
                    torch.testing.assert_close(found[:length, row], whole[:length, row])
                    self.assertEqual(found[length:, row].abs().sum(), 0)
            torch.testing.assert_close(ours(*leaves)[0], whole)

    def test_autocast_between(self):
        ours = graphc.torch.function(lambda x, w: x @ w)
        x, w = torch.randn(3, 4, requires_grad=True), torch.randn(4, 2)
        right, run, precisions = x @ w, ours._operators, []

        def seen(tensors, precision, signature):
            precisions.append(precision)
            return run(tensors, precision, signature)

        ours._operators = seen
        for _ in range(2):
            precisions.clear()
            torch.testing.assert_close(ours(x, w), right)
            with torch.autocast("cpu", torch.bfloat16):
                ours(x, w)
                self.assertEqual(precisions, ["f32", "autocast"])
                torch.testing.assert_close(ours(x.bfloat16(), w), right, rtol=0.1, atol=0.1)
                found = ours(x, w.bfloat16())
                self.assertEqual(found.dtype, torch.float32)
                torch.testing.assert_close(found, right, rtol=0.1, atol=0.1)
            with self.assertRaisesRegex(graphc.InputError, "argument 1 is torch.bfloat16"):
                ours(x, w.bfloat16())

    def test_what_is_refused_stays_refused(self):
        ours = graphc.torch.cell(gate)
        leaves = tensors("gate", torch.float32)
        sparse = leaves[2].detach().to_sparse().requires_grad_()
        ours(*leaves)
        for _ in range(2):
            with self.assertRaisesRegex(graphc.InputError, "wanted all tensors torch.float32"):
                ours(leaves[0].double(), *leaves[1:])
            with self.assertRaisesRegex(graphc.InputError, "wanted a dense tensor"):
                ours(*leaves[:2], sparse, *leaves[3:])
            with self.assertRaisesRegex(graphc.Error, ""):
                ours(*leaves[:3], leaves[3][:-1], leaves[4])
            ours(*leaves)

    def test_integers_of_every_width(self):
        table = torch.randn(5, 3, requires_grad=True)
        ours = graphc.torch.function(lambda table, at: graphc.gather(table, at))
        for dtype in (torch.int32, torch.int64, torch.int32, torch.int64):
            at = torch.tensor([4, 0, 4], dtype=dtype)
            found = ours(table, at)
            self.assertTrue(torch.equal(found, table[at.long()]))
            [gradient] = torch.autograd.grad(found.sum(), [table])
            self.assertEqual(gradient[4].tolist(), [2, 2, 2])

    def test_a_module_in_both_modes_and_types(self):
        def words():
            model = graphc.Model("words")
            table = graphc.Embedding(model, "table", 7, 4)

            @model.graph("f")
            def f(inputs):
                return graphc.dropout(table(inputs("words", graphc.i32, ["n"])), rate=0.5)

            return model

        module = graphc.torch.module(words, "f")
        for dtype in (torch.int64, torch.int8, torch.int32, torch.int64):
            at = torch.arange(7).to(dtype)
            module.eval()
            self.assertTrue(torch.equal(module(at), next(module.parameters())))
            module.train()
            self.assertGreater(int((module(at) == 0).sum()), 0)
            self.assertFalse(torch.equal(module(at), module(at)))

        self.assertEqual(module(torch.arange(3)).shape, (3, 4))

    def test_integers_for_floats(self):
        def doubled():
            model = graphc.Model("doubled")
            model.graph("f", lambda inputs: 2 * inputs("x", graphc.f32, ["n"]))
            return model

        module = graphc.torch.module(doubled, "f")
        for dtype in (torch.int64, torch.int8, torch.uint8, torch.float32):
            found = module(torch.ones(3, dtype=dtype))
            self.assertEqual((found.dtype, found.tolist()), (torch.float32, [2, 2, 2]))

    def test_integers_alone_have_no_derivative(self):
        ours = graphc.torch.function(lambda x: graphc.argmax(x, 0))
        for wanted in (False, True):
            found = ours(torch.tensor([1.0, 3.0, 2.0], requires_grad=wanted))
            self.assertEqual((int(found), found.requires_grad), (1, False))

    def test_lengths_elsewhere(self):
        leaves = tensors("gate", torch.float32, 3, 2)
        lengths = torch.ones(2, dtype=torch.int32, device="meta")
        with self.assertRaisesRegex(graphc.InputError, "lengths are on meta: wanted them on cpu"):
            graphc.torch.cell(gate)(*leaves, lengths=lengths)


class Mistakes(unittest.TestCase):
    def test_dropout_where_there_is_no_training(self):
        cell = graphc.torch.cell(lambda x, h: graphc.dropout(x + h, rate=0.5))
        function = graphc.torch.function(lambda x: graphc.dropout(x, rate=0.5))
        x = torch.randn(3, 2, 4)
        for _ in range(2):
            with self.assertRaisesRegex(graphc.InputError, "draws random numbers in training"):
                cell(x, x[0])
            with self.assertRaisesRegex(graphc.InputError, "draws random numbers in training"):
                function(x)

    def test_options(self):
        for make in (lambda: graphc.torch.cell(state=2)(gate),
                     lambda: graphc.torch.function(gate, thread=2),
                     lambda: graphc.torch.module(graphc.Model("m"), "f", sed=1)):
            with self.assertRaisesRegex(graphc.UsageError, "no option '.*'; did you mean '"):
                make()


class Kept(unittest.TestCase):
    def test_is_in_no_cycle(self):
        ours = graphc.torch.function(lambda x, at: x + graphc.cast(at, graphc.f32))
        gc.collect()
        gc.disable()
        try:
            for size in range(1, 3 * KEPT):
                x = torch.zeros(size, requires_grad=True)
                ours(x, torch.zeros(size, dtype=torch.int64)).sum().backward()
            [network] = ours._networks.values()
            alive = [one for one in gc.get_objects()
                     if type(one) is Call and one.network is network]
        finally:
            gc.enable()
        self.assertLessEqual(len(alive), KEPT + 1)

    def test_is_what_was_used_last(self):
        ours = graphc.torch.cell(gate)

        def run(steps):
            leaves = tensors("gate", torch.float32, steps, 1)
            ours(*leaves)[0].sum().backward()

        run(1)
        [network] = ours._networks.values()
        made, keep = [], network._compiled.keep
        with unittest.mock.patch.object(network._compiled, "keep",
                                        lambda key, graph: made.append(key) or keep(key, graph)):
            for new in range(KEPT, 3 * KEPT):
                for steps in (*range(1, KEPT), new):
                    run(steps)
        self.assertEqual(len(made), KEPT - 2 + 2 * KEPT)
        self.assertEqual(len(network._compiled), KEPT)

    def test_does_not_make_compiled_code_stale(self):
        ours, compilations = graphc.torch.cell(gate), []

        def backend(module, inputs):
            compilations.append(module)
            return module.forward

        @torch.compile(backend=backend, dynamic=False)
        def compiled(*leaves):
            return ours(*leaves)[0]

        leaves = tensors("gate", torch.float32, 4, 1)
        for steps in range(1, 12):
            compiled(*leaves).sum().backward()
            with torch.no_grad():
                ours(*tensors("gate", torch.float32, steps, 2))
        self.assertEqual(len(compilations), 1)

    def test_a_profiler_sees_the_operators(self):
        ours = graphc.torch.cell(gate)
        leaves = tensors("gate", torch.float32, 3, 1)
        for _ in range(2):
            with torch.no_grad():
                ours(*leaves)
                with torch.autograd.profiler.profile() as profile:
                    ours(*leaves)
            self.assertTrue([one for one in profile.function_events
                             if one.name.startswith("graphc::gate")])


if __name__ == "__main__":
    unittest.main()
