#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# forecast.cpp in Python: reads a column of a table, learns to predict the next value from the
# previous 48, and is tested on the last fifth, which it has not seen. forecast.py FILE COLUMN
import sys

import numpy as np

import graphc
from graphc import f32

WINDOW, BATCH, HIDDEN = 48, 32, 32

if len(sys.argv) != 3:
    sys.exit("usage: forecast.py FILE COLUMN")
table = graphc.read_table(sys.argv[1], [sys.argv[2]])
for remark in table.remarks:
    print(remark, file=sys.stderr)
values = table.f32()[:, 0]
learnt = len(values) * 4 // 5
if learnt <= WINDOW:
    sys.exit(f"{sys.argv[1]}: {len(values)} rows: wanted more than {WINDOW * 5 // 4}")
deviation = values[:learnt].std()
values = (values - values[:learnt].mean()) / (deviation if deviation > 0 else 1)


def windows(starts):
    """The windows that begin at `starts`, [window, n, 1], and the values after them, [n, 1]."""
    return values[np.arange(WINDOW)[:, None] + starts][..., None], values[starts + WINDOW][:, None]


model = graphc.Model("forecast")
lstm = graphc.Lstm(model, "lstm", 1, HIDDEN)
out = graphc.Linear(model, "out", HIDDEN, 1)


def guess(inputs):
    return out(lstm(inputs("x", f32, [WINDOW, "batch", 1]))[-1])


@model.graph("train", mode="training")
def train(inputs):
    loss = graphc.mse(guess(inputs), inputs("y", f32, ["batch", 1]))
    graphc.minimize(loss, model.params(), graphc.Adam(rate=0.005))
    return loss


model.graph("predict", guess)
session = graphc.Session(model)
numbers = np.random.default_rng(1)
for _ in range(300):
    session("train", *windows(numbers.integers(0, learnt - WINDOW, BATCH)))

starts = np.arange(learnt, len(values) - WINDOW)
x, y = windows(starts)
error = ((session("predict", x) - y) ** 2).sum()
as_before = ((values[starts + WINDOW - 1][:, None] - y) ** 2).sum()
print(f"{len(values)} values, {len(y)} of them for the test")
print(f"error {100 * np.sqrt(error / as_before):.0f} % of that of saying the last value again")
