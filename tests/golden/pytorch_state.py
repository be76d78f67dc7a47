#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Writes a PyTorch module's state_dict, an input and what the module makes of it.
#
# usage: pytorch_state.py [FOLDER]      (the folder of this file unless given)
#
# pytorch_state.safetensors is what safetensors.torch.save_file(module.state_dict()) writes;
# pytorch_state_run.safetensors holds tokens i32 [T, B] and y f32 [T, B, 2]. Every parameter is
# random, both biases of the recurrent layers too, and no two extents are equal where they could be
# mistaken for each other.
import pathlib
import sys

import torch
from safetensors.torch import save_file
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Embedding(7, 5)
        self.lstm = nn.LSTM(5, 4, num_layers=2, bidirectional=True)
        self.gru = nn.GRU(8, 3)
        self.rnn = nn.RNN(3, 6)
        self.norm = nn.LayerNorm(6)
        self.decoder = nn.Linear(6, 2)

    def forward(self, tokens):
        x = self.encoder(tokens)
        for layer in (self.lstm, self.gru, self.rnn):
            x, _ = layer(x)
        return self.decoder(self.norm(x))


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    torch.manual_seed(1)
    module = Tagger()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(-0.7, 0.7)
    save_file(module.state_dict(), folder / "pytorch_state.safetensors")
    tokens = torch.randint(0, 7, (5, 3))
    y = module.double()(tokens).float()
    save_file({"tokens": tokens.int(), "y": y.detach()}, folder / "pytorch_state_run.safetensors")


if __name__ == "__main__":
    main()
