#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# char_lm.cpp in Python: a character model, stopped and resumed. char_lm.py TEXT STATE STEPS resumes
# from STATE if that file exists, trains for STEPS steps and writes it. Losses and STATE are those
# of the program in C++, which goes on where this one stopped, and the other way round.
import os
import sys

import numpy as np

import graphc
from graphc import i32, i64

STEPS, BATCH, HIDDEN = 32, 16, 64


class Numbers:
    """A sequence that is the same everywhere: integers 0 .. below - 1."""

    def __init__(self, seed):
        self.state = seed

    def below(self, limit):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % limit


if len(sys.argv) != 4:
    sys.exit("usage: char_lm.py TEXT STATE STEPS")
with open(sys.argv[1], "rb") as file:
    text = np.frombuffer(file.read(), "u1").astype("i4") & 127
path = sys.argv[2]
if len(text) <= STEPS + 1:
    sys.exit(f"'{sys.argv[1]}': {len(text)} characters were read: wanted more than {STEPS + 1}")

model = graphc.Model("char-lm")
letters = graphc.Embedding(model, "letters", 128, HIDDEN)
lstm = graphc.Lstm(model, "lstm", HIDDEN, HIDDEN)
out = graphc.Linear(model, "out", HIDDEN, 128)


@model.graph("train", mode="training")
def train(inputs):
    x, y = inputs("x", i32, [STEPS, BATCH]), inputs("y", i32, [STEPS, BATCH])
    done = inputs.state("done", (), i64)
    done += 1
    loss = graphc.mean(graphc.cross_entropy(out(lstm(letters(x))), y))
    graphc.minimize(loss, model.params(), graphc.Adam(rate=0.01))
    return loss


session = graphc.Session(model)
batch = (i32, (STEPS, BATCH))
session.compile("train", batch, batch)  # declares the optimizer's states
if os.path.exists(path):
    session.load(path)
loss = 0.0
for _ in range(int(sys.argv[3])):
    # The part of the text to read depends only on the number of completed steps.
    numbers = Numbers(int(session.state("done")))
    begins = np.array([numbers.below(len(text) - STEPS - 1) for _ in range(BATCH)])
    places = begins + np.arange(STEPS)[:, None]
    loss = float(session("train", text[places], text[places + 1]))
session.save(path, everything=True)
print(f"step {int(session.state('done'))}  loss {loss:.9g}")
