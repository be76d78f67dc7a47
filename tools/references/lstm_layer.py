#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# One recurrent layer on random data in PyTorch: forward and training time, milliseconds per
# example.
#
# The reference of the model lstm-layer: x [T,B,H] uniform, zero initial state, mean squared error
# of the last output against y [B,H], p -= 0.01 dp. A training step is forward, backward and update;
# inputs change between steps. FLOP are nominal: 2 m n k per product, forward and for each operand
# with a gradient.
import argparse
import json
import statistics
import sys
import time

import torch

from workloads import LAYER_RATE

GATES = {"lstm": 4, "gru": 3, "rnn": 1}
LAYERS = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn": torch.nn.RNN}
BATCHES = 4


def make_layer(cell, hidden, device="cpu"):
    """Glorot-uniform over the packed matrices, biases 0, an LSTM's forget bias 1."""
    layer = LAYERS[cell](hidden, hidden)
    with torch.no_grad():
        for weight in (layer.weight_ih_l0, layer.weight_hh_l0):
            torch.nn.init.xavier_uniform_(weight)
        layer.bias_ih_l0.zero_()
        layer.bias_hh_l0.zero_()
        if cell == "lstm":
            layer.bias_ih_l0[hidden : 2 * hidden] = 1
    if cell != "gru":  # a GRU's second bias has its own meaning
        layer.bias_hh_l0.requires_grad = False
    return layer.to(device)


def named_weights(layer):
    """For an LSTM: graphc's name, PyTorch's parameter, and whether it is the transpose of
    graphc's."""
    yield "w", layer.weight_ih_l0, True
    yield "u", layer.weight_hh_l0, True
    yield "b", layer.bias_ih_l0, False


def forward(layer, x):
    return layer(x)[0][-1]


def train_step(layer, x, y):
    loss = torch.nn.functional.mse_loss(forward(layer, x), y)
    loss.backward()
    with torch.no_grad():
        for parameter in layer.parameters():
            if parameter.grad is not None:
                parameter -= LAYER_RATE * parameter.grad
                parameter.grad = None


def forward_step(layer, x, _):
    with torch.no_grad():
        forward(layer, x)


def milliseconds(step, layer, data, options):
    """Milliseconds per batch of each repeat, after two warm-ups."""

    def wait():
        if options.device.startswith("cuda"):
            torch.cuda.synchronize()

    times = []
    for index in range(options.repeat + 2):
        x, y = data[index % len(data)]
        wait()
        start = time.perf_counter()
        step(layer, x, y)
        wait()
        times.append(1000 * (time.perf_counter() - start))
    return times[2:]


def measure(options):
    steps, batch, hidden = options.steps, options.batch, options.hidden
    torch.manual_seed(options.seed)
    layer = make_layer(options.cell, options.hidden, options.device)
    data = [
        (
            torch.rand(steps, batch, hidden, device=options.device),
            torch.rand(batch, hidden, device=options.device),
        )
        for _ in range(BATCHES)
    ]
    train = milliseconds(train_step, layer, data, options)
    only_forward = milliseconds(forward_step, layer, data, options)
    # x needs no gradient: one half of the forward work has two products backward, the other half
    # one.
    flop = 2 * steps * batch * 2 * hidden * GATES[options.cell] * hidden
    result = {
        "cell": options.cell,
        "steps": steps,
        "batch": batch,
        "hidden": hidden,
        "device": options.device,
        "threads": torch.get_num_threads(),
        "repeat": options.repeat,
        "torch": torch.__version__,
    }
    for name, times, work in (("train", train, 2.5 * flop), ("forward", only_forward, flop)):
        result[f"{name}_ms"] = statistics.median(times) / batch
        result[f"{name}_ms_min"] = min(times) / batch
        result[f"{name}_ms_max"] = max(times) / batch
        result[f"{name}_gflops"] = work / statistics.median(times) / 1e6
    return result


def main():
    parser = argparse.ArgumentParser(description="one recurrent layer in PyTorch")
    parser.add_argument("--cell", choices=LAYERS, default="lstm")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a row")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    result = measure(options)
    if options.json:
        json.dump(result, sys.stdout, indent=1)
        print()
        return
    print("| Library | T | H | B | Train (ms) | Forward only (ms) |")
    print("| --- | --- | --- | --- | --- | --- |")
    shape = f"{options.steps} | {options.hidden} | {options.batch}"
    times = f"{result['train_ms']:.4f} | {result['forward_ms']:.4f}"
    print(f"| PyTorch {torch.__version__} {options.cell} | {shape} | {times} |")


if __name__ == "__main__":
    main()
