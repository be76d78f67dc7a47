#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A training step of a cell of one's own in PyTorch: through graphc, and eagerly in the same run.
"""Prints the milliseconds of the parts of a training step, with graphc and in PyTorch.

A step is the forward loop, the mean of the squares as the loss with its derivative, the backward
loop, and Adam's update; `cell` is the forward and the backward loop together. The two take turns,
and each figure is the median of its steps; `fastest` is the mean of the fastest tenth of whole
steps, which other programs on the machine disturb least.

    torch_cell.py [--steps 100] [--batch 32] [--input 64] [--hidden 128] [--repeat 60]
                  [--torch-threads N] [--threads N]
"""

import argparse
import statistics
import time

import torch

import graphc
import graphc.torch


def gate(x, h, w, u):
    """A unit with one gate, as equations on graphc's values."""
    f, g = graphc.split(x @ w + h @ u, 2)
    z = graphc.sigmoid(f)
    return z * h + (1 - z) * graphc.tanh(g)


def eager(xs, h, w, u):
    """The same loop in PyTorch."""
    steps = []
    for x in xs:
        f, g = (x @ w + h @ u).chunk(2, 1)
        z = torch.sigmoid(f)
        h = z * h + (1 - z) * torch.tanh(g)
        steps.append(h)
    return torch.stack(steps), h


class Training:
    """A program that trains the cell; its times are by part."""

    PARTS = ("forward", "loss", "backward", "update")

    def __init__(self, cell, options):
        generator = torch.Generator().manual_seed(3)
        draw = lambda *shape: torch.randn(*shape, generator=generator)
        self.cell = cell
        self.xs = draw(options.steps, options.batch, options.input)
        self.h = torch.zeros(options.batch, options.hidden)
        self.parameters = [torch.nn.Parameter(0.1 * draw(rows, 2 * options.hidden))
                           for rows in (options.input, options.hidden)]
        self.optimizer = torch.optim.Adam(self.parameters)
        self.seconds = []

    def step(self):
        """One step; gives the loss."""
        times = [time.perf_counter()]
        mark = lambda: times.append(time.perf_counter())
        self.optimizer.zero_grad()
        ys, _ = self.cell(self.xs, self.h, *self.parameters)
        mark()
        # By itself: its derivative, which is PyTorch's for both, is not timed with the cell's.
        outputs = ys.detach().requires_grad_()
        loss = outputs.square().mean()
        loss.backward()
        mark()
        ys.backward(outputs.grad)
        mark()
        self.optimizer.step()
        mark()
        self.seconds.append([end - begin for begin, end in zip(times, times[1:])])
        return loss.item()

    def first(self):
        """Milliseconds of the first forward and backward call, compilation included."""
        return 1e3 * (self.seconds[0][0] + self.seconds[0][2])

    def row(self):
        """Medians of the parts, of both loops and of their sum, and the fastest tenth of sums."""
        kept = self.seconds[len(self.seconds) // 10 + 1:]
        loops = [part[0] + part[2] for part in kept]
        sums = sorted(map(sum, kept))
        tenth = sums[:max(1, len(sums) // 10)]
        return [*(1e3 * statistics.median(part) for part in zip(*kept)),
                1e3 * statistics.median(loops), 1e3 * statistics.median(sums),
                1e3 * statistics.mean(tenth)]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("steps", 100), ("batch", 32), ("input", 64), ("hidden", 128),
                          ("repeat", 60), ("threads", 0), ("torch-threads", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    if options.torch_threads:
        torch.set_num_threads(options.torch_threads)
    ours = Training(graphc.torch.cell(gate, threads=options.threads), options)
    theirs = Training(eager, options)
    losses = [[], []]
    for _ in range(options.repeat):
        for training, found in zip((ours, theirs), losses):
            # Two in a row: the first of them finds the caches of the other program.
            found += [training.step() for _ in range(2)]
    worst = max(abs(a - b) for a, b in zip(*losses)) / losses[1][0]
    print(f"T {options.steps}, B {options.batch}, I {options.input}, H {options.hidden}; "
          f"PyTorch {torch.__version__} with {torch.get_num_threads()} threads")
    names = (*Training.PARTS, "cell", "step", "fastest")
    print(f"{'ms':10}" + "".join(f"{name:>10}" for name in names))
    for name, training in (("graphc", ours), ("PyTorch", theirs)):
        print(f"{name:10}" + "".join(f"{number:10.2f}" for number in training.row()))
    print(f"first call: graphc {ours.first():.0f} ms, PyTorch {theirs.first():.0f} ms; "
          f"losses differ by at most {worst:.1e} of the first")


if __name__ == "__main__":
    main()
