#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The programs of models/examples in PyTorch, and the median time of a step of each, to compare with
# the output of `example-NAME ... --time`.
#
#   tools/references/examples.py [--threads N] [NAME...]
import argparse
import statistics
import time

import torch
from torch import nn
from torch.nn import functional


def trained(module, optimizer, loss_of):
    """A training step: data, loss, gradients, update; returns the loss as a number."""

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(module)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def adam(module, rate):
    return torch.optim.Adam(module.parameters(), lr=rate)


def forecast():
    module = nn.ModuleDict({"lstm": nn.LSTM(1, 32), "out": nn.Linear(32, 1)})
    values = torch.randn(4000)

    def loss(m):
        starts = torch.randint(0, 3000, (32,))
        x = values[starts[None, :] + torch.arange(48)[:, None]][..., None]
        y = values[starts + 48][:, None]
        return functional.mse_loss(m["out"](m["lstm"](x)[0][-1]), y)

    return trained(module, adam(module, 0.005), loss)


class SLstm(nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.w = nn.Linear(size, 4 * hidden)
        self.u = nn.Linear(hidden, 4 * hidden, bias=False)
        self.out = nn.Linear(hidden, 2)
        self.hidden = hidden

    def forward(self, x):
        h = c = n = top = x.new_zeros(x.shape[1], self.hidden)
        results = []
        for projected in self.w(x):
            z, i, f, o = (projected + self.u(h)).chunk(4, 1)
            keep = top - functional.softplus(-f)
            top = torch.maximum(keep, i)
            put, forget = torch.exp(i - top), torch.exp(keep - top)
            c = forget * c + put * torch.tanh(z)
            n = forget * n + put
            h = torch.sigmoid(o) * c / n
            results.append(h)
        return self.out(torch.stack(results))


def own_cell():
    module = SLstm(1, 32)

    def loss(m):
        bits = torch.randint(0, 2, (24, 32))
        logits = m(bits[..., None].float())
        return functional.cross_entropy(logits.flatten(0, 1), (bits.cumsum(0) % 2).flatten())

    return trained(module, adam(module, 0.01), loss)


def lengths():
    module = nn.ModuleDict({
        "digits": nn.Embedding(10, 16),
        "gru": nn.GRU(16, 32, bidirectional=True),
        "hidden": nn.Linear(128, 64),
        "out": nn.Linear(64, 2),
    })

    def loss(m):
        longest = int(torch.randint(8, 41, ()))
        digits = torch.randint(0, 10, (longest, 32))
        rows = torch.randint(2, longest + 1, (32,))
        packed = nn.utils.rnn.pack_padded_sequence(m["digits"](digits), rows, enforce_sorted=False)
        y, ends = m["gru"](packed)
        y, _ = nn.utils.rnn.pad_packed_sequence(y)
        logits = m["out"](torch.relu(m["hidden"](torch.cat([ends[0], ends[1], y[0]], 1))))
        return functional.cross_entropy(logits, (digits[0] == digits[1]).long())

    return trained(module, adam(module, 0.003), loss)


class Reverser(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.digits = nn.Embedding(11, hidden)
        self.encoder = nn.LSTM(hidden, hidden)
        self.decoder = nn.LSTMCell(2 * hidden, hidden)
        self.out = nn.Linear(2 * hidden, 10)

    def forward(self, text, before):
        heard, (h, c) = self.encoder(self.digits(text))
        heard, h, c = heard.transpose(0, 1), h[0], c[0]
        context, results = torch.zeros_like(h), []
        for said in self.digits(before):
            h, c = self.decoder(torch.cat([said, context], 1), (h, c))
            weights = torch.softmax(torch.bmm(heard, h[:, :, None])[:, :, 0], 1)
            context = torch.bmm(weights[:, None, :], heard)[:, 0]
            results.append(self.out(torch.cat([h, context], 1)))
        return torch.stack(results)


def seq2seq():
    module = Reverser(64)

    def loss(m):
        text = torch.randint(0, 10, (8, 32))
        wanted = text.flip(0)
        before = torch.cat([torch.full((1, 32), 10), wanted[:-1]])
        return functional.cross_entropy(m(text, before).flatten(0, 1), wanted.flatten())

    return trained(module, adam(module, 0.003), loss)


def pytorch_weights():
    words, lstm = nn.Embedding(7, 5), nn.LSTM(5, 4, num_layers=2, bidirectional=True)
    gru, rnn, norm, out = nn.GRU(8, 3), nn.RNN(3, 6), nn.LayerNorm(6), nn.Linear(6, 2)
    tokens = torch.randint(0, 7, (5, 3))

    def step():
        with torch.no_grad():
            return out(norm(rnn(gru(lstm(words(tokens))[0])[0])[0]))

    return step


def char_lm():
    module = nn.ModuleDict({
        "letters": nn.Embedding(128, 64),
        "lstm": nn.LSTM(64, 64),
        "out": nn.Linear(64, 128),
    })
    text = torch.randint(32, 127, (20000,))

    def loss(m):
        at = torch.randint(0, 19000, (16,))[None, :] + torch.arange(33)[:, None]
        x, y = text[at[:-1]], text[at[1:]]
        logits = m["out"](m["lstm"](m["letters"](x))[0])
        return functional.cross_entropy(logits.flatten(0, 1), y.flatten())

    return trained(module, adam(module, 0.01), loss)


def milliseconds(step):
    for _ in range(5):
        step()
    times = []
    for _ in range(40):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)


EXAMPLES = (forecast, own_cell, lengths, seq2seq, pytorch_weights, char_lm)


def main():
    parser = argparse.ArgumentParser(description="Times the examples' references in PyTorch.")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    for example in EXAMPLES:
        if not arguments.names or example.__name__ in arguments.names:
            print(f"{example.__name__:16} {milliseconds(example()):8.3f} ms a step", flush=True)


if __name__ == "__main__":
    main()
