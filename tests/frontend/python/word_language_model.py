# SPDX-License-Identifier: Apache-2.0
# A word language model as scripts for PyTorch are written: layers of torch.nn, truncated
# back-propagation, SGD by hand. --graphc changes two lines: where LSTM and Linear come from.
"""Prints the loss of every step and the milliseconds of a step: the median and the fastest tenth.

    word_language_model.py [--graphc] [--precision P] [--steps N] [--hidden N] [--dropout P]

--pair trains it both ways, a step of each in turn, and compares times and losses.
"""

import argparse
import contextlib
import functools
import statistics
import time

import torch
from torch import nn

import graphc.torch


class RNNModel(nn.Module):
    def __init__(self, words, width, hidden, layers, dropout, recurrent=nn.LSTM, linear=nn.Linear):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(words, width)
        self.rnn = recurrent(width, hidden, layers, dropout=dropout)
        self.decoder = linear(hidden, words)
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)

    def forward(self, words, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(words)), hidden)
        return self.decoder(self.drop(output)), hidden

    def init_hidden(self, batch):
        weight = next(self.parameters())
        shape = (self.rnn.num_layers, batch, self.rnn.hidden_size)
        return weight.new_zeros(shape), weight.new_zeros(shape)


def corpus(words, length):
    """Words of which each tells much about the next."""
    generator = torch.Generator().manual_seed(1)
    follows = torch.randint(0, words, (words, 4), generator=generator)
    choices = torch.randint(0, 4, (length,), generator=generator).tolist()
    text = [0]
    for choice in choices:
        text.append(int(follows[text[-1], choice]))
    return torch.tensor(text)


def training(steps=50, words=1000, hidden=200, layers=2, dropout=0.2, batch=20, bptt=35, rate=20.0,
             clip=0.25, **kinds):
    """Gives the loss and the seconds of every step."""
    torch.manual_seed(1111)
    model = RNNModel(words, hidden, hidden, layers, dropout, **kinds)
    data = corpus(words, batch * (steps * bptt + 1)).narrow(0, 0, batch * (steps * bptt + 1))
    data = data.view(batch, -1).t().contiguous()
    criterion = nn.CrossEntropyLoss()
    hidden_state = model.init_hidden(batch)
    model.train()
    for step in range(steps):
        begun = time.perf_counter()
        source = data[step * bptt:(step + 1) * bptt]
        target = data[step * bptt + 1:(step + 1) * bptt + 1].reshape(-1)
        model.zero_grad()
        hidden_state = tuple(state.detach() for state in hidden_state)
        output, hidden_state = model(source, hidden_state)
        loss = criterion(output.view(-1, words), target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(parameter.grad, alpha=-rate)
        yield loss.item(), time.perf_counter() - begun


def train(**options):
    """The losses and the seconds of every step."""
    return tuple(zip(*training(**options)))


def train_pair(theirs, ours):
    """The losses and the seconds of every step of two trainings that take turns."""
    # Each draws the numbers that it would draw alone.
    runs, states = (training(**theirs), training(**ours)), [None, None]
    found = ([], [])
    with contextlib.suppress(StopIteration):
        while True:
            for place, run in enumerate(runs):
                if states[place] is not None:
                    torch.set_rng_state(states[place])
                found[place].append(next(run))
                states[place] = torch.get_rng_state()
    return [tuple(zip(*steps)) for steps in found]


def row(seconds):
    """The median and the mean of the fastest tenth, in milliseconds."""
    kept = sorted(seconds[1:])
    return 1e3 * statistics.median(kept), 1e3 * statistics.mean(kept[:max(1, len(kept) // 10)])


def kinds_of(precision):
    """graphc's layers in the place of torch's."""
    return {"recurrent": functools.partial(graphc.torch.LSTM, precision=precision),
            "linear": functools.partial(graphc.torch.Linear, precision=precision)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphc", action="store_true")
    parser.add_argument("--pair", action="store_true")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--hidden", type=int, default=200)
    parser.add_argument("--dropout", type=float, default=0.2)
    options = parser.parse_args()
    theirs = {"steps": options.steps, "hidden": options.hidden, "dropout": options.dropout}
    ours = {**theirs, **kinds_of(options.precision)}
    if options.pair:
        (wanted, before), (found, after) = train_pair(theirs, ours)
        for name, seconds in (("torch.nn", before), ("graphc", after)):
            print("{:9}{:8.1f} ms a step, the fastest tenth {:.1f}".format(name, *row(seconds)))
        ratios = [a / b for a, b in zip(row(before), row(after))]
        print("{:.2f} times as fast, the fastest tenth {:.2f}; losses of 50 steps differ by at "
              "most {:.1e}".format(*ratios, max(abs(a - b) for a, b in zip(found[:50], wanted))))
        return
    losses, seconds = train(**(ours if options.graphc else theirs))
    for step, loss in enumerate(losses):
        print(f"{step:4} {loss:.6f}")
    print("{:.1f} ms a step, the fastest tenth {:.1f}, the first {:.0f}".format(*row(seconds),
                                                                               1e3 * seconds[0]))


if __name__ == "__main__":
    main()
