#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# seq2seq.cpp in Python: reads digits and says them backwards, with attention.
import numpy as np

import graphc
from graphc import concat, filled, i32, reshape, scan

STEPS, BATCH, HIDDEN, DIGITS, START = 8, 32, 64, 10, 10

model = graphc.Model("reverser")
digits = graphc.Embedding(model, "digits", DIGITS + 1, HIDDEN)
encoder = graphc.Lstm(model, "encoder", HIDDEN, HIDDEN)
decoder = graphc.Lstm(model, "decoder", 2 * HIDDEN, HIDDEN)
out = graphc.Linear(model, "out", 2 * HIDDEN, DIGITS)


def states():
    return [graphc.State(filled((BATCH, HIDDEN), 0), name) for name in ("h", "c", "context")]


def read(text, h, c):
    """Every h of the encoder, [batch, steps, hidden]."""
    return graphc.transpose(encoder.run(digits(text), h, c), (1, 0, 2))


def say(said, heard, h, c, context):
    """One step of the decoder: logits for the digit after `said` [batch]."""
    decoder.step(concat([digits(said), context], 1), h, c)
    scores = heard @ reshape(h, (BATCH, HIDDEN, 1))
    weights = graphc.softmax(reshape(scores, (BATCH, 1, STEPS)))
    context.value = reshape(weights @ heard, (BATCH, HIDDEN))
    return out(concat([h, context], 1))


@model.graph("train", mode="training")
def train(inputs):
    text, wanted = inputs("text", i32, [STEPS, BATCH]), inputs("wanted", i32, [STEPS, BATCH])
    h, c, context = states()
    heard = read(text, h, c)
    # Teacher forcing: the decoder receives the correct previous digit.
    before = concat([filled((1, BATCH), START, i32), wanted[:-1]])
    logits = scan(before, lambda said: say(said, heard, h, c, context))
    loss = graphc.mean(graphc.cross_entropy(logits, wanted))
    graphc.minimize(loss, model.params(), graphc.Adam(rate=0.003))
    return loss


@model.graph("speak")
def speak(inputs):
    h, c, context = states()
    said = graphc.State(filled(BATCH, START, i32), "said")
    heard = read(inputs("text", i32, [STEPS, BATCH]), h, c)

    def step(index):
        said.value = graphc.argmax(say(said, heard, h, c, context), 1)
        return said

    return scan(STEPS, step)


session = graphc.Session(model)
numbers = np.random.default_rng(1)
loss = 3.0
for _ in range(4000):
    text = numbers.integers(0, DIGITS, (STEPS, BATCH))
    loss = 0.95 * loss + 0.05 * float(session("train", text, text[::-1]))
    if loss <= 0.02:
        break
text = numbers.integers(0, DIGITS, (STEPS, BATCH))
right = (session("speak", text) == text[::-1]).mean()
print(f"{'97 or more' if right >= 0.97 else 'fewer than 97'} of 100 digits are right")
