# SPDX-License-Identifier: Apache-2.0
# A word language model as scripts for PyTorch are written: layers of torch.nn, truncated
# back-propagation, SGD by hand. --graphc changes one line: where the LSTM comes from.
"""Prints the loss of every step and the milliseconds of a step.

    word_language_model.py [--graphc] [--steps N] [--hidden N] [--dropout P]
"""

import argparse
import statistics
import time

import torch
from torch import nn

import graphc.torch


class RNNModel(nn.Module):
    def __init__(self, recurrent, words, width, hidden, layers, dropout):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(words, width)
        self.rnn = recurrent(width, hidden, layers, dropout=dropout)
        self.decoder = nn.Linear(hidden, words)
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


def train(recurrent, steps=50, words=1000, hidden=200, layers=2, dropout=0.2, batch=20, bptt=35,
          rate=5.0, clip=0.25):
    """The losses and the seconds of every step."""
    torch.manual_seed(1111)
    model = RNNModel(recurrent, words, hidden, hidden, layers, dropout)
    data = corpus(words, batch * (steps * bptt + 1)).narrow(0, 0, batch * (steps * bptt + 1))
    data = data.view(batch, -1).t().contiguous()
    criterion = nn.CrossEntropyLoss()
    hidden_state, losses, seconds = model.init_hidden(batch), [], []
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
        losses.append(loss.item())
        seconds.append(time.perf_counter() - begun)
    return losses, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphc", action="store_true")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--hidden", type=int, default=200)
    parser.add_argument("--dropout", type=float, default=0.2)
    options = parser.parse_args()
    recurrent = graphc.torch.LSTM if options.graphc else nn.LSTM
    losses, seconds = train(recurrent, options.steps, hidden=options.hidden,
                            dropout=options.dropout)
    for step, loss in enumerate(losses):
        print(f"{step:4} {loss:.6f}")
    print(f"{1e3 * statistics.median(seconds[1:]):.1f} ms a step, the first {seconds[0]:.2f} s")


if __name__ == "__main__":
    main()
