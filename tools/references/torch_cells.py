# SPDX-License-Identifier: Apache-2.0
# The cells of cell-layer in PyTorch: a loop over steps of batched operations.
"""A cell has three parts: what is computed for all steps at once, before the loop; a step, from
streams, what all steps share, and states to an output and states; and what follows the loop.
Streams are unbound along time, so that their gradients are put together once."""
import torch
from torch.nn.functional import logsigmoid, softplus

import stream_cells


def column(x):
    """x [..., n] as [..., n, 1]."""
    return x.unsqueeze(-1)


def row(x):
    """x [..., n] as [..., 1, n]."""
    return x.unsqueeze(-2)


def scalar(x):
    """x [...] as [..., 1, 1]."""
    return x[..., None, None]


class GatedDelta:
    """S [R, K, V]."""

    states = ("R K V",)

    def before(self, a):
        decay, beta = scalar(torch.exp(-a["g"])), scalar(a["beta"])
        return (row(a["q"]), row(a["k"]), row(a["v"]), decay, beta), ()

    def step(self, streams, held, states):
        q, k, v, decay, beta = streams
        s = decay * states[0]
        u = beta * torch.baddbmm(v, k, s, alpha=-1)
        s = torch.baddbmm(s, k.mT, u)
        return (torch.bmm(q, s),), (s,)

    def after(self, a, y):
        return y.squeeze(-2)


class SelectiveScan:
    """h [B, D, N]; a step computes its decays, which for all steps would go through memory."""

    states = ("B D S",)

    def before(self, a):
        d = softplus(a["delta"])
        streams = (column(d), column(d * a["u"]), row(a["b"]), column(a["c"]))
        return streams, (-torch.exp(a["a"]),)

    def step(self, streams, held, states):
        d, into, b, c = streams
        h = torch.addcmul(into * b, torch.exp(d * held[0]), states[0])
        return (torch.bmm(h, c),), (h,)

    def after(self, a, y):
        return y.squeeze(-1) + a["skip"] * a["u"]


class Mlstm:
    """C [R, K, V], n [R, K], m [R]; the division follows the loop."""

    states = ("R K V", "R K", "R")
    starts = {2: float("-inf")}

    def before(self, a):
        q = a["q"] * a["q"].shape[-1] ** -0.5
        return (row(q), a["k"], row(a["v"]), a["i"], logsigmoid(a["f"])), ()

    def step(self, streams, held, states):
        q, k, v, i, log_f = streams
        c, n, m = states
        kept = log_f + m
        m = torch.maximum(kept, i)
        k, keep = column(torch.exp(i - m)) * k, column(torch.exp(kept - m))
        c = torch.baddbmm(column(keep) * c, column(k), v)
        n = torch.addcmul(k, keep, n)
        return (torch.bmm(q, c), n, m), (c, n, m)

    def after(self, a, y, n, m):
        q = a["q"] * a["q"].shape[-1] ** -0.5
        least = torch.maximum((n * q).sum(-1).abs(), torch.exp(-m))
        return y.squeeze(-2) / column(least)


class Slstm:
    """h, c, n, m [N, B, W]: heads first, as a product of heads takes them."""

    states = ("N B W",) * 4
    starts = {3: float("-inf")}

    def before(self, a):
        return (a["x"].transpose(1, 2),), (a["u"],)

    def step(self, streams, held, states):
        h, c, n, m = states
        i, f, g, o = torch.baddbmm(streams[0], h, held[0]).chunk(4, -1)
        kept = logsigmoid(f) + m
        m = torch.maximum(kept, i)
        i, keep = torch.exp(i - m), torch.exp(kept - m)
        c = keep * c + i * torch.tanh(g)
        n = torch.addcmul(i, keep, n)
        h = torch.sigmoid(o) * c / n
        return (h,), (h, c, n, m)

    def after(self, a, y):
        return y.transpose(1, 2)


class Rwkv7:
    """S [R, V, K]; both outer products are one product of two columns and two rows."""

    states = ("R V K",)

    def before(self, a):
        pairs = torch.stack((a["b"], a["k"]), -2)
        return (column(a["r"]), row(torch.exp(a["w"])), pairs, column(a["v"]), column(a["a"])), ()

    def step(self, streams, held, states):
        r, decay, pairs, v, a = streams
        both = torch.cat((torch.bmm(states[0], a), v), -1)
        s = torch.addcmul(torch.bmm(both, pairs), states[0], decay)
        return (torch.bmm(s, r),), (s,)

    def after(self, a, y):
        return y.squeeze(-1)


class Linear:
    """h = a h + b, with a and b from the streams of all steps."""

    states = ("B D",)

    def step(self, streams, held, states):
        h = torch.addcmul(streams[1], streams[0], states[0])
        return (h,), (h,)

    def after(self, a, y):
        return y


class RgLru(Linear):
    def before(self, a):
        log_a = softplus(a["l"]) * -8 * torch.sigmoid(a["r"])
        gain = torch.sqrt(-torch.expm1(2 * log_a))
        return (torch.exp(log_a), gain * (torch.sigmoid(a["i"]) * a["x"])), ()


class MinGru(Linear):
    def before(self, a):
        z, x = torch.sigmoid(a["z"]), a["x"]
        return (1 - z, z * torch.where(x >= 0, x + 0.5, torch.sigmoid(x))), ()


class AttentionDecoder:
    """h [B, D]."""

    states = ("B D",)

    def before(self, a):
        return (a["x"] + a["b"],), tuple(a[n] for n in ("keys", "memory", "w_h", "v", "w", "u"))

    def step(self, streams, held, states):
        (x,), (keys, memory, w_h, v, w, u), (h,) = streams, held, states
        weights = torch.softmax(torch.tanh(row(h @ w_h) + keys) @ v, -1)
        context = torch.bmm(row(weights), memory).squeeze(-2)
        xr, xz, xn = torch.addmm(x, context, w).chunk(3, -1)
        hr, hz, hn = (h @ u).chunk(3, -1)
        r, z = torch.sigmoid(xr + hr), torch.sigmoid(xz + hz)
        h = torch.lerp(torch.tanh(torch.addcmul(xn, r, hn)), h, z)
        return (h,), (h,)

    def after(self, a, y):
        return y


CELLS = {
    "gated-delta": GatedDelta,
    "selective-scan": SelectiveScan,
    "mlstm": Mlstm,
    "slstm": Slstm,
    "rwkv7": Rwkv7,
    "rg-lru": RgLru,
    "min-gru": MinGru,
    "attention-decoder": AttentionDecoder,
}


class CellRunner:
    """A cell in one setting, in f32, with its gradients and no update."""

    def __init__(self, found, mode, precision, weights, batches):
        del precision  # settings.py has no other
        self.found = found
        cell = CELLS[found["cell"]]()
        parts = (cell.before, cell.step, cell.after)
        if mode == "compile":
            parts = [torch.compile(each, dynamic=False) for each in parts]
        self.before, self.step, self.after = parts
        named = stream_cells.extents(found)
        starts = getattr(cell, "starts", {})
        self.first = tuple(
            torch.full([named[axis] for axis in axes.split()], starts.get(index, 0.0))
            for index, axes in enumerate(cell.states)
        )
        names = [array.name for array, _ in stream_cells.inputs(found)]
        held = {name: torch.from_numpy(each.copy()) for name, each in weights.items()}
        self.leaves = [{**dict(zip(names, batch)), **held} for batch in batches]
        for leaves in self.leaves:
            for each in leaves.values():
                each.requires_grad_()

    def output(self, leaves):
        """The output of every step."""
        streams, held = self.before(leaves)
        states, emitted = self.first, []
        for each in zip(*(stream.unbind(0) for stream in streams)):
            y, states = self.step(each, held, states)
            emitted.append(y)
        return self.after(leaves, *map(torch.stack, zip(*emitted)))

    def derive(self, leaves):
        """The mean square of the output, and its gradients."""
        loss = self.output(leaves).square().mean()
        return loss.detach(), torch.autograd.grad(loss, list(leaves.values()))

    def reset(self, weights):
        """Nothing changes from call to call."""

    def train(self, index):
        """Loss and gradients of a batch; returns the loss."""
        return self.derive(self.leaves[index % len(self.leaves)])[0]

    def forward(self, index):
        """The output, without gradients."""
        with torch.inference_mode():
            return self.output(self.leaves[index % len(self.leaves)])

    def gradients(self):
        """Loss and gradients on the first batch, by graphc's names."""
        loss, gradients = self.derive(self.leaves[0])
        found = {"loss": loss.numpy()}
        found.update({f"gradient.{n}": g.numpy() for n, g in zip(self.leaves[0], gradients)})
        return found
