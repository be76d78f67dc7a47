#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Prints what PyTorch's optimizers make of four gradients, in f64, for tests/frontend.
import torch

GRADIENTS = [[0.5, -1.5, 0.02], [0.25, 2.0, -0.3], [-1.0, 0.5, 0.0], [0.125, -0.75, 3.0]]
OPTIMIZERS = {
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.8),
    "nesterov": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.8, nesterov=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.1, alpha=0.7, eps=1e-3),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1, eps=1e-3),
    "adam": lambda p: torch.optim.Adam(p, lr=0.1, betas=(0.8, 0.99), eps=1e-3),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.1, betas=(0.8, 0.99), eps=1e-3, weight_decay=0.2),
}

for name, make in OPTIMIZERS.items():
    p = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64, requires_grad=True)
    optimizer = make([p])
    for gradient in GRADIENTS:
        p.grad = torch.tensor(gradient, dtype=torch.float64)
        optimizer.step()
    print(name, [float(x) for x in p])
