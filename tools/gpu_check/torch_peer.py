#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A peer: W1's layer or W2's language model in PyTorch, one line of JSON per precision and mode
# (eager, as a CUDA graph, compiled). Exit code 5: no PyTorch, or no GPU for it.
import argparse
import json
import statistics
import sys
import time

PRECISIONS = ("f32", "tf32", "bf16", "fp16")
# As in ptb-lm: hidden units, steps, probability to keep, limit of the norm.
SIZES = {"small": (200, 20, 1.0, 5.0), "medium": (650, 35, 0.5, 5.0), "large": (1500, 35, 0.35, 10)}
VOCABULARY, MODEL_BATCH, LAYERS = 10000, 20, 2


def fail(reason):
    print(reason, file=sys.stderr)
    sys.exit(5)


try:
    import torch
except ImportError as error:
    fail(f"this Python has no PyTorch: {error}")


class Layer(torch.nn.Module):
    """W1: one LSTM layer, mean squared error of the last output, p -= 0.01 dp."""

    def __init__(self, hidden, steps, batch):
        super().__init__()
        self.lstm = torch.nn.LSTM(hidden, hidden)
        self.rate, self.clip = 0.01, None
        self.inputs = lambda: (torch.rand(steps, batch, hidden), torch.rand(batch, hidden))

    def forward(self, x, y):
        last = self.lstm(x)[0][-1]
        return torch.nn.functional.mse_loss(last.float(), y)


class Model(torch.nn.Module):
    """W2: embedding, LSTM layers with dropout around them, projection, SGD with clipping."""

    def __init__(self, hidden, steps, keep, clip, vocabulary, batch):
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, hidden)
        self.drop = torch.nn.Dropout(1 - keep)
        self.lstm = torch.nn.LSTM(hidden, hidden, num_layers=LAYERS, dropout=1 - keep)
        self.project = torch.nn.Linear(hidden, vocabulary)
        self.rate, self.clip, self.steps = 1.0, clip, steps
        self.inputs = lambda: tuple(torch.randint(0, vocabulary, (steps, batch)) for _ in range(2))

    def forward(self, tokens, targets):
        y = self.drop(self.lstm(self.drop(self.embedding(tokens)))[0])
        logits = self.project(y).float()
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return loss * self.steps


def make_step(module, options, precision):
    """A training step with fixed addresses, as a CUDA graph requires."""
    kinds = {"bf16": torch.bfloat16, "fp16": torch.float16}
    device = options.device.split(":")[0]
    parameters = list(module.parameters())
    # A fixed loss scale without overflow checks, which favours fp16.
    scale = 1024.0 if precision == "fp16" else 1.0

    def step(*data):
        with torch.autocast(device, dtype=kinds.get(precision), enabled=precision in kinds):
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
    if options.what == "layer":
        module = Layer(options.hidden, options.steps, options.batch)
    else:
        hidden, steps, keep, clip = SIZES[options.size]
        if options.small:
            hidden, steps = 4, 2
        vocabulary = 11 if options.small else VOCABULARY
        module = Model(hidden, steps, keep, clip, vocabulary, MODEL_BATCH)
    data = [each.to(options.device) for each in module.inputs()]
    module.to(options.device).train()
    step = make_step(module, options, precision)
    begun = time.perf_counter()
    if mode == "compiled":
        step = torch.compile(step)
    elif mode == "graph":
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
    parser = argparse.ArgumentParser(description="W1 or W2 in PyTorch")
    parser.add_argument("what", choices=("layer", "model"))
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--compile", action="store_true", help="torch.compile, not the others")
    parser.add_argument("--small", action="store_true", help="extents for a dry run")
    options = parser.parse_args()
    if options.small:
        options.hidden, options.steps, options.batch, options.repeat = 4, 2, 2, 1
    if options.device == "cuda" and not torch.cuda.is_available():
        fail("PyTorch finds no GPU")
    on_gpu = options.device.startswith("cuda")
    modes = ["compiled"] if options.compile else ["eager"] + ["graph"] * on_gpu
    for mode in modes:
        for precision in PRECISIONS:
            row = {"mode": mode, "precision": precision, "version": f"torch {torch.__version__}"}
            try:
                row.update(measure(options, mode, precision))
            except Exception as error:  # the others are useful without it
                row["absent"] = f"{type(error).__name__}: {error}".splitlines()[0][:300]
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
