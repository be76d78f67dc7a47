#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lengths.cpp in Python: rows of 2 to 40 digits; does the last digit of a row equal the first?
import numpy as np

import graphc
from graphc import concat, f32, filled, i32

BATCH, HIDDEN = 32, 32

model = graphc.Model("lengths")
embedding = graphc.Embedding(model, "digits", 10, 16)
gru = graphc.Bidirectional(graphc.Gru, model, "gru", 16, HIDDEN)
hidden = graphc.Linear(model, "hidden", 4 * HIDDEN, 64)
out = graphc.Linear(model, "out", 64, 2)


@model.graph("train", mode="training")
def train(inputs):
    digits = inputs("digits", i32, ["steps", BATCH])
    lengths, same = inputs("lengths", i32, [BATCH]), inputs("same", i32, [BATCH])
    x = embedding(digits)
    first, last = (graphc.State(filled((BATCH, HIDDEN), 0), name) for name in ("first", "last"))
    forward = gru.forward.run(x, last, lengths=lengths)
    backward = gru.backward.run(x, first, lengths=lengths, reverse=True)
    # The final states of both directions, and their outputs at the first digit.
    ends = concat([last, first, forward[0], backward[0]], 1)
    logits = out(graphc.relu(hidden(ends)))
    loss = graphc.mean(graphc.cross_entropy(logits, same))
    graphc.minimize(loss, model.params(), graphc.Adam(rate=0.003))
    return graphc.mean(graphc.cast(graphc.argmax(logits, 1) == same, f32))


def batch(numbers):
    longest = numbers.integers(8, 41)
    lengths = numbers.integers(2, longest + 1, BATCH)
    digits = numbers.integers(0, 10, (longest, BATCH))
    digits[np.arange(longest)[:, None] >= lengths] = 0
    ends = digits[lengths - 1, np.arange(BATCH)]
    ends = np.where(numbers.integers(0, 2, BATCH), digits[0], ends)
    digits[lengths - 1, np.arange(BATCH)] = ends
    return digits, lengths, ends == digits[0]


compilations = ["the first"]
session = graphc.Session(model, round_up={"steps": 8}, announce=compilations.append)
numbers = np.random.default_rng(1)
right = 0.0
for _ in range(5000):
    digits, lengths, same = batch(numbers)
    right = 0.98 * right + 0.02 * float(session("train", digits, lengths, same.astype("i4")))
    if right >= 0.97:
        break
print("not learnt" if right < 0.97 else "learnt: 97 % of the rows are right")
print(f"compiled for {len(compilations)} sizes")
