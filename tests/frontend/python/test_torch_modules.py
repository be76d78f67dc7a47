# SPDX-License-Identifier: Apache-2.0
# Models and cells as parts of torch programs: modules, optimizers, copies, pickles, processes.
import copy
import io
import os
import pickle
import tempfile
import threading
import unittest

import torch
import torch.distributed as distributed
import torch.multiprocessing as multiprocessing
from torch.utils.checkpoint import checkpoint

import graphc
import graphc.torch
from graphc import f32, i32
from torch_cells import gate, loop, plain, plain_in_torch


@graphc.torch.cell
def unit(x, h, w, u, b):
    return gate(x, h, w, u, b)


def language_model(width=8, rate=None):
    """The next of 11 words from words [steps, batch]."""
    model = graphc.Model("words")
    table = graphc.Embedding(model, "table", 11, width)
    lstm = graphc.Lstm(model, "rnn.lstm", width, width)
    out = graphc.Linear(model, "out", width, 11)

    @model.graph("logits")
    def logits(inputs):
        x = table(inputs("words", i32, ["steps", "batch"]))
        return out(lstm(x if rate is None else graphc.dropout(x, rate=rate)))

    @model.graph("both")
    def both(inputs):
        x = lstm(inputs("x", f32, ["steps", "batch", width]))
        return {"last": x[-1], "best": graphc.argmax(x[-1], -1)}

    return model


def dropped():
    return language_model(rate=0.5)


class TorchLm(torch.nn.Module):
    """The same with layers of torch, and the weights of a module of graphc."""

    def __init__(self, module):
        super().__init__()
        ours = dict(module.named_parameters())
        width = ours["table"].shape[1]
        self.table = torch.nn.Embedding(11, width)
        self.lstm = torch.nn.LSTM(width, width)
        self.out = torch.nn.Linear(width, 11)
        pairs = ((self.table.weight, ours["table"]),
                 (self.lstm.weight_ih_l0, ours["rnn.lstm.w"].t()),
                 (self.lstm.weight_hh_l0, ours["rnn.lstm.u"].t()),
                 (self.lstm.bias_ih_l0, ours["rnn.lstm.b"]),
                 (self.lstm.bias_hh_l0, torch.zeros_like(ours["rnn.lstm.b"])),
                 (self.out.weight, ours["out.w"].t()), (self.out.bias, ours["out.b"]))
        with torch.no_grad():
            for theirs, value in pairs:
                theirs.copy_(value)

    def forward(self, words):
        return self.out(self.lstm(self.table(words))[0])


def loss_of(net, words):
    logits = net(words[:-1])
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), words[1:].flatten().long())


def some_words(seed=0, steps=9, batch=4):
    return torch.randint(0, 11, (steps, batch), generator=torch.Generator().manual_seed(seed))


class Modules(unittest.TestCase):
    def setUp(self):
        self.net = graphc.torch.module(language_model, "logits", seed=3)

    def test_parameters_and_gradients_are_those_of_torch(self):
        self.assertEqual([name for name, _ in self.net.named_parameters()],
                         ["table", "rnn.lstm.w", "rnn.lstm.u", "rnn.lstm.b", "out.w", "out.b"])
        theirs = TorchLm(self.net)
        for words in (some_words(), some_words(1).to(torch.int32), some_words(2, 3, 1)):
            a, b = loss_of(self.net, words), loss_of(theirs, words)
            torch.testing.assert_close(a, b)
            self.net.zero_grad()
            theirs.zero_grad()
            a.backward()
            b.backward()
            torch.testing.assert_close(self.net.table.grad, theirs.table.weight.grad)
            torch.testing.assert_close(self.net.rnn.lstm.w.grad, theirs.lstm.weight_ih_l0.grad.t())
            torch.testing.assert_close(self.net.rnn.lstm.u.grad, theirs.lstm.weight_hh_l0.grad.t())
            torch.testing.assert_close(self.net.rnn.lstm.b.grad, theirs.lstm.bias_ih_l0.grad)
            torch.testing.assert_close(self.net.out.b.grad, theirs.out.bias.grad)

    def test_an_optimizer_of_torch_trains_it(self):
        optimizer = torch.optim.AdamW(self.net.parameters(), 0.02)
        words = some_words()
        for _ in range(60):
            optimizer.zero_grad()
            loss = loss_of(self.net, words)
            loss.backward()
            optimizer.step()
        self.assertLess(loss.item(), 0.5)

    def test_copies_states_and_pickles(self):
        words = some_words()
        wanted = self.net(words)
        again = graphc.torch.module(language_model, "logits", seed=9)
        self.assertFalse(torch.equal(again(words), wanted))
        again.load_state_dict(self.net.state_dict())
        self.assertTrue(torch.equal(again(words), wanted))
        twin = copy.deepcopy(self.net)
        with torch.no_grad():
            twin.out.b.add_(1)
        torch.testing.assert_close(twin(words), wanted + 1)
        self.assertTrue(torch.equal(self.net(words), wanted))
        file = io.BytesIO()
        torch.save(twin, file)
        file.seek(0)
        self.assertTrue(torch.equal(torch.load(file, weights_only=False)(words), twin(words)))
        with self.assertRaisesRegex(pickle.PicklingError, "the function that makes the model"):
            pickle.dumps(graphc.torch.module(language_model(), "logits"))
        self.assertIn("graph 'logits'", repr(self.net))

    def test_named_results_and_what_has_no_gradient(self):
        net = graphc.torch.module(language_model, "both")
        x = torch.randn(5, 3, 8, requires_grad=True)
        found = net(x)
        self.assertEqual(list(found), ["last", "best"])
        self.assertTrue(torch.equal(found["best"].long(), found["last"].argmax(-1)))
        found["last"].sum().backward()
        self.assertGreater(x.grad.abs().sum(), 0)

    def test_dropout_is_active_in_training_and_derived_with_its_mask(self):
        net = graphc.torch.module(dropped, "logits", seed=1)
        words = some_words()
        net.eval()
        self.assertTrue(torch.equal(net(words), net(words)))
        net.train()
        first, second = net(words), net(words)
        self.assertFalse(torch.equal(first, second))
        # The derivative is with the mask of its own run: of a loss that is a sum of squares of the
        # logits, a step against it makes the loss of that mask smaller.
        state = net.get_extra_state()
        loss = net(words).square().sum()
        loss.backward()
        with torch.no_grad():
            for parameter in net.parameters():
                parameter -= 1e-4 * parameter.grad
        net.set_extra_state(state)
        self.assertLess(net(words).square().sum().item(), loss.item())

    def test_draws_are_not_computed_again(self):
        net = graphc.torch.module(dropped, "logits").train()
        words = some_words()
        for reentrant in (True, False):
            through = torch.zeros((), requires_grad=True)
            found = checkpoint(lambda x: net(words) + x, through, use_reentrant=reentrant)
            with self.assertRaisesRegex(graphc.InputError, "its draws would be others"):
                found.sum().backward()
        leaf = net.get_parameter("out.b")
        with self.assertRaisesRegex(graphc.InputError, "its draws would be others"):
            torch.autograd.grad(net(words).square().sum(), leaf, create_graph=True)
        net.eval()
        checkpoint(lambda x: net(words) + x, through, use_reentrant=False).sum().backward()

    def test_a_file_of_weights_alone(self):
        net = graphc.torch.module(dropped, "logits").train()
        net(some_words())
        file = io.BytesIO()
        torch.save(net.state_dict(), file)
        file.seek(0)
        fresh = graphc.torch.module(dropped, "logits").train()
        fresh.load_state_dict(torch.load(file, weights_only=True))
        self.assertTrue(torch.equal(fresh(some_words()), net(some_words())))

    def test_integers_that_do_not_fit(self):
        for wrong in (2**40, -2**31 - 1):
            words = some_words().long()
            words[3, 1] = wrong
            message = f"input 0: wanted numbers of torch.int32: found {wrong}"
            with self.assertRaisesRegex(graphc.InputError, message):
                self.net(words)

    def test_functional_call(self):
        values = {name: 2 * value for name, value in self.net.named_parameters()}
        twice = copy.deepcopy(self.net)
        twice.load_state_dict(values, strict=False)
        words = some_words()
        found = torch.func.functional_call(self.net, values, (words,))
        self.assertTrue(torch.equal(found, twice(words)))

    def test_both_modes_in_threads(self):
        net = graphc.torch.module(dropped, "logits")
        words, wrong = some_words(), []
        nets = [net.train(), copy.deepcopy(net).eval()]
        right = nets[1](words)

        def work(net):
            try:
                for _ in range(50):
                    found = net(words)
                    if not net.training:
                        self.assertTrue(torch.equal(found, right))
            except Exception as error:
                wrong.append(error)

        threads = [threading.Thread(target=work, args=[each]) for each in nets]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_pickled_module_goes_on(self):
        net = graphc.torch.module(dropped, "logits").train()
        words = some_words()
        for _ in range(3):
            net(words)
        others = [pickle.loads(pickle.dumps(net)), graphc.torch.module(dropped, "logits")]
        others[1].load_state_dict(net.state_dict())
        self.assertEqual(others[1].state_dict().keys(), net.state_dict().keys())
        right = net(words)
        for other in others:
            other.eval()(words)  # draws nothing
            self.assertTrue(torch.equal(other.train()(words), right))
        state = net.get_extra_state()
        others[1].set_extra_state({**state, "best": 1})
        with self.assertRaisesRegex(graphc.InputError, "loaded has values of 'best'"):
            others[1](words)
        self.assertTrue(torch.equal(others[1](words), net(words)))

    def test_errors(self):
        with self.assertRaisesRegex(graphc.InputError, "no graph 'logit'.*logits"):
            graphc.torch.module(language_model, "logit")
        with self.assertRaisesRegex(graphc.InputError, "wanted a model"):
            graphc.torch.module(3, "logits")
        with self.assertRaisesRegex(graphc.InputError, "input 0: wanted a tensor: found list"):
            self.net([[1]])
        with self.assertRaises(graphc.InputError):
            self.net(torch.zeros(3, 2))  # floats for words
        with self.assertRaisesRegex(graphc.InputError, "index 11"):
            self.net(torch.full((3, 2), 11))
        for wrong in (torch.float16, torch.bfloat16):
            with self.assertRaisesRegex(graphc.InputError, f"'table' is {wrong}"):
                graphc.torch.module(language_model, "logits").to(wrong)(some_words())

    def test_torch_compile_and_export_go_through_it(self):
        words = some_words()
        wanted = self.net(words)
        compiled = torch.compile(self.net, backend="aot_eager", fullgraph=True)
        torch.testing.assert_close(compiled(words), wanted)
        loss_of(compiled, words).backward()
        found = self.net.rnn.lstm.u.grad.clone()
        self.net.zero_grad()
        loss_of(self.net, words).backward()
        torch.testing.assert_close(found, self.net.rnn.lstm.u.grad)
        exported = torch.export.export(self.net, (words,))
        torch.testing.assert_close(exported.module()(words), wanted)


class Cells(unittest.TestCase):
    def test_a_cell_is_pickled_by_name_and_copied_as_itself(self):
        self.assertIs(pickle.loads(pickle.dumps(unit)), unit)
        self.assertIs(copy.deepcopy(unit), unit)
        with self.assertRaises(Exception):
            pickle.dumps(graphc.torch.cell(lambda x, h: h))

    def test_autocast(self):
        ours = graphc.torch.cell(plain)
        torch.manual_seed(0)
        xs, h = torch.randn(6, 4, 16), torch.zeros(4, 16)
        w, u = (torch.nn.Parameter(0.2 * torch.randn(16, 16)) for _ in range(2))
        wanted = loop(plain_in_torch, 1, xs, h, w, u)[0]
        with torch.autocast("cpu", torch.bfloat16):
            rounded = xs @ torch.eye(16)
            self.assertEqual(rounded.dtype, torch.bfloat16)
            found = ours(rounded, h, w, u)[0]
        self.assertEqual(found.dtype, torch.float32)
        torch.testing.assert_close(found, wanted, rtol=0.05, atol=0.05)
        found.square().mean().backward()
        self.assertEqual(w.grad.dtype, torch.float32)
        self.assertTrue(w.grad.isfinite().all() and w.grad.abs().sum() > 0)

    def test_func_transforms_are_refused(self):
        ours = graphc.torch.cell(plain)
        xs, h, w, u = torch.randn(4, 2, 3), torch.zeros(2, 4), torch.randn(3, 4), torch.randn(4, 4)
        with self.assertRaisesRegex(graphc.InputError, "torch.func"):
            torch.func.grad(lambda w: ours(xs, h, w, u)[0].square().sum())(w)


def one_of_two(rank, path, queue):
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=2)
    net = torch.nn.parallel.DistributedDataParallel(
        graphc.torch.module(language_model, "logits", seed=3, threads=1))
    words = some_words()
    loss_of(net, words[:, 2 * rank:2 * rank + 2]).backward()
    if rank == 0:
        queue.put({name: one.grad.tolist() for name, one in net.module.named_parameters()})
    distributed.barrier()
    distributed.destroy_process_group()


class Processes(unittest.TestCase):
    def test_two_processes_have_the_gradients_of_one(self):
        with tempfile.TemporaryDirectory() as folder:
            context = multiprocessing.get_context("spawn")
            queue = context.Queue()
            ranks = [context.Process(target=one_of_two, args=(rank, f"{folder}/store", queue))
                     for rank in range(2)]
            for rank in ranks:
                rank.start()
            found = queue.get(timeout=500)
            for rank in ranks:
                rank.join()
                self.assertEqual(rank.exitcode, 0)
        net = graphc.torch.module(language_model, "logits", seed=3, threads=1)
        loss_of(net, some_words()).backward()
        for name, parameter in net.named_parameters():
            torch.testing.assert_close(torch.tensor(found[name]), parameter.grad, rtol=1e-4,
                                       atol=1e-6, msg=name)


if __name__ == "__main__":
    unittest.main()
