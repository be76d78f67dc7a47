# SPDX-License-Identifier: Apache-2.0
# A peer: the workloads in PyTorch, eager and compiled, in f32 and under bf16 autocast.
"""Modes: eager; compile (torch.compile of the model); chunked (the loss without the whole
logits)."""
import torch

import lstm_layer
import ptb_lm
from torch_cells import CellRunner  # noqa: F401: of cell-layer
from workloads import SIZES, clip_of, rate_of


def prepare(threads):
    """Called once per process, before anything else."""
    torch.set_num_threads(threads)
    torch._dynamo.config.cache_size_limit = 64


def version():
    """The peer's version, for tables."""
    return torch.__version__


def place(found, batches):
    """The batches in the peer's representation: labels are 64-bit here."""
    del found

    def placed(array):
        return torch.from_numpy(array.astype("int64") if array.dtype == "int32" else array)

    return [tuple(map(placed, batch)) for batch in batches]


class Runner:
    """A workload in one setting. Calls return when their results are complete."""

    def __init__(self, found, mode, precision, weights, batches):
        self.found, self.mode, self.batches = found, mode, batches
        self.bf16 = precision == "bf16"
        if found["model"] == "lstm-layer":
            self.module = lstm_layer.make_layer("lstm", found["hidden"])
            self.names = list(lstm_layer.named_weights(self.module))
        else:
            size = SIZES[found["size"]]._replace(hidden=found["hidden"], layers=found["layers"])
            self.module = ptb_lm.Model(size, found["vocabulary"], torch.float32)
            self.names = list(self.module.named_weights())
        self.called = torch.compile(self.module) if mode == "compile" else self.module
        self.parameters = [p for p in self.module.parameters() if p.requires_grad]
        self.reset(weights)

    def reset(self, weights):
        """Restarts with these weights and zero states."""
        with torch.no_grad():
            for name, parameter, transposed in self.names:
                value = torch.from_numpy(weights[name])
                parameter.copy_(value.T if transposed else value)
        self.states = {}
        if self.found["model"] == "ptb-lm":
            zero = self.module.zero_state(self.found["batch"])
            self.states = {"train": zero, "forward": zero}

    def loss(self, inputs, targets, kind="train"):
        """The minimised cost; for the layer, its output too. The states of each kind of call
        continue from its previous call."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            if self.found["model"] == "lstm-layer":
                output = lstm_layer.forward(self.called, inputs).float()
                return torch.nn.functional.mse_loss(output, targets), output
            if self.mode == "chunked":
                hidden, self.states[kind], _ = self.module.hidden(inputs, self.states[kind])
                cost = ptb_lm.chunked_cost(hidden, self.module.softmax, targets)
            else:
                logits, self.states[kind], _ = self.called(inputs, self.states[kind])
                cost = ptb_lm.cost_of(logits.float(), targets)
        return cost.float(), cost.float()

    def train(self, index):
        """One step on a batch; returns the loss."""
        loss, _ = self.loss(*self.batches[index % len(self.batches)])
        loss.backward()
        gradients = [parameter.grad for parameter in self.parameters]
        ptb_lm.update(self.parameters, gradients, clip_of(self.found), rate_of(self.found))
        return loss.detach()

    def forward(self, index):
        """The output or, for a language model, the loss; without gradients."""
        with torch.inference_mode():
            return self.loss(*self.batches[index % len(self.batches)], "forward")[1]

    def gradients(self):
        """Loss and gradients on the first batch, by graphc's names."""
        loss, _ = self.loss(*self.batches[0])
        loss.backward()
        found = {"loss": loss.detach().numpy()}
        for name, parameter, transposed in self.names:
            gradient = parameter.grad.numpy().copy()
            found[f"gradient.{name}"] = gradient.T if transposed else gradient
            parameter.grad = None
        return found

    def weights(self):
        """The current parameters, by graphc's names."""
        return {
            name: (parameter.T if transposed else parameter).detach().numpy().copy()
            for name, parameter, transposed in self.names
        }
