#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The first program (docs/first-program.md) in Python: predicts the next hour of a series.
#   forecaster.py train [EPOCHS]    trains, and resumes from last.safetensors if that file exists
#   forecaster.py predict           forty hours ahead, by best.safetensors and forecaster.graphc
# Names, losses and files are those of the programs in C++.
import math
import sys

import numpy as np

import graphc
from graphc import f32

HOURS = 24

model = graphc.Model("forecaster")
lstm = graphc.Lstm(model, "lstm", 1, 16)
out = graphc.Linear(model, "out", 16, 1)


def next_hour(x):
    """x [hours, batch, 1] to [batch, 1]: what the layer says after the last hour."""
    return out(lstm(x)[-1])


@model.graph("train", mode="training")
def train_graph(inputs):
    x, y = inputs("x", f32, ["hours", "batch", 1]), inputs("y", f32, ["batch", 1])
    rate = inputs("rate", f32, [])
    loss = graphc.mse(next_hour(x), y)
    graphc.minimize(loss, model.params(), graphc.Adam(rate))
    return loss


@model.graph("validate")
def validate_graph(inputs):
    x, y = inputs("x", f32, ["hours", "batch", 1]), inputs("y", f32, ["batch", 1])
    return graphc.mse(next_hour(x), y)


@model.graph("predict")
def predict_graph(inputs):
    return {"next": next_hour(inputs("x", f32, ["hours", "batch", 1]))}


def series(hours):
    """A made-up series: a day, a week, and something that is neither."""
    return np.array([0.6 * math.sin(t * 6.2832 / 24) + 0.3 * math.sin(t * 6.2832 / 168)
                     + 0.05 * math.sin(t * t) for t in range(hours)], "f4")


def train(epochs):
    values = series(1200)

    def batch(begins):
        """The days that begin at these hours, side by side, and the hour behind each."""
        begins = np.asarray(begins)
        return (values[begins + np.arange(HOURS)[:, None]][:, :, None],
                values[begins + HOURS][:, None])

    unseen = batch(np.arange(850, 1150))  # days that it does not see
    session = graphc.Session(model, seed=1)
    epoch = graphc.KeptCounter(session, "epoch")
    plateau = graphc.Plateau(session, 0.01, factor=0.5, patience=2)
    stopping = graphc.EarlyStopping(session, patience=5)
    best = graphc.BestCheckpoint(session, "best.safetensors")
    last = graphc.LastCheckpoint(session, "last.safetensors")
    if last.resume():
        print(f"goes on after epoch {int(epoch)}")
    while int(epoch) < epochs and not stopping.stops():
        batches = graphc.in_batches(graphc.shuffled(800, 1, int(epoch)), 40)
        losses = [float(session("train", *batch(begins), plateau.rate)) for begins in batches]
        validation = float(session("validate", *unseen))
        epoch.value += 1
        print(f"epoch {int(epoch)}: loss {sum(losses) / len(losses):.6g}, "
              f"validation {validation:.6g}")
        plateau.observe(validation)
        stopping.observe(validation)
        if best.observe(validation):
            # The parameters are in best.safetensors; with the graph, in one file to hand over:
            graphc.save(session, ["predict"], {"hours": HOURS, "batch": 1}, "forecaster.graphc")
        last.save()  # everything


def predict():
    session = graphc.Session(model)
    session.load("best.safetensors")
    # Forty hours that nobody has seen, each from what was said before.
    said, wanted = list(series(1150)), series(1214)
    day = np.array(said[-HOURS:], "f4")
    for _ in range(40):
        said.append(session("predict", np.array(said[-HOURS:], "f4")[:, None, None])[0, 0])
    worst = np.abs(np.array(said[1150:]) - wanted[1150:1190]).max()
    print(f"the next hour: {said[1150]:.3f}; forty hours ahead within {worst:.2f}")
    # The file to hand over needs no model.
    handed = graphc.LoadedModel("forecaster.graphc")
    print(f"from the file: {handed('predict', day[:, None, None])[0, 0]:.3f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["train"]:
        train(int(sys.argv[2]) if len(sys.argv) > 2 else 30)
    elif sys.argv[1:] == ["predict"]:
        predict()
    else:
        sys.exit("usage: forecaster.py train [EPOCHS] | predict")
