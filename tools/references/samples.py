# SPDX-License-Identifier: Apache-2.0
# The samples of char-lstm and of rnn-variants task=classification, and their order in an epoch:
# like models/random_inputs.h, models/data/character_windows.h and wave_classes.h.
"""The same numbers as graphc's, so that references train on the same batches. Needs NumPy."""
import math
import re

import numpy

MASK = 2**64 - 1


class SplitMix:
    """SplitMix64."""

    def __init__(self, seed):
        self.state = seed & MASK

    def draw(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def uniform(self):
        """In [0, 1), in steps of 2^-24."""
        return (self.draw() >> 40) * 2.0**-24


def shuffled(count, seed, epoch):
    """The numbers below `count` in the order of an epoch (Fisher-Yates)."""
    order, random = list(range(count)), SplitMix(SplitMix(seed).draw() + epoch)
    for i in range(count - 1, 0, -1):
        j = random.draw() % (i + 1)
        order[i], order[j] = order[j], order[i]
    return order


def character_windows(text, steps, stride=3):
    """Ids [windows, steps] in code point order, the ids that follow them, and the characters."""
    characters = sorted(set(text))
    places = {character: place for place, character in enumerate(characters)}
    ids = numpy.array([places[character] for character in text])
    begins = numpy.arange(0, len(ids) - steps, stride)
    return ids[begins[:, None] + numpy.arange(steps)], ids[begins + steps], characters


def nietzsche(path):
    """The text of a file in lower case."""
    return path.read_text(encoding="utf-8").lower()


def wikitext2(path):
    """The runs of letters and digits of every line, separated by a space."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return "".join(" ".join(re.findall("[a-zA-Z0-9]+", line)) for line in lines).lower()


def waves(count, steps, seed):
    """Sequences [count, steps, 2] and their classes [count]."""
    random, x, classes = SplitMix(seed), [], []
    for _ in range(count):
        rows, total = [], 0.0
        for t in range(steps):
            a = 2 * random.uniform() - 1
            b = 2 * random.uniform() - 1
            total += 0.1 * a * a * math.sin(t) + 0.4 * b * b * b / (abs(a) + 1)
            rows.append((a, b))
        radius, angle = 1 - random.uniform(), random.uniform()
        noise = math.sqrt(-2 * math.log(radius)) * math.cos(2 * math.pi * angle)
        classes.append(float(math.tanh(total / steps + 0.01 * noise) > 0))
        x.append(rows)
    return numpy.array(x), numpy.array(classes)


def glorot(random, rows, columns):
    """Uniform with limit sqrt(6 / (rows + columns))."""
    limit = math.sqrt(6 / (rows + columns))
    return random.uniform(-limit, limit, (rows, columns)).astype(numpy.float32)


def forget_bias(hidden):
    """Zeros, and ones for the forget gates."""
    bias = numpy.zeros(4 * hidden, numpy.float32)
    bias[hidden : 2 * hidden] = 1
    return bias
