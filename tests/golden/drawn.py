# SPDX-License-Identifier: Apache-2.0
# What the generators of golden files draw: numbers that the tests draw again
# (tests/testing/golden_numbers.h), and how large arrays are stored.
import numpy

WHOLE = 600  # an array of more elements is stored as its products with directions
DIRECTIONS = 8


class Numbers:
    """Knuth's MMIX generator, s -> 6364136223846793005 s + 1442695040888963407 mod 2^64; a number
    is the upper ten bits of its state. The first four are left out."""

    def __init__(self, seed):
        self.state = numpy.uint64(seed)
        self.bits(4)

    def bits(self, count):
        # States n steps on are a^n s + (1 + a + ... + a^(n-1)) c; uint64 wraps around.
        powers = numpy.cumprod(numpy.full(count, 6364136223846793005, dtype=numpy.uint64))
        sums = numpy.cumsum(numpy.concatenate([numpy.ones(1, numpy.uint64), powers[:-1]]))
        states = powers * self.state + sums * numpy.uint64(1442695040888963407)
        self.state = states[-1]
        return (states >> numpy.uint64(54)).astype(numpy.int64)

    def fractions(self, size):
        """Multiples of 2^-9 in [-1, 1)."""
        return (self.bits(size) - 512) / 512

    def uniform(self, shape, low, high):
        """1024 numbers from low on, below high, rounded to f32."""
        values = low + (high - low) * (self.bits(int(numpy.prod(shape))) / 1024)
        return values.astype(numpy.float32).astype(numpy.float64).reshape(shape)


def directions(size, seed):
    """The directions for an array of so many elements."""
    draw = Numbers(seed)
    return [draw.fractions(size) for _ in range(DIRECTIONS)]
