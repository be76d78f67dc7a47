#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The PTB word language model in PyTorch: the reference for ptb-lm, and a peer for speed.
#
# With the same start (--init), windows and loss, and without dropout (sizes test and small), the
# losses of two correct programs agree step by step, until rounding makes them diverge at rate 1.0.
# Logged losses are nats per word; the minimised one is the sum over the steps of a window, mean
# over the batch.
#
# Parameters in a weights file: embedding [V,H]; for each layer l lstm.l.w, lstm.l.u [H,4H] and
# lstm.l.b [4H], gates i, f, g, o side by side, z = x w + h u + b; softmax.w [H,V], softmax.b [V].
# Create it with `ptb_lm.py --size small --seed 1 --save-init small.safetensors`.
import argparse
import collections
import json
import math
import pathlib
import sys
import time

import torch

from arrays import load_arrays, save_arrays
from drawn import language_model_weights
from workloads import BATCH, SIZES, WORDS


def read_words(path, blank_lines=True):
    """The words of a split; each newline, or each after a word on its line, becomes the word
    <eos>."""
    text = path.read_text(encoding="utf-8")
    if not blank_lines:
        text = "".join(line + "\n" for line in text.split("\n") if line.strip(" "))
    return [word for word in text.replace("\n", " <eos> ").split(" ") if word]


def vocabulary_of(words):
    """Ids by descending frequency, ties by word."""
    counts = collections.Counter(words)
    order = sorted(counts, key=lambda word: (-counts[word], word))
    return {word: index for index, word in enumerate(order)}


def windows(ids, batch, steps):
    """Pairs of inputs and targets [steps, batch]: windows of `batch` rows of the stream."""
    columns = len(ids) // batch
    rows = torch.tensor(ids[: columns * batch]).reshape(batch, columns).T.contiguous()
    for start in range(0, (columns - 1) // steps * steps, steps):
        yield rows[start : start + steps], rows[start + 1 : start + steps + 1]


class Model(torch.nn.Module):
    """Embedding, dropout, LSTM layers each with dropout, softmax; with `tied` the softmax uses the
    embedding's table as its weights."""

    def __init__(self, size, vocabulary, dtype, tied=False):
        super().__init__()
        hidden = size.hidden
        self.embedding = torch.nn.Embedding(vocabulary, hidden, dtype=dtype)
        self.layers = torch.nn.ModuleList(
            torch.nn.LSTM(hidden, hidden, dtype=dtype) for _ in range(size.layers)
        )
        for layer in self.layers:  # PyTorch has two biases: ours is the first, the second stays 0
            torch.nn.init.zeros_(layer.bias_hh_l0)
            layer.bias_hh_l0.requires_grad = False
        self.softmax = torch.nn.Linear(hidden, vocabulary, dtype=dtype)
        self.tied = tied
        if tied:
            self.softmax.weight = self.embedding.weight
        self.dropout = torch.nn.Dropout(1 - size.keep)

    def named_weights(self):
        """Our name, PyTorch's parameter, and whether it is the transpose of ours."""
        yield "embedding", self.embedding.weight, False
        for index, layer in enumerate(self.layers):
            yield f"lstm.{index}.w", layer.weight_ih_l0, True
            yield f"lstm.{index}.u", layer.weight_hh_l0, True
            yield f"lstm.{index}.b", layer.bias_ih_l0, False
        if not self.tied:
            yield "softmax.w", self.softmax.weight, True
        yield "softmax.b", self.softmax.bias, False

    def load(self, weights):
        for name, parameter, transposed in self.named_weights():
            value = torch.from_numpy(weights[name])
            value = value.T if transposed else value
            if value.shape != parameter.shape:
                sys.exit(f"ptb_lm.py: {name} is {list(weights[name].shape)} in the weights file")
            with torch.no_grad():
                parameter.copy_(value)

    def hidden(self, words, state):
        """The projection's input, the state after the window, and the embedded words."""
        embedded = self.embedding(words)
        x, after = self.dropout(embedded), []
        for layer, before in zip(self.layers, state):
            x, end = layer(x, before)
            x = self.dropout(x)
            after.append(tuple(part.detach() for part in end))
        return x, after, embedded

    def forward(self, words, state):
        """Logits [steps, batch, V], the state after the window, and the embedded words."""
        x, after, embedded = self.hidden(words, state)
        return self.softmax(x), after, embedded

    def zero_state(self, batch):
        weight = self.embedding.weight
        zero = torch.zeros(1, batch, weight.shape[1], dtype=weight.dtype, device=weight.device)
        return [(zero, zero) for _ in self.layers]


def cost_of(logits, targets):
    """Cross entropy summed over the steps, mean over the batch."""
    total = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), reduction="sum"
    )
    return total / targets.shape[1]


def chunked_cost(hidden, projection, targets):
    """The same from the projection's input, in chunks: the logits never exist as a whole. A mean,
    because in bf16 the sum of all words' losses would lose its last digits."""
    mean = torch.nn.functional.linear_cross_entropy(
        hidden.flatten(0, 1),
        projection.weight,
        targets.flatten(),
        linear_bias=projection.bias,
        reduction="mean",
        options=torch.nn.LinearCrossEntropyOptions(),
    )
    return mean.float() * targets.shape[0]


def exact_norm(gradients):
    """The global norm, summed in f64: in f32, millions of elements lose digits, which shows in the
    losses after a few steps."""
    norms = [torch.linalg.vector_norm(gradient, dtype=torch.float64) for gradient in gradients]
    return torch.linalg.vector_norm(torch.stack(norms))


def update(parameters, counted, clip, rate, norm_of=torch.nn.utils.get_total_norm):
    """SGD. If `clip` is not None, the gradients are scaled so that the norm of everything in
    `counted` is at most `clip`."""
    with torch.no_grad():
        if clip is not None:
            norm = float(norm_of(counted))
            rate = rate * clip / max(norm, clip)
        for parameter in parameters:
            parameter.add_(parameter.grad, alpha=-rate)
            parameter.grad = None


def perplexity(model, ids, batch, steps, device):
    """exp(total cost / total steps), without dropout."""
    model.eval()
    state, total, count = model.zero_state(batch), 0.0, 0
    with torch.no_grad():
        for words, targets in windows(ids, batch, steps):
            logits, state, _ = model(words.to(device), state)
            total += cost_of(logits, targets.to(device)).item()
            count += steps
    model.train()
    return math.exp(total / count)


def write_losses(path, script, losses, seconds):
    """The losses of all steps, with the versions and the duration of the steps."""
    # File names without folders, which differ between machines.
    command = [script] + [pathlib.PurePath(word).name for word in sys.argv[1:]]
    record = {"command": " ".join(command), "torch": torch.__version__.split("+")[0]}
    record["seconds"] = round(seconds, 1)
    text = json.dumps({**record, "losses": losses}, indent=1)
    pathlib.Path(path).write_text(text + "\n", encoding="utf-8")


class Trainer:
    """The training loop, its log, and its stopping conditions."""

    def __init__(self, model, size, options):
        self.model, self.size, self.options = model, size, options
        self.step, self.losses, self.seconds = 0, [], 0.0
        self.log = open(options.log, "w", encoding="utf-8") if options.log else None

    def write(self, record):
        line = json.dumps(record)
        print(line, flush=True)
        if self.log:
            print(line, file=self.log, flush=True)

    def write_losses(self):
        if self.options.losses:
            write_losses(self.options.losses, "ptb_lm.py", self.losses, self.seconds)

    def finished(self):
        return self.options.steps is not None and self.step >= self.options.steps

    def epoch(self, index, ids):
        model, size, options = self.model, self.size, self.options
        rate = options.learning_rate * size.decay ** max(index + 1 - size.constant_epochs, 0)
        parameters = [p for p in model.parameters() if p.requires_grad]
        state, total, count = model.zero_state(BATCH), 0.0, 0
        before, start = self.seconds, time.perf_counter()
        for words, targets in windows(ids, BATCH, size.steps):
            logits, state, embedded = model(words.to(options.device), state)
            if options.unmerged_norm:
                embedded.retain_grad()
            cost = cost_of(logits, targets.to(options.device))
            cost.backward()
            counted = [parameter.grad for parameter in parameters]
            if options.unmerged_norm:  # the embedding's rows count before duplicates are summed
                counted = [g for g in counted if g is not model.embedding.weight.grad]
                counted.append(embedded.grad)
            update(parameters, counted, size.clip, rate, exact_norm)
            loss = cost.item() / size.steps
            total, count, self.step = total + loss, count + 1, self.step + 1
            self.losses.append(loss)
            self.seconds = before + time.perf_counter() - start
            if self.step % options.log_every == 0:
                words_per_s = count * BATCH * size.steps / (time.perf_counter() - start)
                record = {"step": self.step, "epoch": index, "learning_rate": rate, "loss": loss}
                self.write({**record, "words_per_s": round(words_per_s, 1)})
            if self.finished():
                return None
        return math.exp(total / count)


def parse_options():
    parser = argparse.ArgumentParser(description="PTB word language model in PyTorch")
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--data", type=pathlib.Path, help="folder of ptb.{train,valid,test}.txt")
    parser.add_argument("--dtype", choices=["f32", "f64"], default="f32")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--seed", type=int, default=1, help="of initial weights and dropout")
    parser.add_argument("--init", help="weights to start from, safetensors")
    parser.add_argument("--save-init", help="write the initial weights of --seed here and stop")
    parser.add_argument("--steps", type=int, help="stop after so many training steps")
    parser.add_argument("--epochs", type=int, help="all epochs of the recipe unless given")
    parser.add_argument("--learning-rate", type=float, default=1.0)
    parser.add_argument("--keep", type=float, help="of dropout; the size's unless given")
    parser.add_argument("--unmerged-norm", action="store_true")
    parser.add_argument("--log", help="file of one JSON object a logged step or epoch")
    parser.add_argument("--losses", help="write the losses of all steps here, with the command")
    parser.add_argument("--log-every", type=int, default=1)
    options = parser.parse_args()
    if options.data is None and options.save_init is None:
        parser.error("--data is wanted")
    return options


def main():
    options = parse_options()
    size = SIZES[options.size]
    if options.keep is not None:
        size = size._replace(keep=options.keep)
    if options.save_init:
        save_arrays(options.save_init, language_model_weights(size, WORDS, options.seed))
        return
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    words = {s: read_words(options.data / f"ptb.{s}.txt") for s in ("train", "valid", "test")}
    ids_of = vocabulary_of(words["train"])
    ids = {split: [ids_of[word] for word in text] for split, text in words.items()}
    dtype = torch.float64 if options.dtype == "f64" else torch.float32
    model = Model(size, len(ids_of), dtype)
    if options.init:
        model.load(load_arrays(options.init))
    else:
        model.load(language_model_weights(size, len(ids_of), options.seed))
    model.to(options.device)
    trainer = Trainer(model, size, options)
    for index in range(options.epochs or size.epochs):
        train = trainer.epoch(index, ids["train"])
        if trainer.finished():
            trainer.write_losses()
            return
        valid = perplexity(model, ids["valid"], BATCH, size.steps, options.device)
        trainer.write({"epoch": index, "train_perplexity": train, "valid_perplexity": valid})
    test = perplexity(model, ids["test"], 1, 1, options.device)
    trainer.write({"test_perplexity": test})
    trainer.write_losses()


if __name__ == "__main__":
    main()
