#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The sequence classifier in PyTorch, the reference for rnn-variants task=classification.
#
# The same sequences in the same order: with --keep 1 and --init the losses agree step by step, with
# dropout the accuracies agree within a point.
#
# Parameters in a weights file: for each layer l lstm.l.w, lstm.l.u, lstm.l.b, gates i, f, g, o side
# by side; out.w [H,1], out.b [1]. `classification.py --seed 1 --save-init waves.safetensors`.
import argparse
import json
import pathlib
import sys

import numpy
import torch

from arrays import load_arrays, save_arrays
from samples import forget_bias, glorot, shuffled, waves


def initial_weights(layers, hidden, seed):
    """Glorot-uniform over the packed matrices, a forget bias of 1."""
    random, weights = numpy.random.RandomState(seed), {}
    for layer in range(layers):
        weights[f"lstm.{layer}.w"] = glorot(random, hidden if layer else 2, 4 * hidden)
        weights[f"lstm.{layer}.u"] = glorot(random, hidden, 4 * hidden)
        weights[f"lstm.{layer}.b"] = forget_bias(hidden)
    weights["out.w"] = glorot(random, hidden, 1)
    weights["out.b"] = numpy.zeros(1, numpy.float32)
    return weights


class Classifier(torch.nn.Module):
    """LSTM layers with dropout between them, the mean over the steps, one logit."""

    def __init__(self, weights, layers, keep, dtype):
        super().__init__()
        hidden = weights["out.w"].shape[0]
        self.lstm = torch.nn.LSTM(
            2, hidden, layers, dropout=1 - keep if layers > 1 else 0.0, dtype=dtype
        )
        self.out = torch.nn.Linear(hidden, 1, dtype=dtype)
        pairs = [(self.out.weight, weights["out.w"].T), (self.out.bias, weights["out.b"])]
        for layer in range(layers):
            names = {"weight_ih": "w", "weight_hh": "u", "bias_ih": "b"}
            for theirs, ours in names.items():
                parameter = getattr(self.lstm, f"{theirs}_l{layer}")
                pairs.append((parameter, weights[f"lstm.{layer}.{ours}"].T))
            # PyTorch has two biases: ours is the first, the second stays 0.
            second = getattr(self.lstm, f"bias_hh_l{layer}")
            second.requires_grad = False
            pairs.append((second, 0 * weights[f"lstm.{layer}.b"]))
        with torch.no_grad():
            for parameter, value in pairs:
                parameter.copy_(torch.from_numpy(numpy.ascontiguousarray(value)))

    def forward(self, x):
        """Logits [batch] of sequences [batch, steps, 2]."""
        return self.out(self.lstm(x.transpose(0, 1))[0].mean(0)).squeeze(1)


def figures(model, x, y):
    """The loss, the share of correct classes, and that of the more frequent class."""
    model.eval()
    with torch.no_grad():
        found = model(x)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(found, y).item()
        accuracy = ((found > 0) == (y > 0)).double().mean().item()
    model.train()
    ones = y.double().mean().item()
    return {"loss": loss, "accuracy": accuracy, "majority": max(ones, 1 - ones)}


def train(options):
    """Trains and prints the results; returns the losses of all steps."""
    torch.manual_seed(options.seed)
    dtype = torch.float64 if options.dtype == "f64" else torch.float32
    x, y = (torch.from_numpy(part).to(dtype) for part in waves(options.sequences, 10, options.seed))
    weights = (
        load_arrays(options.init)
        if options.init
        else initial_weights(options.layers, options.hidden, options.seed)
    )
    model = Classifier(weights, options.layers, options.keep, dtype)
    parameters = [p for p in model.parameters() if p.requires_grad]
    adam = torch.optim.Adam(parameters, lr=options.learning_rate)
    count, valid = options.sequences * 819 // 1000, options.sequences * 81 // 1000
    losses = []
    for epoch in range(options.epochs):
        for rows in torch.tensor(shuffled(count, options.seed, epoch)).split(options.batch):
            adam.zero_grad()
            loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x[rows]), y[rows])
            loss.backward()
            torch.nn.utils.clip_grad_value_(parameters, 5)
            for parameter in parameters:
                parameter.grad.mul_(100 / parameter.grad.norm().clamp(min=100))
            adam.step()
            losses.append(loss.item())
            if len(losses) == options.steps:
                return losses
        part = figures(model, x[count : count + valid], y[count : count + valid])
        print(json.dumps({"epoch": epoch + 1, "valid": part}), flush=True)
    print(json.dumps({"test": figures(model, x[count + valid :], y[count + valid :])}))
    return losses


def main():
    parser = argparse.ArgumentParser(description="A classifier of sequences in PyTorch")
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--sequences", type=int, default=10000)
    parser.add_argument("--keep", type=float, default=0.8, help="of dropout between layers")
    parser.add_argument("--learning-rate", type=float, default=0.001)
    parser.add_argument("--dtype", choices=["f32", "f64"], default="f32")
    parser.add_argument("--seed", type=int, default=1, help="of sequences, weights and dropout")
    parser.add_argument("--init", help="weights to start from, safetensors")
    parser.add_argument("--save-init", help="write the weights of --seed here and stop")
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--steps", type=int, help="stop after so many training steps")
    parser.add_argument("--losses", help="write the losses of all steps here, with the command")
    options = parser.parse_args()
    if options.save_init:
        save_arrays(
            options.save_init, initial_weights(options.layers, options.hidden, options.seed)
        )
        return
    losses = train(options)
    if options.losses:
        # File names without folders, which differ between machines.
        command = ["classification.py"] + [pathlib.PurePath(word).name for word in sys.argv[1:]]
        record = {"command": " ".join(command), "torch": torch.__version__.split("+")[0]}
        text = json.dumps({**record, "losses": losses}, indent=1)
        pathlib.Path(options.losses).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
