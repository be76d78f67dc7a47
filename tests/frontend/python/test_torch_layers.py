# SPDX-License-Identifier: Apache-2.0
# The recurrent layers of torch.nn with graphc inside, beside those of torch.
import itertools
import math
import unittest

import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import graphc
import graphc.torch
import word_language_model


def pair(kind, *arguments, **options):
    """A layer of torch and one of graphc with its weights."""
    torch.manual_seed(5)
    theirs = getattr(torch.nn, kind)(*arguments, **options)
    ours = getattr(graphc.torch, kind)(*arguments, **options)
    ours.load_state_dict(theirs.state_dict())
    return theirs, ours


def flat(found):
    """The tensors of what a layer returns."""
    ys, last = found
    ys = pad_packed_sequence(ys)[0] if isinstance(ys, torch.nn.utils.rnn.PackedSequence) else ys
    return [ys, *(last if isinstance(last, tuple) else (last,))]


class Layers(unittest.TestCase):
    def check(self, theirs, ours, *inputs):
        results = [flat(layer(*inputs)) for layer in (theirs, ours)]
        for a, b in zip(*results):
            torch.testing.assert_close(b, a, rtol=1e-4, atol=1e-5)
        gradients = []
        for layer, found in zip((theirs, ours), results):
            layer.zero_grad()
            sum((one * torch.linspace(-1, 1, one.numel()).view(one.shape)).sum()
                for one in found).backward()
            gradients.append([one.grad for one in layer.parameters()])
        for a, b in zip(*gradients):
            torch.testing.assert_close(b, a, rtol=1e-3, atol=1e-4)

    def test_every_option(self):
        for kind in ("LSTM", "GRU", "RNN"):
            for layers, both, first, bias in itertools.product((1, 2), (False, True),
                                                               (False, True), (True, False)):
                options = {"num_layers": layers, "bidirectional": both, "batch_first": first,
                           "bias": bias}
                with self.subTest(kind=kind, **options):
                    theirs, ours = pair(kind, 3, 4, **options)
                    self.check(theirs, ours, torch.randn(5, 2, 3))
                    batch = 5 if first else 2
                    states = [torch.randn(layers * (1 + both), batch, 4) for _ in range(2)]
                    self.check(theirs, ours, torch.randn(5, 2, 3),
                               tuple(states) if kind == "LSTM" else states[0])
        self.check(*pair("RNN", 3, 4, nonlinearity="relu"), torch.randn(5, 2, 3))
        self.check(*pair("LSTM", 3, 4, proj_size=2), torch.randn(5, 2, 3))
        self.check(*pair("LSTM", 3, 4), torch.randn(5, 3))

    def test_packed_sequences(self):
        for kind, both, ordered in itertools.product(("LSTM", "GRU"), (False, True), (True, False)):
            with self.subTest(kind=kind, both=both, ordered=ordered):
                theirs, ours = pair(kind, 3, 4, bidirectional=both)
                lengths = [6, 4, 1] if ordered else [4, 1, 6]
                packed = pack_padded_sequence(torch.randn(6, 3, 3), torch.tensor(lengths),
                                              enforce_sorted=ordered)
                self.check(theirs, ours, packed)

    def test_a_language_model_trains_to_the_same_losses(self):
        for dropout in (0.0, 0.2):
            options = {"steps": 50, "words": 200, "hidden": 32, "batch": 8, "bptt": 12,
                       "dropout": dropout}
            wanted, _ = word_language_model.train(**options)
            found, _ = word_language_model.train(
                **options, **word_language_model.kinds_of("f32"))
            self.assertLess(max(abs(a - b) for a, b in zip(found, wanted)), 1e-4)
            self.assertLess(sum(wanted[-10:]) / 10, wanted[0] - 0.05)

    def test_precisions(self):
        options = {"steps": 50, "words": 200, "hidden": 32, "batch": 8, "bptt": 12}
        wanted, _ = word_language_model.train(**options)
        for precision in ("bf16x3", "bf16x6"):
            kinds = word_language_model.kinds_of(precision)
            try:
                found, _ = word_language_model.train(**options, **kinds)
            except graphc.ResourceError as error:
                self.assertRegex(str(error), f"precision '{precision}' needs a processor")
                continue
            self.assertLess(max(abs(a - b) for a, b in zip(found, wanted)), 1e-4)
            # The products are those of parts, not of f32.
            kinds = word_language_model.kinds_of("f32")
            self.assertNotEqual(found, word_language_model.train(**options, **kinds)[0])
        with self.assertRaisesRegex(graphc.UsageError, "precision"):
            graphc.torch.GRU(3, 4, precision="half")(torch.zeros(5, 2, 3))

    def test_linear(self):
        for bias in (True, False):
            theirs, ours = pair("Linear", 3, 4, bias=bias)
            for shape in ((3,), (5, 3), (2, 5, 3), (0, 3)):
                found, wanted = [], []
                for layer, results in ((ours, found), (theirs, wanted)):
                    x = torch.linspace(-1, 1, math.prod(shape)).view(shape).requires_grad_()
                    y = layer(x)
                    results += [y, *torch.autograd.grad(y.square().sum(),
                                                        [x, *layer.parameters()])]
                for a, b in zip(found, wanted, strict=True):
                    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)

    def test_linear_within_a_compiled_function(self):
        layer, x = graphc.torch.Linear(3, 4), torch.randn(5, 3)
        compiled = torch.compile(lambda x: layer(x).sum(), fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(compiled(x), layer(x).sum())

    def test_errors(self):
        with self.assertRaisesRegex(graphc.InputError, "2 or 3 axes: found 1"):
            graphc.torch.GRU(3, 4)(torch.zeros(3))
        one = torch.zeros(1, 2, 4)
        with self.assertRaisesRegex(graphc.InputError, r"first states \[\(2, 2, 4\)\]: found"):
            graphc.torch.GRU(3, 4, 2)(torch.zeros(5, 2, 3), one)
        with self.assertRaisesRegex(graphc.InputError, r"\(1, 3, 4\), \(1, 3, 4\)\]: found"):
            graphc.torch.LSTM(3, 4)(torch.zeros(5, 3, 3), (one, one))
        with self.assertRaisesRegex(graphc.UsageError, "f64"):
            graphc.torch.LSTM(3, 4).double()(torch.zeros(5, 2, 3).double())


if __name__ == "__main__":
    unittest.main()
