# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG: lines over logarithmic or linear axes, and bars. Readable on light and dark."""
import math
from html import escape

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 34, 46
COLOURS = ("#0b7bc1", "#d1580a", "#3a8f3a", "#8e57b5", "#777777")
STYLE = ("<style>text{font:12px sans-serif;fill:#24292f}.title{font-weight:bold}"
         ".axis{stroke:#8c959f;fill:none}.grid{stroke:#8c959f;stroke-opacity:.25}"
         "@media(prefers-color-scheme:dark){text{fill:#d0d7de}}</style>")


def number(value):
    """A short number, without an exponent where people would not write one."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def scale(values, logarithmic):
    """Ticks around the values, and the function from a value to [0, 1]."""
    low, high = min(values), max(values)
    if logarithmic:
        low, high = math.floor(math.log10(low)), math.ceil(math.log10(high))
        high = max(high, low + 1)
        return ([10.0 ** e for e in range(low, high + 1)],
                lambda value: (math.log10(value) - low) / (high - low))
    step = 10.0 ** math.floor(math.log10((high - low or abs(high) or 1) / 2))
    while (high - low) / step > 6:
        step *= 2 if (high - low) / step <= 12 else 5
    low = math.floor(low / step + 1e-9) * step
    count = max(1, math.ceil((high - low) / step - 1e-9))
    return ([low + i * step for i in range(count + 1)],
            lambda value: (value - low) / (count * step))


def document(title, body):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-label="{escape(title, quote=True)}">\n{STYLE}\n'
            f'<text class="title" x="{LEFT}" y="18">{escape(title)}</text>\n' + "\n".join(body) +
            "\n</svg>\n")


def lines(title, x_label, y_label, series, log_x=False, log_y=False):
    """A plot of series by name: lists of (x, y)."""
    points = [point for values in series.values() for point in values]
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    x_ticks, x_of = scale([x for x, _ in points], log_x)
    y_ticks, y_of = scale([y for _, y in points], log_y)
    def place(x, y):
        return (LEFT + x_of(x) * (right - LEFT), bottom - y_of(y) * (bottom - TOP))
    body = []
    for tick in x_ticks:
        x, _ = place(tick, y_ticks[0])
        body.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}"/>'
                    f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">'
                    f'{number(tick)}</text>')
    for tick in y_ticks:
        _, y = place(x_ticks[0], tick)
        body.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
                    f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number(tick)}</text>')
    body.append(f'<path class="axis" d="M{LEFT} {TOP}V{bottom}H{right}"/>')
    body.append(f'<text x="{right}" y="{HEIGHT - 10}" text-anchor="end">{escape(x_label)}</text>')
    body.append(f'<text x="{right}" y="18" text-anchor="end">{escape(y_label)}</text>')
    for index, (name, values) in enumerate(series.items()):
        colour = COLOURS[index % len(COLOURS)]
        places = [place(x, y) for x, y in values]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        body.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if len(places) <= 12:
            body += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
                     for x, y in places]
        y = TOP + 14 + 18 * index
        body.append(f'<rect x="{right + 12}" y="{y - 9}" width="10" height="10" fill="{colour}"/>'
                    f'<text x="{right + 28}" y="{y}">{escape(name)}</text>')
    return document(title, body)


def bars(title, unit, values):
    """Horizontal bars: (name, value) from the top."""
    left, right = 250, WIDTH - 90
    high = max(value for _, value in values)
    each = (HEIGHT - TOP - 20) / len(values)
    body = [f'<text x="{WIDTH - 10}" y="18" text-anchor="end">{escape(unit)}</text>']
    for index, (name, value) in enumerate(values):
        y = TOP + index * each
        colour = COLOURS[0] if name.startswith("graphc") else COLOURS[4]
        body.append(f'<text x="{left - 8}" y="{y + each / 2 + 4:.1f}" text-anchor="end">'
                    f'{escape(name)}</text><rect x="{left}" y="{y + 3:.1f}" '
                    f'width="{(right - left) * value / high:.1f}" height="{each - 6:.1f}" '
                    f'fill="{colour}"/><text x="{left + (right - left) * value / high + 6:.1f}" '
                    f'y="{y + each / 2 + 4:.1f}">{number(value)}</text>')
    return document(title, body)
