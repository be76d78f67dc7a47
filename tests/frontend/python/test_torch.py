# SPDX-License-Identifier: Apache-2.0
# Cells in PyTorch: the numbers and gradients of the same loop written in torch.
import gc
import os
import pathlib
import re
import signal
import sys
import threading
import unittest

import torch
import torch.utils.checkpoint

import graphc
import graphc.torch
from test_arrays import allocated, resident_kib
from torch_cells import (CELLS, gate, gate_in_torch, gradients, loop, plain, tensors)


class Cells(unittest.TestCase):
    def test_numbers_and_gradients_are_those_of_torch(self):
        for name, (cell, in_torch, states, _) in CELLS.items():
            ours = graphc.torch.cell(cell, states=states)
            for steps, batch in ((5, 2), (1, 3), (17, 1)):
                leaves = tensors(name, torch.float32, steps, batch)
                found, wanted = ours(*leaves), loop(in_torch, states, *leaves)
                self.assertEqual(len(found), 1 + states)
                for a, b in zip(found, wanted):
                    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5, msg=name)
                for a, b in zip(gradients(found, leaves), gradients(wanted, leaves)):
                    torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4, msg=name)

    def test_gradcheck_and_gradgradcheck(self):
        for name, (cell, _, states, _) in CELLS.items():
            ours = graphc.torch.cell(cell, states=states, target="reference")
            leaves = tensors(name, torch.float64, 3, 2)
            self.assertTrue(torch.autograd.gradcheck(ours, leaves), name)
            self.assertTrue(torch.autograd.gradgradcheck(ours, leaves), name)

    def test_gradients_that_are_not_wanted(self):
        ours = graphc.torch.cell(gate)
        leaves = tensors("gate", torch.float32)
        for leaf in (leaves[0], leaves[1], leaves[4]):
            leaf.requires_grad_(False)
        ys, last = ours(*leaves)
        dw, du = torch.autograd.grad(ys.sum(), leaves[2:4])
        wanted, _ = loop(gate_in_torch, 1, *leaves)
        torch.testing.assert_close(dw, torch.autograd.grad(wanted.sum(), leaves[2])[0])
        with torch.no_grad():
            self.assertFalse(ours(*leaves)[0].requires_grad)

    def test_nothing_is_computed_twice_in_training(self):
        ours = graphc.torch.cell(gate)
        leaves = tensors("gate", torch.float32)
        gradients(ours(*leaves), leaves)
        [network] = ours._networks.values()
        # One pair of graphs, and none that computes the results again.
        self.assertEqual([name for name, _ in network._compiled], ["forward divided yyyyy"])

    def test_second_gradients_are_those_of_torch(self):
        for name, (cell, in_torch, states, _) in CELLS.items():
            ours, leaves = graphc.torch.cell(cell, states=states), tensors(name, torch.float32)

            def second(run):
                first = torch.autograd.grad(run(*leaves)[0].square().sum(), leaves,
                                            create_graph=True)
                return torch.autograd.grad(sum(one.square().sum() for one in first), leaves)

            for a, b in zip(second(ours), second(lambda *all: loop(in_torch, states, *all))):
                torch.testing.assert_close(a, b, rtol=2e-3, atol=2e-3, msg=name)

    def test_save_every_gives_the_same_gradients(self):
        leaves = tensors("gate", torch.float32, 12, 3)
        wanted = gradients(graphc.torch.cell(gate)(*leaves), leaves)
        found = gradients(graphc.torch.cell(gate, save_every=4)(*leaves), leaves)
        for a, b in zip(found, wanted):
            torch.testing.assert_close(a, b)

    def test_lengths(self):
        ours = graphc.torch.cell(gate)
        leaves = tensors("gate", torch.float32, 6, 3)
        lengths = torch.tensor([2, 6, 0])
        with torch.no_grad():
            leaves[0][2:, 0] = float("nan")
        ys, last = ours(*leaves, lengths=lengths)
        self.assertEqual(ys[2:, 0].abs().max(), 0)
        torch.testing.assert_close(last[0], ys[1, 0])
        torch.testing.assert_close(last[2], leaves[1][2])
        alone = loop(gate_in_torch, 1, leaves[0][:2, :1], leaves[1][:1], *leaves[2:])[1]
        torch.testing.assert_close(last[:1], alone, rtol=1e-4, atol=1e-5)
        for gradient in torch.autograd.grad(last[0].sum(), leaves, retain_graph=True):
            self.assertTrue(gradient.isfinite().all())

    def test_any_layout(self):
        ours = graphc.torch.cell(plain)
        xs, h, w, u = tensors("plain", torch.float32)
        wanted = ours(xs, h, w, u)[0]
        batch_first = xs.transpose(0, 1).contiguous()
        found = ours(batch_first.transpose(0, 1), h, w, u.t().contiguous().t())[0]
        self.assertTrue(torch.equal(found, wanted))
        big = torch.randn(9, 2, 8)
        big[::2, :, 1:7:2] = xs.detach()
        self.assertTrue(torch.equal(ours(big[::2, :, 1:7:2], h, w, u)[0], wanted))


class Torch(unittest.TestCase):
    def test_an_optimizer_of_torch_trains_it(self):
        ours = graphc.torch.cell(gate)

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                torch.manual_seed(0)
                shapes = [(3, 16), (8, 16), (16,), (8, 1)]
                self.params = torch.nn.ParameterList(0.3 * torch.randn(s) for s in shapes)

            def forward(self, xs):
                w, u, b, out = self.params
                return ours(xs, xs.new_zeros(xs.shape[1], 8), w, u, b)[1] @ out

        net = Net()
        optimizer = torch.optim.Adam(net.parameters(), 0.02)
        xs = torch.randn(12, 16, 3)
        losses = []
        for _ in range(60):
            loss = (net(xs) - xs.mean((0, 2))[:, None]).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        self.assertLess(losses[-1], 0.2 * losses[0])
        again = Net()
        again.load_state_dict(net.state_dict())
        self.assertTrue(torch.equal(again(xs), net(xs)))

    def test_a_mode_of_torch_sees_the_operators(self):
        ours = graphc.torch.cell(gate)
        leaves = tensors("gate", torch.float32)
        seen = []

        class Watch(torch.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                seen.append(str(function))
                return function(*args, **(kwargs or {}))

        wanted = gradients(ours(*leaves), leaves)
        with Watch():
            found = gradients(ours(*leaves), leaves)
        for a, b in zip(found, wanted, strict=True):
            self.assertTrue(torch.equal(a, b))
        names = [name.split("_")[-1] for name in seen if name.startswith("graphc.")]
        self.assertEqual(names, ["saving.default", "backward.default"])

    def test_opcheck(self):
        ours = graphc.torch.cell(gate)
        leaves = tensors("gate", torch.float32)
        tests = ("test_schema", "test_autograd_registration", "test_faketensor")
        torch.library.opcheck(ours._operators.forward, (leaves, "f32"), test_utils=tests)
        torch.library.opcheck(ours._operators.saving, (leaves, [True] * len(leaves), "f32"),
                              test_utils=tests)

    def test_torch_compile_and_export_go_through_it(self):
        ours = graphc.torch.cell(plain)
        leaves = tensors("plain", torch.float32)

        class Net(torch.nn.Module):
            def forward(self, xs, h, w, u):
                return ours(xs * 2, h, w, u)[0] + 1

        wanted = Net()(*leaves)
        compiled = torch.compile(Net(), backend="aot_eager", fullgraph=True)
        torch.testing.assert_close(compiled(*leaves), wanted)
        for a, b in zip(gradients([compiled(*leaves)], leaves), gradients([wanted], leaves)):
            torch.testing.assert_close(a, b)
        exported = torch.export.export(Net(), tuple(leaf.detach() for leaf in leaves))
        torch.testing.assert_close(exported.module()(*leaves), wanted)

    def test_threads(self):
        ours = graphc.torch.cell(plain)
        leaves = [leaf.detach() for leaf in tensors("plain", torch.float32)]
        wanted, found = ours(*leaves)[0], []
        threads = [threading.Thread(target=lambda: found.append(ours(*leaves)[0]))
                   for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), 6)
        self.assertTrue(all(torch.equal(each, wanted) for each in found))


class Memory(unittest.TestCase):
    def test_ten_thousand_calls_leak_nothing(self):
        ours = graphc.torch.cell(plain, threads=1)
        leaves = tensors("plain", torch.float32, 3, 2)

        def calls(count):
            for _ in range(count):
                ours(*leaves)[0].sum().backward()
                with torch.no_grad():
                    ours(*leaves)
                for leaf in leaves:
                    leaf.grad = None
            gc.collect()

        calls(200)
        before, blocks, resident = allocated(), sys.getallocatedblocks(), resident_kib()
        calls(5000)  # each is two
        self.assertLess(allocated() - before, 1 << 20)
        self.assertLess(sys.getallocatedblocks() - blocks, 2000)
        self.assertLess(resident_kib() - resident, 16 << 10)

    def test_many_shapes_keep_the_last_compiled(self):
        ours = graphc.torch.cell(plain, threads=1)
        for steps in range(1, 40):
            leaves = tensors("plain", torch.float32, steps, 1)
            ours(*leaves)[0].sum().backward()
        [network] = ours._networks.values()
        self.assertLessEqual(len(network._compiled), 16)
        self.assertLessEqual(len(ours._operators._calls), 16)


class Announced(unittest.TestCase):
    def test_an_option_without_effect_is_announced_once(self):
        lines = []
        ours = graphc.torch.cell(plain, save_every=100, announce=lines.append)
        for steps in (5, 5, 6, 5):
            leaves = tensors("plain", torch.float32, steps)
            gradients(ours(*leaves), leaves)
        said = [line for line in lines if "save_every = 100 has no effect" in line]
        self.assertEqual(len(said), 2, lines)  # of loops of 5 steps and of 6
        self.assertIn("the loop has 5 steps", said[0])

    def test_a_loop_of_several_kernels_is_announced(self):
        lines = []
        pieces = graphc.torch.cell(lambda x, h, s: (graphc.tanh(h * s + x), graphc.sum(h)),
                                   states=2, announce=lines.append)
        for steps in (5, 6):
            pieces(torch.ones(steps, 4, 3), torch.zeros(4, 3), torch.ones(()))
        [line] = [line for line in lines if "a loop, not one recurrent kernel" in line]
        self.assertIn("test_torch.py:", line)


class Confusions(unittest.TestCase):
    def test_checkpoints_compute_the_saved_values_again(self):
        ours = graphc.torch.cell(gate)
        leaves = tensors("gate", torch.float32)
        wanted = gradients(ours(*leaves), leaves)
        found = gradients(torch.utils.checkpoint.checkpoint(ours, *leaves, use_reentrant=False),
                          leaves)
        for a, b in zip(found, wanted):
            self.assertTrue(torch.equal(a, b))

    def test_a_forward_derivative_is_refused(self):
        ours = graphc.torch.cell(plain)
        leaves = [leaf.detach() for leaf in tensors("plain", torch.float32)]
        with torch.autograd.forward_ad.dual_level():
            ours(*leaves)
            leaves[1] = torch.autograd.forward_ad.make_dual(leaves[1], torch.ones_like(leaves[1]))
            with self.assertRaisesRegex(graphc.InputError, "no forward derivative"):
                ours(*leaves)

    def test_what_is_no_length(self):
        ours = graphc.torch.cell(plain)
        leaves = tensors("plain", torch.float32)
        for wrong in (2**32 + 1, 6, -1, -2**32 + 1, -2**63):
            with self.assertRaisesRegex(graphc.InputError, "wanted 0 to 5"):
                ours(*leaves, lengths=torch.tensor([1, wrong]))

    def test_tensors_that_are_not_dense(self):
        xs, h, w, u = tensors("plain", torch.float32)
        with self.assertRaisesRegex(graphc.InputError, "argument 2 is torch.sparse_coo"):
            graphc.torch.cell(plain)(xs, h, w.detach().to_sparse(), u)

    def test_what_was_saved_and_changed_is_an_error(self):
        ours = graphc.torch.cell(plain)
        leaves = tensors("plain", torch.float32)
        ys, last = ours(*leaves)
        with torch.no_grad():
            leaves[3].mul_(2)
        with self.assertRaisesRegex(RuntimeError, "inplace operation"):
            ys.sum().backward()

    def test_tensors_that_are_negated_lazily(self):
        negated = torch.randn(4, 3, dtype=torch.complex64).conj().imag
        self.assertTrue(negated.is_neg())
        cube = graphc.torch.function(lambda x: x * x * x)
        leaf = negated.clone().requires_grad_()
        torch.testing.assert_close(cube(negated), negated ** 3)
        torch.testing.assert_close(torch.autograd.grad(cube(leaf), leaf, negated)[0],
                                   3 * negated ** 3)
        model = graphc.Model("negated")
        model.graph("cube", lambda inputs: inputs("x", graphc.f32, [4, 3]) ** 3)
        found = graphc.Session(model, announce=str)("cube", negated)
        torch.testing.assert_close(torch.from_numpy(found), negated ** 3)

    def test_results_share_no_memory(self):
        ours = graphc.torch.cell(lambda x, h: h)
        xs, h = torch.randn(3, 2, 4), torch.randn(2, 4)
        ys, last = ours(xs, h)
        before = h.clone()
        last.add_(1)
        self.assertTrue(torch.equal(h, before) and torch.equal(ys[-1], before))

    def test_a_process_that_was_forked_computes(self):
        ours = graphc.torch.cell(plain)
        leaves = [leaf.detach() for leaf in tensors("plain", torch.float32)]
        wanted = ours(*leaves)[0]
        child = os.fork()
        if child == 0:
            signal.alarm(60)  # ends a child that waits for threads it does not have
            os._exit(0 if torch.equal(ours(*leaves)[0], wanted) else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


class Document(unittest.TestCase):
    def test_python_md(self):
        path = pathlib.Path(__file__).resolve().parents[3] / "docs/python.md"
        parts = re.findall(r"^```python-torch\n(.*?)^```", path.read_text(encoding="utf-8"),
                           re.M | re.S)
        self.assertEqual(len(parts), 3)
        code = "import graphc\n" + "\n".join(parts)
        exec(compile(code, str(path), "exec"), {"__name__": "document"})


class Errors(unittest.TestCase):
    def test_a_third_derivative_is_refused(self):
        ours = graphc.torch.cell(plain)
        leaves = tensors("plain", torch.float32)
        found = ours(*leaves)[0].square().sum()
        for _ in range(2):
            found = torch.autograd.grad(found, leaves[2], create_graph=True)[0].square().sum()
        with self.assertRaisesRegex(graphc.InputError, "the first or the second"):
            torch.autograd.grad(found, leaves[2])

    def test_arguments(self):
        ours = graphc.torch.cell(plain)
        xs, h, w, u = tensors("plain", torch.float32)
        for wrong, words in (((xs,), "wanted 1 states"), ((xs, h, w, 3), "argument 3.*int"),
                             ((xs, h, w.double(), u), "argument 2 is torch.float64"),
                             ((xs.half(), h.half(), w.half(), u.half()), "torch.float16")):
            with self.assertRaisesRegex(graphc.InputError, words):
                ours(*wrong)
        with self.assertRaisesRegex(graphc.InputError, "lengths"):
            ours(xs, h, w, u, lengths=torch.ones(2))
        with self.assertRaisesRegex(graphc.UsageError, "f64"):
            ours(xs.double(), h.double(), w.double(), u.double())
        with self.assertRaisesRegex(graphc.InputError, "a function of one step"):
            graphc.torch.cell(3)

    def test_the_line_is_that_of_the_equation(self):
        def wrong(x, h, w):
            return x @ w + h  # the line at fault

        ours = graphc.torch.cell(wrong)
        xs, h, w, _ = tensors("plain", torch.float32)
        with self.assertRaises(graphc.InputError) as caught:
            ours(xs, h, w[:2])
        self.assertEqual((caught.exception.file, caught.exception.line),
                         (__file__, wrong.__code__.co_firstlineno + 1))
        two = graphc.torch.cell(lambda x, h: (h, h))
        with self.assertRaisesRegex(graphc.InputError, "the next value of 1 state: found 2"):
            two(xs, h)


if __name__ == "__main__":
    unittest.main()
