#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# fit.cpp in Python: batches, validation, patience, checkpoints, curves. Resumes from
# last.safetensors if that file exists. fit.py [EPOCHS]
import sys

import numpy as np

import graphc
from graphc import f32

HOURS = 24


def hour(t):
    """A synthetic series: a day, a week, and noise."""
    return 0.6 * np.sin(t * 0.2618) + 0.3 * np.sin(t * 0.0374) + 0.05 * np.sin(t * t)


def days(begins):
    """The days that begin at these hours, [hours, days, 1], and the hour after each, [days, 1]."""
    at = np.arange(HOURS)[:, None, None] + begins[None, :, None]
    return hour(at), hour(begins[:, None] + HOURS)


model = graphc.Model("hours")
lstm = graphc.Lstm(model, "lstm", 1, 16)
out = graphc.Linear(model, "out", 16, 1)


def loss_of(inputs):
    x, y = inputs("x", f32, [HOURS, "batch", 1]), inputs("y", f32, ["batch", 1])
    return graphc.mse(out(graphc.dropout(lstm(x)[-1], keep=0.9)), y)


@model.graph("train", mode="training")
def train(inputs):
    loss = loss_of(inputs)
    graphc.minimize(loss, model.params(), graphc.Adam(inputs("rate", f32, [])))
    return loss


model.graph("validate", loss_of)
session = graphc.Session(model, seed=1)
plateau = graphc.Plateau(session, 0.01, factor=0.5, patience=2)
unseen = graphc.in_batches(graphc.shuffled(300, 0, 0), 100)

report = graphc.fit(
    session, lambda samples: (*days(samples), plateau.rate), samples=800, batch=40,
    epochs=int(sys.argv[1]) if len(sys.argv) > 1 else 12,
    validate=lambda: graphc.mean_loss(session, "validate", unseen, lambda some: days(some + 850)),
    patience=5, checkpoint="last.safetensors", best="best.safetensors", curve="curve.csv",
    tensorboard="board", after_epoch=lambda epoch: plateau.observe(epoch.validation))
print(f"{report.epochs} epochs, {report.steps} steps; the best validation is {report.best:.6f}")
