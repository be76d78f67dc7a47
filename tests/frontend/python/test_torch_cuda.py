# SPDX-License-Identifier: Apache-2.0
# Cells, functions and modules of graphc.torch on a GPU. Where torch has none, tensors on the cpu
# stand for those of the GPU that GRAPHC_CUDA_LIBRARIES emulates: graphs and their order are the
# same, and what is replaced is the memory that torch would allocate.
import contextlib
import unittest
from unittest import mock

import numpy as np
import torch

import graphc
import graphc.torch
from graphc import f32
from graphc.torch import calls, cells, functions, modules, networks, operators
from torch_cells import CELLS, gate, gradients, loop, tensors

CUDA = torch.device("cuda", 0)
IS_REAL = torch.cuda.is_available()


def _on_gpu(run, types, given, device):
    """What networks.on_gpu does, with memory of graphc and copies to and from torch."""
    assert device == CUDA, device
    names = {graphc.f32: "f4", graphc.i32: "i4", graphc.i64: "i8", graphc.DType.bool: "?"}
    results = [graphc.to_device(np.zeros(shape, names[dtype])) for dtype, shape in types]
    run(0, given, results)
    return [torch.from_numpy(one.numpy()) for one in results]


def _readable(tensor):
    return graphc.to_device(tensor.detach().resolve_neg().contiguous().numpy())


@contextlib.contextmanager
def tensors_on_gpu():
    """Tensors of the cpu are taken for those of a GPU, unless there is one."""
    with contextlib.ExitStack() as stack:
        if not IS_REAL:
            for module, name, stand_in in (
                    *[(one, "device_of", lambda tensors: CUDA)
                      for one in (functions, modules, operators)],
                    (networks, "on_gpu", _on_gpu), (calls, "readable_on_gpu", _readable)):
                stack.enter_context(mock.patch.object(module, name, stand_in))
        yield


def placed(tensors):
    if not IS_REAL:
        return tensors
    return [one.detach().cuda().requires_grad_(one.requires_grad) for one in tensors]


class OnAGpu(unittest.TestCase):
    def test_cells_have_the_numbers_and_gradients_of_torch(self):
        for name, (cell, in_torch, states, _) in CELLS.items():
            leaves = placed(tensors(name, torch.float32))
            wanted = loop(in_torch, states, *leaves)
            with tensors_on_gpu():
                found = graphc.torch.cell(cell, states=states)(*leaves)
                for a, b in zip(found, wanted):
                    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5, msg=name)
                for a, b in zip(gradients(found, leaves), gradients(wanted, leaves)):
                    torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4, msg=name)

    def test_second_gradients_and_no_gradients(self):
        cell, in_torch, states, _ = CELLS["gate"]
        leaves = placed(tensors("gate", torch.float32))

        def second(run):
            first = torch.autograd.grad(run(*leaves)[0].square().sum(), leaves, create_graph=True)
            return torch.autograd.grad(sum(one.square().sum() for one in first), leaves)

        wanted = second(lambda *all: loop(in_torch, states, *all))
        with tensors_on_gpu():
            ours = graphc.torch.cell(cell, states=states)
            for a, b in zip(second(ours), wanted):
                torch.testing.assert_close(a, b, rtol=1e-2, atol=1e-3)
            with torch.no_grad():
                self.assertFalse(ours(*leaves)[0].requires_grad)

    def test_layouts_lengths_and_empty_batches(self):
        cell = graphc.torch.cell(gate)
        xs, h, *others = [one.detach() for one in placed(tensors("gate", torch.float32, 5, 6))]
        wanted, _ = cell(xs, h, *others)
        lengths = torch.tensor([5, 1, 0, 3, 5, 2])
        ended, _ = cell(xs, h, *others, lengths=lengths)
        with tensors_on_gpu():
            ours = graphc.torch.cell(gate)
            turned = xs.transpose(0, 1).contiguous().transpose(0, 1)
            for a in (ours(turned, h, *others)[0], ours(torch._neg_view(-xs), h, *others)[0]):
                torch.testing.assert_close(a, wanted, rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(ours(xs, h, *others, lengths=lengths)[0], ended,
                                       rtol=1e-4, atol=1e-5)
            self.assertEqual(ours(xs[:, :0], h[:0], *others)[0].shape, (5, 0, 4))

    def test_functions_take_integers(self):
        @graphc.torch.function
        def looked_up(table, index):
            return graphc.gather(table, index) * 2, index + 1

        [table] = placed([torch.randn(5, 3, requires_grad=True)])
        [index] = placed([torch.tensor([4, 0, 4])])
        with tensors_on_gpu():
            found, more = looked_up(table, index)
            torch.testing.assert_close(found, 2 * table[index])
            torch.testing.assert_close(more.to(torch.int64), index + 1)
            [gradient] = torch.autograd.grad(found.sum(), [table])
            torch.testing.assert_close(gradient, torch.autograd.grad(
                (2 * table[index]).sum(), [table])[0])
            [wrong] = placed([torch.tensor([4, 5, 4])])
            with self.assertRaisesRegex(graphc.InputError, "index 5"):
                looked_up(table, wrong)

    def test_a_module_takes_its_states_along(self):
        model = graphc.Model("m")
        layer = graphc.Linear(model, "layer", 3, 2)
        count = model.state("count", ())

        @model.graph("f")
        def f(inputs):
            count.value = count + 1
            return layer(inputs("x", f32, ["batch", 3])) * count

        module = graphc.torch.module(model, "f")
        x = torch.ones(4, 3)
        with torch.no_grad():
            first = module(x)
            with tensors_on_gpu():
                if IS_REAL:
                    module, x = module.cuda(), x.cuda()
                second = module(x)
                third = module(x)
            fourth = module.cpu()(x.cpu())
        for times, found in ((2, second), (3, third), (4, fourth)):
            torch.testing.assert_close(found.cpu(), times * first)

    def test_layers_and_what_cannot_be(self):
        theirs = torch.nn.LSTM(3, 4, num_layers=2, bidirectional=True)
        ours = graphc.torch.LSTM(3, 4, num_layers=2, bidirectional=True)
        ours.load_state_dict(theirs.state_dict())
        xs = torch.randn(6, 2, 3)
        if IS_REAL:
            theirs, ours, xs = theirs.cuda(), ours.cuda(), xs.cuda()
        with tensors_on_gpu():
            torch.testing.assert_close(ours(xs)[0], theirs(xs)[0], rtol=1e-4, atol=1e-5)
            with self.assertRaisesRegex(graphc.UsageError, "it is that of the tensors"):
                graphc.torch.cell(gate, device=0)(*placed(tensors("gate", torch.float32)))
            on_cpu = graphc.torch.cell(gate, target="cpu")
            with self.assertRaisesRegex(graphc.InputError,
                                        "its target is 'cpu': found a tensor on cuda:0"):
                on_cpu(*placed(tensors("gate", torch.float32)))


if __name__ == "__main__":
    unittest.main()
