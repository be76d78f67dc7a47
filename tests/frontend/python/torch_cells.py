# SPDX-License-Identifier: Apache-2.0
# Ten cells for graphc.torch, each as equations of graphc and of torch, and the loop in torch.
import torch

import graphc


def gate(x, h, w, u, b):
    f, g = graphc.split(x @ w + h @ u + b, 2)
    f = graphc.sigmoid(f)
    return f * h + (1 - f) * graphc.tanh(g)


def gate_in_torch(x, h, w, u, b):
    f, g = (x @ w + h @ u + b).chunk(2, -1)
    f = torch.sigmoid(f)
    return f * h + (1 - f) * torch.tanh(g)


def lstm(x, h, c, w, u):
    i, f, g, o = graphc.split(x @ w + h @ u, 4)
    c = graphc.sigmoid(f) * c + graphc.sigmoid(i) * graphc.tanh(g)
    return graphc.sigmoid(o) * graphc.tanh(c), c


def lstm_in_torch(x, h, c, w, u):
    i, f, g, o = (x @ w + h @ u).chunk(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def plain(x, h, w, u):
    return graphc.tanh(x @ w + h @ u)


def plain_in_torch(x, h, w, u):
    return torch.tanh(x @ w + h @ u)


def leaky(x, h, rate):
    return h + rate * (x - h)


leaky_in_torch = leaky


def scaled(x, h, w, gain):
    return gain * graphc.layer_norm(h + x @ w)


def scaled_in_torch(x, h, w, gain):
    return gain * torch.nn.functional.layer_norm(h + x @ w, h.shape[-1:])


def gru(x, h, w, u, b, c):
    r, z = graphc.split(x @ w[:, :8] + h @ u[:, :8] + b[:8], 2)
    n = graphc.tanh(x @ w[:, 8:] + b[8:] + graphc.sigmoid(r) * (h @ u[:, 8:] + c))
    z = graphc.sigmoid(z)
    return (1 - z) * n + z * h


def gru_in_torch(x, h, w, u, b, c):
    r, z = (x @ w[:, :8] + h @ u[:, :8] + b[:8]).chunk(2, -1)
    n = torch.tanh(x @ w[:, 8:] + b[8:] + torch.sigmoid(r) * (h @ u[:, 8:] + c))
    z = torch.sigmoid(z)
    return (1 - z) * n + z * h


def peephole(x, h, c, w, u, p):
    i, f, g, o = graphc.split(x @ w + h @ u, 4)
    c = graphc.sigmoid(f + p[0] * c) * c + graphc.sigmoid(i + p[1] * c) * graphc.tanh(g)
    return graphc.sigmoid(o + p[2] * c) * graphc.tanh(c), c


def peephole_in_torch(x, h, c, w, u, p):
    i, f, g, o = (x @ w + h @ u).chunk(4, -1)
    c = torch.sigmoid(f + p[0] * c) * c + torch.sigmoid(i + p[1] * c) * torch.tanh(g)
    return torch.sigmoid(o + p[2] * c) * torch.tanh(c), c


def projected(x, h, c, w, u, p):
    i, f, g, o = graphc.split(x @ w + h @ u, 4)
    c = graphc.sigmoid(f) * c + graphc.sigmoid(i) * graphc.tanh(g)
    return (graphc.sigmoid(o) * graphc.tanh(c)) @ p, c


def projected_in_torch(x, h, c, w, u, p):
    i, f, g, o = (x @ w + h @ u).chunk(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return (torch.sigmoid(o) * torch.tanh(c)) @ p, c


def minimal(x, h, w, v):
    z = graphc.sigmoid(x @ w)
    return (1 - z) * h + z * (x @ v)


def minimal_in_torch(x, h, w, v):
    z = torch.sigmoid(x @ w)
    return (1 - z) * h + z * (x @ v)


def multiplied(x, h, w, u, v):
    m = (x @ w) * (h @ u)
    return graphc.tanh(m @ v) + 0.5 * h


def multiplied_in_torch(x, h, w, u, v):
    m = (x @ w) * (h @ u)
    return torch.tanh(m @ v) + 0.5 * h


#: A cell, the same in torch, its states, and the shapes of its parameters for input 3 and hidden 4.
CELLS = {"gate": (gate, gate_in_torch, 1, [(3, 8), (4, 8), (8,)]),
         "lstm": (lstm, lstm_in_torch, 2, [(3, 16), (4, 16)]),
         "plain": (plain, plain_in_torch, 1, [(3, 4), (4, 4)]),
         "leaky": (leaky, leaky_in_torch, 1, [(4,)]),
         "scaled": (scaled, scaled_in_torch, 1, [(3, 4), (4,)]),
         "gru": (gru, gru_in_torch, 1, [(3, 12), (4, 12), (12,), (4,)]),
         "peephole": (peephole, peephole_in_torch, 2, [(3, 16), (4, 16), (3, 4)]),
         "projected": (projected, projected_in_torch, 2, [(3, 16), (4, 16), (4, 4)]),
         "minimal": (minimal, minimal_in_torch, 1, [(3, 4), (3, 4)]),
         "multiplied": (multiplied, multiplied_in_torch, 1, [(3, 5), (4, 5), (5, 4)])}


def tensors(name, dtype, steps=5, batch=2):
    generator = torch.Generator().manual_seed(len(name))
    width = 4 if name == "leaky" else 3
    shapes = [(steps, batch, width)] + [(batch, 4)] * CELLS[name][2] + CELLS[name][3]
    return [torch.randn(shape, generator=generator, dtype=dtype, requires_grad=True)
            for shape in shapes]


def loop(function, count, xs, *rest):
    states, parameters, ys = list(rest[:count]), rest[count:], []
    for x in xs:
        found = function(x, *states, *parameters)
        states = list(found) if isinstance(found, tuple) else [found]
        ys.append(states[0])
    return torch.stack(ys), *states


def gradients(results, leaves):
    weights = [torch.linspace(-1, 1, result.numel(), dtype=result.dtype).reshape(result.shape)
               for result in results]
    loss = sum((result * weight).sum() for result, weight in zip(results, weights))
    return torch.autograd.grad(loss, leaves)
