#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Keras' LSTM on characters in PyTorch, the reference for char-lstm.
#
# With the same start (--init) and the same windows in the same order, the losses agree step by step
# until rounding makes them diverge. A loss is the mean nats of a window's next character.
#
# Parameters in a weights file: lstm.w [V,4H], lstm.u [H,4H], lstm.b [4H], gates i, f, g, o side by
# side, z = row of w + h u + b, i, f and o through hard_sigmoid; dense.w [H,V], dense.b [V]. Create
# it with `char_lstm.py --seed 1 --save-init nietzsche.safetensors`.
import argparse
import json
import pathlib
import time

import numpy
import torch

from arrays import load_arrays, save_arrays
from ptb_lm import write_losses
from samples import character_windows, forget_bias, glorot, nietzsche, shuffled, wikitext2

NAMES = ("lstm.w", "lstm.u", "lstm.b", "dense.w", "dense.b")


def initial_weights(vocabulary, hidden, seed):
    """Glorot-uniform kernels, an orthogonal recurrent kernel, a forget bias of 1."""
    random = numpy.random.RandomState(seed)
    w = glorot(random, vocabulary, 4 * hidden)
    orthogonal, _ = numpy.linalg.qr(random.normal(size=(4 * hidden, hidden)))
    u = orthogonal.T.astype(numpy.float32)
    dense = glorot(random, hidden, vocabulary)
    bias = numpy.zeros(vocabulary, numpy.float32)
    return dict(zip(NAMES, (w, u, forget_bias(hidden), dense, bias)))


def hard_sigmoid(x):
    """Keras' hard sigmoid; the slope of PyTorch's is 1/6."""
    return (0.2 * x + 0.5).clamp(0, 1)


def logits(p, windows):
    """Logits [batch, V] after windows of ids [batch, steps]."""
    hidden = p["lstm.u"].shape[0]
    h = c = p["lstm.w"].new_zeros(windows.shape[0], hidden)
    for now in p["lstm.w"][windows].unbind(1):
        i, f, g, o = (now + h @ p["lstm.u"] + p["lstm.b"]).chunk(4, dim=-1)
        c = hard_sigmoid(f) * c + hard_sigmoid(i) * g.tanh()
        h = hard_sigmoid(o) * c.tanh()
    return h @ p["dense.w"] + p["dense.b"]


def update(p, squares, rate):
    """Keras' RMSprop: epsilon is outside the root, as in PyTorch."""
    with torch.no_grad():
        for name, parameter in p.items():
            g = parameter.grad
            squares[name].mul_(0.9).add_(g * g, alpha=0.1)
            parameter.sub_(rate * g / (squares[name].sqrt() + 1e-7))
            parameter.grad = None


def parse_options():
    parser = argparse.ArgumentParser(description="Keras' LSTM on characters in PyTorch")
    parser.add_argument("--data", type=pathlib.Path, help="nietzsche.txt, or any text")
    parser.add_argument("--corpus", choices=["nietzsche", "wikitext-2"], default="nietzsche")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--window", type=int, default=40, help="characters of a window")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--vocabulary", type=int, default=57, help="of --save-init")
    parser.add_argument("--learning-rate", type=float, default=0.01)
    parser.add_argument("--dtype", choices=["f32", "f64"], default="f32")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--seed", type=int, default=1, help="of weights, and of the order")
    parser.add_argument("--init", help="weights to start from, safetensors")
    parser.add_argument("--save-init", help="write the weights of --seed here and stop")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--steps", type=int, help="stop after so many training steps")
    parser.add_argument("--losses", help="write the losses of all steps here, with the command")
    options = parser.parse_args()
    if options.data is None and options.save_init is None:
        parser.error("--data is wanted")
    return options


def train(options):
    """Trains and prints the mean loss of each epoch; returns the losses of all steps, and their
    duration in seconds."""
    text = (nietzsche if options.corpus == "nietzsche" else wikitext2)(options.data)
    windows, targets, characters = character_windows(text, options.window)
    dtype = torch.float64 if options.dtype == "f64" else torch.float32
    weights = (
        load_arrays(options.init)
        if options.init
        else initial_weights(len(characters), options.hidden, options.seed)
    )
    p = {name: torch.from_numpy(weights[name]).to(dtype).requires_grad_() for name in NAMES}
    squares = {name: torch.zeros_like(parameter) for name, parameter in p.items()}
    windows, targets, losses = torch.from_numpy(windows), torch.from_numpy(targets), []
    begun = time.perf_counter()
    for epoch in range(options.epochs):
        order = torch.tensor(shuffled(len(targets), options.seed, epoch))
        total, start = 0.0, time.perf_counter()
        for rows in order.split(options.batch):
            loss = torch.nn.functional.cross_entropy(logits(p, windows[rows]), targets[rows])
            loss.backward()
            update(p, squares, options.learning_rate)
            losses.append(loss.item())
            total += loss.item() * len(rows)
            if len(losses) == options.steps:
                return losses, time.perf_counter() - begun
        seconds = round(time.perf_counter() - start, 1)
        record = {"epoch": epoch + 1, "train_loss": total / len(targets), "seconds": seconds}
        print(json.dumps(record), flush=True)
    return losses, time.perf_counter() - begun


def main():
    options = parse_options()
    if options.save_init:
        save_arrays(
            options.save_init, initial_weights(options.vocabulary, options.hidden, options.seed)
        )
        return
    if options.threads:
        torch.set_num_threads(options.threads)
    losses, seconds = train(options)
    if options.losses:
        write_losses(options.losses, "char_lstm.py", losses, seconds)


if __name__ == "__main__":
    main()
