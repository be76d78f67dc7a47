# SPDX-License-Identifier: Apache-2.0
# Functions of tensors as operators of PyTorch, beside the same in torch.
import pickle
import subprocess
import sys
import unittest
import unittest.mock

import torch

import graphc
import graphc.torch
from graphc import networks
from torch._subclasses.fake_tensor import FakeTensorMode


@graphc.torch.function
def head(x, weight, bias, labels):
    """The mean loss of labels."""
    return graphc.mean(graphc.cross_entropy(graphc.matmul(x, weight, transpose_b=True) + bias,
                                            labels))


def head_in_torch(x, weight, bias, labels):
    return torch.nn.functional.cross_entropy(torch.nn.functional.linear(x, weight, bias), labels)


def arguments(dtype=torch.float32):
    torch.manual_seed(0)
    floats = [torch.randn(*shape, dtype=dtype, requires_grad=True)
              for shape in ((6, 3), (5, 3), (5,))]
    return [*floats, torch.randint(0, 5, (6,))]


class Functions(unittest.TestCase):
    def test_every_type_of_a_result(self):
        for ours, theirs in ((graphc.DType.u32, torch.uint32), (graphc.bf16, torch.bfloat16),
                             (graphc.i64, torch.int64), (graphc.DType.bool, torch.bool)):
            as_type = graphc.torch.function(lambda x, ours=ours: graphc.cast(x, ours))
            self.assertEqual(as_type(torch.ones(3)).dtype, theirs)
            with FakeTensorMode():
                self.assertEqual(as_type(torch.ones(3)).dtype, theirs)

    def test_what_the_framework_has_is_refused(self):
        with self.assertRaisesRegex(graphc.UsageError, "set_detect_anomaly"):
            graphc.torch.function(graphc.log, check_finite=True)(torch.ones(3))

    def test_numbers_and_gradients_are_those_of_torch(self):
        leaves = arguments()
        found, wanted = head(*leaves), head_in_torch(*leaves)
        torch.testing.assert_close(found, wanted)
        self.assertEqual(found.shape, ())
        for a, b in zip(*[torch.autograd.grad(one, leaves[:3]) for one in (found, wanted)]):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)
        short = [*leaves[:3], leaves[3].to(torch.int32)]
        torch.testing.assert_close(head(*short), wanted)

    def test_gradcheck_and_gradgradcheck(self):
        ours = graphc.torch.function(lambda a, b, n: (graphc.tanh(a @ b), a * 2),
                                     target="reference")
        torch.manual_seed(0)
        a, b = (torch.randn(3, 3, dtype=torch.float64, requires_grad=True) for _ in range(2))
        n = torch.ones(2, dtype=torch.int64)
        self.assertEqual([one.dtype for one in ours(a, b, n)], 2 * [torch.float64])
        self.assertTrue(torch.autograd.gradcheck(ours, (a, b, n)))
        self.assertTrue(torch.autograd.gradgradcheck(ours, (a, b, n)))

    def test_results_that_are_integers(self):
        ours = graphc.torch.function(lambda x: (graphc.argmax(x, axis=1), graphc.square(x)))
        x = torch.randn(4, 3, requires_grad=True)
        index, squares = ours(x)
        self.assertTrue((index == x.argmax(1)).all())
        self.assertFalse(index.requires_grad)
        squares.sum().backward()
        torch.testing.assert_close(x.grad, 2 * x.detach())

    def test_torch_compile_and_export_go_through_it(self):
        class Net(torch.nn.Module):
            def forward(self, x, weight, bias, labels):
                return head(2 * x, weight, bias, labels) + 1

        leaves = arguments()
        wanted = Net()(*leaves)
        compiled = torch.compile(Net(), backend="aot_eager", fullgraph=True)
        torch.testing.assert_close(compiled(*leaves), wanted)
        gradients = torch.autograd.grad(compiled(*leaves), leaves[:3])
        for a, b in zip(gradients, torch.autograd.grad(wanted, leaves[:3])):
            torch.testing.assert_close(a, b)
        exported = torch.export.export(Net(), tuple(leaf.detach() for leaf in leaves))
        torch.testing.assert_close(exported.module()(*leaves), wanted)

    def test_torch_compile_is_the_first_to_call_it(self):
        ours = graphc.torch.function(lambda x: (graphc.tanh(x), graphc.exp(x)))
        x = torch.randn(3)
        found = torch.compile(lambda x: sum(ours(x)), backend="aot_eager")(x)
        torch.testing.assert_close(found, x.tanh() + x.exp())

    def test_the_import_takes_no_compiler_of_torch(self):
        # torch._dynamo takes a second.
        text = "import sys, graphc.torch; sys.exit('torch._dynamo' in sys.modules)"
        self.assertEqual(subprocess.run([sys.executable, "-c", text]).returncode, 0)

    def test_it_is_pickled_by_name(self):
        self.assertIs(pickle.loads(pickle.dumps(head)), head)

    def test_autocast(self):
        leaves = arguments()
        with torch.autocast("cpu", torch.bfloat16):
            found = head(leaves[0].bfloat16(), *leaves[1:])
        self.assertEqual(found.dtype, torch.float32)
        torch.testing.assert_close(found, head_in_torch(*leaves), rtol=0.05, atol=0.05)

    def test_autocast_where_bf16_is_not_fast(self):
        # The kind of error that a session gives on such a processor, whatever this one is.
        slow = graphc.ResourceError("precision 'bf16' needs a processor with matrix tiles")
        with unittest.mock.patch.object(networks._graphc, "Session", side_effect=slow):
            self.assertEqual(networks.usable.__wrapped__("autocast"), "f32")

    def test_errors(self):
        x, weight, bias, labels = arguments()
        for wrong, words in (((x, weight.double(), bias, labels), "argument 1 is torch.float64"),
                             ((x, weight, bias, labels.to(torch.int16)), "argument 3.*int16"),
                             ((x, weight, bias, 3), "argument 3: wanted a tensor: found int"),
                             ((labels, labels, labels, labels), "a tensor of floats"),
                             ((x.to_sparse(), weight, bias, labels), "sparse"),
                             ((x, weight[:, :2], bias, labels), "inner dimensions")):
            with self.assertRaisesRegex(graphc.InputError, words):
                head(*wrong)
        with self.assertRaisesRegex(graphc.InputError, "wanted a function: found int"):
            graphc.torch.function(3)
        with self.assertRaisesRegex(graphc.InputError, "result 0: wanted a value"):
            graphc.torch.function(lambda x: 3.0)(x)


if __name__ == "__main__":
    unittest.main()
