#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Derives the coefficients of codegen/targets/cpu/math/vector_*.cpp and prints them as C++ literals.
"""
Each approximation is the minimax one, in relative error of the whole function, found by Remez's
exchange in 40-digit arithmetic. Coefficients of polynomials are then rounded to f32 one at a time,
lowest power first, and the rest solved for again, so that rounding one is made good by the others.
The error printed is that of the rounded coefficients in exact arithmetic, in units of 2^-24 (half
an ulp of a result just above a power of two); rounding in the evaluation comes on top and is what
tests/codegen/cpu/vector_math_test.cpp measures. What is evaluated in double precision is not
rounded, and its error is printed as it is.

Usage: python3 tools/derive_coefficients.py        (needs numpy and mpmath; half a minute)
"""

import mpmath as mp
import numpy as np

mp.mp.dps = 40
GRID = 1000


def grid(low, high):
    """Points that are dense at both ends and never 0."""
    middle, half = (low + high) / 2, (high - low) / 2
    points = (middle - half * mp.cos(mp.pi * (i + mp.mpf(1) / 2) / GRID) for i in range(GRID))
    return [x for x in points if x != 0]


def round_to_float(x):
    return mp.mpf(float(np.float32(float(x))))


def extremes(errors, count):
    """Indices of `count` alternating local extremes of the error, or None if there are fewer."""
    runs = []
    for i, e in enumerate(errors):
        if runs and (errors[runs[-1]] > 0) == (e > 0):
            if abs(e) > abs(errors[runs[-1]]):
                runs[-1] = i
        else:
            runs.append(i)
    while len(runs) > count:
        runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
    return runs if len(runs) == count else None


class Fit:
    """The problem min |w (P/Q - y)| on a set of points; P has powers 0..numerator, Q powers
    0..denominator with constant 1. Coefficients c are P's followed by Q's from power 1."""

    def __init__(self, value, weight, points, numerator, denominator):
        self.points = points
        self.values = [value(x) for x in points]
        self.weights = [abs(weight(x)) for x in points]
        self.numerator, self.denominator = numerator, denominator
        self.total = numerator + 1 + denominator
        self.powers = [[x**k for k in range(max(numerator, denominator) + 1)] for x in points]

    def q_at(self, c, i):
        return 1 + mp.fsum(
            c[self.numerator + k] * self.powers[i][k] for k in range(1, self.denominator + 1))

    def errors(self, c):
        result = []
        for i, power in enumerate(self.powers):
            p = mp.fsum(c[k] * power[k] for k in range(self.numerator + 1))
            result.append(self.weights[i] * (p / self.q_at(c, i) - self.values[i]))
        return result

    def columns(self, i, target):
        """The linear form P - target (Q - 1) at point i, to be equated to target."""
        p = [self.powers[i][k] for k in range(self.numerator + 1)]
        return p + [-target * self.powers[i][k] for k in range(1, self.denominator + 1)]

    def merge(self, free, solution, fixed):
        c = [fixed.get(j, mp.mpf(0)) for j in range(self.total)]
        for column, j in enumerate(free):
            c[j] = solution[column]
        return c

    def least_squares(self, free, fixed, emphasis, q):
        """Linearised least squares: the residual is divided by the previous denominator q."""
        n = len(free)
        normal, right = mp.matrix(n, n), mp.matrix(n, 1)
        for i in range(len(self.points)):
            columns = self.columns(i, self.values[i])
            rest = self.values[i] - mp.fsum(fixed[j] * columns[j] for j in fixed)
            factor = emphasis[i] * (self.weights[i] / q[i]) ** 2
            for a in range(n):
                right[a] += factor * columns[free[a]] * rest
                for b in range(a + 1):
                    normal[a, b] += factor * columns[free[a]] * columns[free[b]]
        for a in range(n):
            for b in range(a):
                normal[b, a] = normal[a, b]
        return self.merge(free, mp.lu_solve(normal, right), fixed)

    def start(self, free, fixed):
        """A fit close enough to start the exchange: least squares, with emphasis following the
        error."""
        emphasis = [mp.mpf(1)] * len(self.points)
        q = [mp.mpf(1)] * len(self.points)
        for _ in range(1 if self.denominator == 0 else 25):
            c = self.least_squares(free, fixed, emphasis, q)
            q = [self.q_at(c, i) for i in range(len(self.points))]
            errors = [abs(e) for e in self.errors(c)]
            mean = mp.fsum(e * m for e, m in zip(errors, emphasis)) / mp.fsum(emphasis)
            emphasis = [m * (e / mean + mp.mpf("0.01")) for m, e in zip(emphasis, errors)]
        return c

    def alternating(self, free, fixed, reference):
        """Makes the errors at the reference points equal in size with alternating signs."""
        size = mp.mpf(0)
        for _ in range(1 if self.denominator == 0 else 20):
            rows, right = mp.matrix(len(reference), len(free) + 1), mp.matrix(len(reference), 1)
            for row, i in enumerate(reference):
                sign = 1 if row % 2 == 0 else -1
                columns = self.columns(i, self.values[i] + sign * size / self.weights[i])
                for column, j in enumerate(free):
                    rows[row, column] = columns[j]
                rows[row, len(free)] = -sign / self.weights[i]
                right[row] = self.values[i] - mp.fsum(fixed[j] * columns[j] for j in fixed)
            solution = mp.lu_solve(rows, right)
            size, before = solution[len(free)], size
            if abs(size - before) <= abs(size) * mp.mpf("1e-12"):
                break
        return self.merge(free, solution, fixed), abs(size)

    def solve(self, fixed):
        """Remez's exchange. Returns the coefficients and the largest error."""
        free = [j for j in range(self.total) if j not in fixed]
        if not free:
            c = [fixed[j] for j in range(self.total)]
            return c, max(map(abs, self.errors(c)))
        best = self.start(free, fixed)
        errors = self.errors(best)
        least = max(map(abs, errors))
        for _ in range(40):
            reference = extremes(errors, len(free) + 1)
            if reference is None:  # the grid is too coarse to resolve them all
                break
            c, size = self.alternating(free, fixed, reference)
            errors = self.errors(c)
            largest = max(map(abs, errors))
            if largest < least:
                best, least = c, largest
            if largest <= size * mp.mpf("1.001"):
                break
        return best, least


def rounded(value, weight, points, numerator, denominator=0, fixed=None, order=None):
    """The fit with coefficients rounded to f32 one by one, in `order`, re-solving for the rest."""
    fit = Fit(value, weight, points, numerator, denominator)
    fixed = dict(fixed or {})
    for j in order or range(fit.total):
        if j not in fixed:
            fixed[j] = round_to_float(fit.solve(fixed)[0][j])
    c, error = fit.solve(fixed)
    return c[: numerator + 1], c[numerator + 1 :], error


def show(name, coefficients, note):
    literals = ", ".join(f"{float(c):.9g}f" for c in coefficients)
    print(f"{name:24} {note}\n    {literals}")


def half_ulps(error):
    return f"error {float(error * 2**24):.3f} x 2^-24"


def split_ln2():
    """ln 2 in two floats: the first has 15 bits, so that n times it is exact for |n| < 512."""
    high = mp.floor(mp.ln(2) * 2**15) / 2**15
    show("kLn2High, kLn2Low", [high, round_to_float(mp.ln(2) - high)], "")
    show("kLog2E", [1 / mp.ln(2)], "")


def exponentials():
    # Slightly beyond ln(2)/2: n = round(x log2 e) is itself rounded.
    edge = mp.ln(2) / 2 * mp.mpf("1.0001")
    points = grid(-edge, edge)
    second = lambda r: (mp.expm1(r) - r) / r**2
    p, _, error = rounded(second, lambda r: r**2 / mp.exp(r), points, 3)
    show("kExp", p, "exp(r) = 1 + r + r^2 P(r): " + half_ulps(error))
    p, _, error = rounded(second, lambda r: r**2 / mp.expm1(r), points, 4)
    show("kExpm1", p, "expm1(r) = r + r^2 P(r): " + half_ulps(error))


def logarithm():
    third = lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3
    points = grid(mp.sqrt(mp.mpf(1) / 2) - 1, mp.sqrt(2) - 1)
    p, _, error = rounded(third, lambda f: f**3 / mp.log1p(f), points, 7)
    show("kLog", p, "log(1+f) = f - f^2/2 + f^3 P(f): " + half_ulps(error))


def hyperbolic_tangent():
    # P(0) = Q(0) = 1 keeps small x exact. Above 9.02, tanh rounds to 1.
    ratio = lambda u: mp.tanh(mp.sqrt(u)) / mp.sqrt(u)
    points = [x * x for x in grid(mp.mpf(0), mp.mpf("9.02"))[:: GRID // 250]]
    weight = lambda u: 1 / ratio(u)
    c, _ = Fit(ratio, weight, points, 4, 4).solve({0: mp.mpf(1)})
    c = [round_to_float(x) for x in c]
    error = max(map(abs, Fit(ratio, weight, points, 4, 4).errors(c)))
    show("kTanhP", c[:5], "tanh(x) = x P(u) / Q(u), u = x^2: " + half_ulps(error))
    show("kTanhQ", [mp.mpf(1)] + c[5:], "")


def sines():
    # Slightly beyond pi/4, because the quadrant is found with rounding.
    edge = mp.pi / 4 * mp.mpf("1.0001")
    points = [r * r for r in grid(mp.mpf(0), edge)]
    third = lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z
    weight = lambda z: z * mp.sqrt(z) / mp.sin(mp.sqrt(z))
    p, _, error = rounded(third, weight, points, 2)
    show("kSine", p, "sin(r) = r + r z P(z), z = r^2: " + half_ulps(error))
    fourth = lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2
    p, _, error = rounded(fourth, lambda z: z**2 / mp.cos(mp.sqrt(z)), points, 2)
    show("kCosine", p, "cos(r) = 1 - z/2 + z^2 P(z): " + half_ulps(error))


def two_over_pi():
    """Seven words of the binary digits of 2/pi, after 33 zeros; and the smallest distance of a
    float to a multiple of pi/2, which determines how many words a reduced argument needs."""
    with mp.workdps(120):
        digits = int(mp.floor(2 / mp.pi * mp.mpf(2) ** (7 * 32 - 33)))
        nearest = mp.mpf(1)
        for exponent in range(0, 128):
            nearest = min(nearest, nearest_multiple(exponent))
    words = ", ".join(f"0x{digits >> 32 * (6 - i) & 0xffffffff:08x}" for i in range(7))
    print(f"kTwoOverPi\n    {words}\n    nearest 2^{float(mp.log(nearest, 2)):.2f} quadrants")


def nearest_multiple(exponent):
    """The smallest distance, in quadrants, of a float m 2^(exponent - 23) above pi/4 to an integer.
    The denominators of the continued fraction of 2/pi 2^(exponent - 23) are the m that are closer
    than all smaller ones."""
    step = 2 / mp.pi * mp.mpf(2) ** (exponent - 23)
    before, m, rest, best = 0, 1, step - mp.floor(step), mp.mpf(1)
    while m < 2**24:
        if m * step > 0.5:
            best = min(best, abs(m * step - mp.nint(m * step)))
        rest = 1 / rest
        before, m, rest = m, int(mp.floor(rest)) * m + before, rest - mp.floor(rest)
    return best


def show_doubles(name, coefficients, error, note):
    literals = ", ".join(f"{float(c)!r}" for c in coefficients)
    print(f"{name:24} {note}: error 2^{float(mp.log(error, 2)):.1f}\n    {literals}")


def powers():
    # In double precision, so that only the error of the fit matters.
    edge = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)
    points = [s * s for s in grid(mp.mpf(0), edge * mp.mpf("1.0001"))]
    ratio = lambda u: 2 * mp.atanh(mp.sqrt(u)) / mp.sqrt(u) / mp.ln(2)
    c, error = Fit(ratio, lambda u: 1 / ratio(u), points, 5, 0).solve({})
    show_doubles("kLog2", c, error, "log2(1+f) = s P(u), s = f/(2+f), u = s^2")
    half = mp.mpf("0.5001")
    value = lambda g: mp.mpf(2) ** g
    c, error = Fit(value, lambda g: 1 / value(g), grid(-half, half), 6, 0).solve({0: mp.mpf(1)})
    show_doubles("kExp2", c, error, "2^g = P(g)")


if __name__ == "__main__":
    split_ln2()
    exponentials()
    logarithm()
    hyperbolic_tangent()
    sines()
    two_over_pi()
    powers()
