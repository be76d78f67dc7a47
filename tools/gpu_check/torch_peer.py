#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A peer: W1's layer, the language models of W2 and W3 or W4's characters in PyTorch, one line of
# JSON per precision and mode. Modes: eager; graph, the step as one CUDA graph; parameters, the same
# with parameters, gradients and activations in bf16 or fp16 in place of autocast; compiled. Exit
# code 5: no PyTorch, or no GPU for it.
import argparse
import json
import statistics
import sys
import time


def fail(reason):
    print(reason, file=sys.stderr)
    sys.exit(5)


try:
    import torch
except ImportError as error:
    fail(f"this Python has no PyTorch: {error}")


PRECISIONS = ("f32", "tf32", "bf16", "fp16")
KINDS = {"bf16": torch.bfloat16, "fp16": torch.float16}
# As in ptb-lm: hidden units, steps, probability to keep, limit of the norm, layers, batch,
# vocabulary. W3 has the extents of wikitext2-lm.
SIZES = {
    "small": (200, 20, 1.0, 5.0, 2, 20, 10000),
    "medium": (650, 35, 0.5, 5.0, 2, 20, 10000),
    "large": (1500, 35, 0.35, 10, 2, 20, 10000),
    "W3": (1024, 128, 0.5, 5.0, 1, 128, 33279),
}


class Layer(torch.nn.Module):
    """W1: one LSTM layer, mean squared error of the last output, p -= 0.01 dp."""

    def __init__(self, hidden, steps, batch):
        super().__init__()
        self.lstm = torch.nn.LSTM(hidden, hidden)
        self.rate, self.clip = 0.01, None
        self.inputs = lambda: (torch.rand(steps, batch, hidden), torch.rand(batch, hidden))

    def forward(self, x, y):
        last = self.lstm(x)[0][-1]
        return torch.nn.functional.mse_loss(last.float(), y.float())


class Model(torch.nn.Module):
    """W2, W3: embedding, LSTM layers with dropout around them, projection, SGD with clipping."""

    def __init__(self, hidden, steps, keep, clip, layers, batch, vocabulary):
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, hidden)
        self.drop = torch.nn.Dropout(1 - keep)
        between = 1 - keep if layers > 1 else 0.0
        self.lstm = torch.nn.LSTM(hidden, hidden, num_layers=layers, dropout=between)
        self.project = torch.nn.Linear(hidden, vocabulary)
        self.rate, self.clip, self.steps = 1.0, clip, steps
        self.inputs = lambda: tuple(torch.randint(0, vocabulary, (steps, batch)) for _ in range(2))

    def forward(self, tokens, targets):
        y = self.drop(self.lstm(self.drop(self.embedding(tokens)))[0])
        logits = self.project(y).float()
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return loss * self.steps


class Characters(torch.nn.Module):
    """W4: an LSTM over windows of characters, the last state, softmax. Its gates are sigmoids and
    its update is p -= 0.01 dp: both take less than the workload's."""

    def __init__(self, hidden, steps, batch, symbols):
        super().__init__()
        self.lstm = torch.nn.LSTM(symbols, hidden)
        self.project = torch.nn.Linear(hidden, symbols)
        self.rate, self.clip = 0.01, None
        self.inputs = lambda: (
            torch.eye(symbols)[torch.randint(0, symbols, (steps, batch))],
            torch.randint(0, symbols, (batch,)),
        )

    def forward(self, x, target):
        logits = self.project(self.lstm(x)[0][-1]).float()
        return torch.nn.functional.cross_entropy(logits, target)


def make_module(options):
    if options.what == "layer":
        return Layer(options.hidden, options.steps, options.batch)
    if options.what == "characters":
        return Characters(options.hidden, options.steps, options.batch, 57)
    size = SIZES[options.size]
    if options.small:
        size = (4, 2, *size[2:5], 2, 11)
    return Model(*size)


def make_step(module, options, precision, mode):
    """A training step with fixed addresses, as a CUDA graph requires."""
    device = options.device.split(":")[0]
    is_cast = precision in KINDS and mode != "parameters"
    parameters = list(module.parameters())
    # A fixed loss scale without overflow checks, which favours fp16.
    scale = 1024.0 if precision == "fp16" else 1.0

    def step(*data):
        with torch.autocast(device, dtype=KINDS.get(precision), enabled=is_cast):
            loss = module(*data)
        (loss * scale).backward()
        with torch.no_grad():
            gradients = [parameter.grad for parameter in parameters]
            torch._foreach_mul_(gradients, 1 / scale)
            if module.clip is not None:
                norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
                factor = torch.clamp(module.clip / norm, max=1.0)
                torch._foreach_mul_(gradients, factor)
            torch._foreach_add_(parameters, gradients, alpha=-module.rate)
            for gradient in gradients:
                gradient.zero_()
        return loss.detach()

    for parameter in parameters:
        parameter.grad = torch.zeros_like(parameter)
    return step


def captured(step, data):
    """The step as one CUDA graph, captured after a warm-up on another stream."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step(*data)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(*data)
    return lambda *_: graph.replay()


def milliseconds(step, data, options):
    def wait():
        if options.device.startswith("cuda"):
            torch.cuda.synchronize()

    readings = []
    for index in range(options.repeat + 3):
        wait()
        begun = time.perf_counter()
        step(*data)
        wait()
        if index >= 3:
            readings.append(1000 * (time.perf_counter() - begun))
    return readings


def measure(options, mode, precision):
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = precision != "f32"
    torch.backends.cudnn.allow_tf32 = precision != "f32"
    module = make_module(options)
    data = [each.to(options.device) for each in module.inputs()]
    module.to(options.device).train()
    if mode == "parameters":
        module.to(KINDS[precision])
        data = [each.to(KINDS[precision]) if each.is_floating_point() else each for each in data]
    step = make_step(module, options, precision, mode)
    begun = time.perf_counter()
    if mode == "compiled":
        step = torch.compile(step)
    elif mode != "eager" and options.device.startswith("cuda"):
        step = captured(step, data)
    step(*data)
    compiled = time.perf_counter() - begun
    readings = milliseconds(step, data, options)
    return {
        "train_step_ms": statistics.median(readings),
        "train_step_ms_min": min(readings),
        "train_step_ms_max": max(readings),
        "compile_s": compiled,
    }


def main():
    parser = argparse.ArgumentParser(description="W1 to W4 in PyTorch")
    parser.add_argument("what", choices=("layer", "model", "characters"))
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--modes", help="eager,graph,parameters or compiled; else the first three")
    parser.add_argument("--precisions", default=",".join(PRECISIONS))
    parser.add_argument("--small", action="store_true", help="extents for a dry run")
    options = parser.parse_args()
    if options.small:
        options.hidden, options.steps, options.batch, options.repeat = 4, 2, 2, 1
    if options.device == "cuda" and not torch.cuda.is_available():
        fail("PyTorch finds no GPU")
    on_gpu = options.device.startswith("cuda")
    modes = options.modes or ("eager,graph,parameters" if on_gpu else "eager")
    for mode in modes.split(","):
        for precision in options.precisions.split(","):
            if mode == "parameters" and precision not in KINDS:
                continue
            row = {"mode": mode, "precision": precision, "version": f"torch {torch.__version__}"}
            try:
                row.update(measure(options, mode, precision))
            except Exception as error:  # the others are useful without it
                row["absent"] = f"{type(error).__name__}: {error}".splitlines()[0][:300]
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
