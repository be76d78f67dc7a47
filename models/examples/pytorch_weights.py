#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# pytorch_weights.cpp in Python: reads a state_dict of PyTorch, and compares results with the
# module's. pytorch_weights.py STATE RUN; RUN has tokens and y.
import functools
import sys

import numpy as np

import graphc
from graphc import i32, weights

if len(sys.argv) != 3:
    sys.exit("usage: pytorch_weights.py STATE RUN")
model = graphc.Model("tagger")
encoder = graphc.Embedding(model, "words", 7, 5)
both = functools.partial(graphc.Bidirectional, graphc.Lstm)
lstm = graphc.Stacked(both, model, "lstm", 2, 5, 4)
gru = graphc.Gru(model, "gru", 8, 3)
rnn = graphc.Rnn(model, "rnn", 3, 6)
norm = graphc.LayerNorm(model, "norm", 6)
decoder = graphc.Linear(model, "out", 6, 2)


@model.graph("tag")
def tag(inputs):
    tokens = inputs("tokens", i32, ["steps", "batch"])
    return decoder(norm(rnn(gru(lstm(encoder(tokens))))))


session = graphc.Session(model)
arrays = weights.read(sys.argv[1])
for index, layer in enumerate(lstm.layers):  # lstm.weight_ih_l0, lstm.bias_hh_l1_reverse, ...
    weights.take(session, layer.forward, arrays, "lstm", index=index)
    weights.take(session, layer.backward, arrays, "lstm", index=index, reverse=True)
for layer, name in ((encoder, "encoder"), (gru, "gru"), (rnn, "rnn"), (norm, "norm"),
                    (decoder, "decoder")):
    weights.take(session, layer, arrays, name)

run = weights.read(sys.argv[2])
found = session("tag", run["tokens"])
print(f"{len(arrays)} arrays read")
print("PyTorch's numbers" if np.abs(found - run["y"]).max() < 1e-5 else "other numbers")
