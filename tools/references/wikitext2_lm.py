#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The WikiText-2 word language models in PyTorch, the reference for wikitext2-lm.
#
# usage: wikitext2_lm.py [config=kawakami|pytorch] [NAME=VALUE ...] --data DIR [--steps N] ...
#
# The parameters are those of graphc. With the same start (--init), windows and loss, and without
# dropout (keep=1), the losses of two correct programs agree step by step. Weight files are those of
# ptb_lm.py; with tied=true there is no softmax.w.
import argparse
import json
import math
import pathlib
import time

import numpy
import torch

from arrays import load_arrays, save_arrays
from ptb_lm import Model, exact_norm, read_words, vocabulary_of, windows, write_losses
from workloads import Refused, wikitext2


def initial_weights(found, seed):
    """PyTorch's default initialisation U(+-1/sqrt(hidden)); the embedding from N(0, 1). For config
    pytorch, embedding and softmax from U(+-0.1), the softmax's bias 0."""
    random = numpy.random.RandomState(seed)
    hidden, words = found["hidden"], found["vocabulary"]
    example = found["config"] == "pytorch"

    def uniform(limit, *shape):
        return random.uniform(-limit, limit, shape).astype(numpy.float32)

    width = hidden**-0.5
    table = uniform(0.1, words, hidden) if example else random.standard_normal((words, hidden))
    weights = {"embedding": table.astype(numpy.float32)}
    for layer in range(found["layers"]):
        weights[f"lstm.{layer}.w"] = uniform(width, hidden, 4 * hidden)
        weights[f"lstm.{layer}.u"] = uniform(width, hidden, 4 * hidden)
        weights[f"lstm.{layer}.b"] = uniform(width, 4 * hidden)
    if not found["tied"]:
        weights["softmax.w"] = uniform(0.1 if example else width, hidden, words)
    weights["softmax.b"] = numpy.zeros(words, numpy.float32) if example else uniform(width, words)
    return weights


def read_corpus(folder, config):
    """Ids of train, valid and test; for config kawakami a blank line does not count as a line
    end."""
    names = {s: folder / f"wiki.{s}.tokens" for s in ("train", "valid", "test")}
    if not names["train"].exists():
        names = {s: folder / f"{s}.txt" for s in names}
    words = {s: read_words(path, config == "pytorch") for s, path in names.items()}
    ids_of = vocabulary_of(words["train"])
    unknown = ids_of.get("<unk>")
    return {s: [ids_of.get(word, unknown) for word in text] for s, text in words.items()}


class Trainer:
    """Model, optimizer and schedule of a configuration."""

    def __init__(self, found, options):
        self.found, self.device = found, options.device
        size = argparse.Namespace(**{n: found[n] for n in ("hidden", "layers", "keep")})
        dtype = torch.float64 if options.dtype == "f64" else torch.float32
        self.model = Model(size, found["vocabulary"], dtype, tied=found["tied"])
        start = load_arrays(options.init) if options.init else initial_weights(found, options.seed)
        self.model.load(start)
        self.model.to(options.device)
        self.parameters = [p for p in self.model.parameters() if p.requires_grad]
        kind = torch.optim.SGD if found["config"] == "pytorch" else torch.optim.Adam
        self.optimizer = kind(self.parameters, lr=found["learning-rate"])
        self.best = None

    def loss(self, words, state, targets):
        """The loss of a window, its divisor to nats per word, and the state after."""
        logits, state, _ = self.model(words.to(self.device), state)
        mean = self.found["config"] == "pytorch"
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1),
            targets.to(self.device).flatten(),
            reduction="mean" if mean else "sum",
        )
        return loss, 1 if mean else targets.numel(), state

    def train(self, ids, steps):
        """The nats per word of each step of an epoch, or of its first `steps` steps."""
        self.model.train()
        state, losses = self.model.zero_state(self.found["batch"]), []
        for words, targets in windows(ids, self.found["batch"], self.found["steps"]):
            if len(losses) == steps:
                break
            self.optimizer.zero_grad(set_to_none=True)
            loss, count, state = self.loss(words, state, targets)
            loss.backward()
            self.clip()
            self.optimizer.step()
            losses.append(loss.item() / count)
        return losses

    def clip(self):
        """Scales the gradients' global norm down to the limit; without the 1e-6 that
        torch.nn.utils.clip_grad_norm_ adds to it."""
        if self.found["clip"] is not None:
            gradients = [parameter.grad for parameter in self.parameters]
            norm = float(exact_norm(gradients))
            torch._foreach_mul_(gradients, self.found["clip"] / max(norm, self.found["clip"]))

    def evaluate(self, ids):
        """Mean nats per word, without dropout."""
        self.model.eval()
        state, losses = self.model.zero_state(self.found["batch"]), []
        with torch.no_grad():
            for words, targets in windows(ids, self.found["batch"], self.found["steps"]):
                loss, count, state = self.loss(words, state, targets)
                losses.append(loss.item() / count)
        return sum(losses) / len(losses)

    def validated(self, loss):
        """The schedule of config pytorch: divides the rate by four if the loss did not improve."""
        if self.best is None or loss < self.best:
            self.best = loss
        elif self.found["config"] == "pytorch":
            for group in self.optimizer.param_groups:
                group["lr"] /= 4


def parse_options():
    parser = argparse.ArgumentParser(description="WikiText-2 word language models in PyTorch")
    parser.add_argument("parameters", nargs="*", metavar="NAME=VALUE", help="graphc's")
    parser.add_argument("--data", type=pathlib.Path, help="folder of {train,valid,test}.txt")
    parser.add_argument("--dtype", choices=["f32", "f64"], default="f32")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--seed", type=int, default=1, help="of initial weights and dropout")
    parser.add_argument("--init", help="weights to start from, safetensors")
    parser.add_argument("--save-init", help="write the initial weights of --seed here and stop")
    parser.add_argument("--steps", type=int, help="stop after so many training steps")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--losses", help="write the losses of all steps here, with the command")
    options = parser.parse_args()
    if options.data is None and options.save_init is None:
        parser.error("--data is wanted")
    try:
        return wikitext2(dict(word.split("=", 1) for word in options.parameters)), options
    except (Refused, ValueError) as error:
        parser.error(str(error))


def main():
    found, options = parse_options()
    if options.save_init:
        save_arrays(options.save_init, initial_weights(found, options.seed))
        return
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    ids = read_corpus(options.data, found["config"])
    trainer, losses, seconds = Trainer(found, options), [], 0.0
    for index in range(options.epochs):
        left = None if options.steps is None else options.steps - len(losses)
        start = time.perf_counter()
        epoch = trainer.train(ids["train"], left)
        seconds += time.perf_counter() - start
        losses += epoch
        if options.steps is not None and len(losses) >= options.steps:
            break
        valid = trainer.evaluate(ids["valid"])
        trainer.validated(valid)
        train = math.exp(sum(epoch) / len(epoch))
        record = {"epoch": index, "train_perplexity": train, "valid_perplexity": math.exp(valid)}
        print(json.dumps(record), flush=True)
    else:
        print(json.dumps({"test_perplexity": math.exp(trainer.evaluate(ids["test"]))}))
    if options.losses:
        write_losses(options.losses, "wikitext2_lm.py", losses, seconds)


if __name__ == "__main__":
    main()
