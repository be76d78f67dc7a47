# SPDX-License-Identifier: Apache-2.0
# The picture: logarithmic axes, roofs, points, labels if there is room, and a legend below.
"""SVG with presentation attributes only, on white: the same in light and dark viewers."""
import math

from labels import LINE, Room, fits, text_width
from svg import circle, document, line, path, text
from reading import Unusable

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 760, 62, 22, 70, 450
COLOURS = ("#0b7bc1", "#d1580a", "#3a8f3a", "#8e57b5", "#b0256b", "#6b6b00")
MOST_PROFILES = len(COLOURS)
LEAST_LABELLED = 0.02  # share of a call below which a kernel gets no label
LARGEST = 24  # pixels: the radius of a kernel that takes the whole call
GREY, FAINT, ROOF = "#8c959f", "#e4e7ea", "#24292f"
PEAK, SLOPE, DASHES = 2.5, 1.2, "6 4"  # line styles of the roofs


def figure(value):
    """A short number, without an exponent where people would not write one."""
    if value >= 1000:
        return f"{value:,.0f}" if value < 1e7 else f"{value:.0e}"
    return f"{value:.4g}" if value >= 100 else f"{value:.3g}"


class Axis:
    """An axis of whole decades around values, mapped to pixels."""

    def __init__(self, values, first, last):
        low = math.floor(math.log10(min(values) / 1.25))
        self.low, self.high = low, max(math.ceil(math.log10(max(values) * 1.25)), low + 1)
        self.first, self.last = first, last

    def place(self, value):
        """The position of a value, in pixels."""
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return self.first + part * (self.last - self.first)

    def decades(self):
        """The decades with a label: all, unless there are more than ten."""
        return range(self.low, self.high + 1, math.ceil((self.high - self.low) / 10))


class Point:
    """A kernel in the picture."""

    def __init__(self, kernel, share, colour):
        self.kernel, self.share, self.colour = kernel, share, colour
        self.intensity = kernel.flop / kernel.bytes
        self.speed = kernel.flop / kernel.seconds * 1e-9
        self.radius = max(2.5, LARGEST * math.sqrt(share))
        self.x = self.y = 0.0

    def words(self):
        """The full description of the kernel."""
        where = f", {self.kernel.where}" if self.kernel.where else ""
        return (
            f"{self.kernel.name}{where}: {figure(self.speed)} GFLOP/s,"
            f" {figure(self.intensity)} FLOP a byte, {100 * self.share:.1f} % of the call"
        )


def points_of(profiles):
    """The kernels that have products, largest first; and a line of text per profile."""
    points, notes = [], []
    for profile, colour in zip(profiles, COLOURS):
        total = sum(each.seconds for each in profile.kernels)
        drawn = [each for each in profile.kernels if each.flop > 0]
        points += [Point(each, each.seconds / total, colour) for each in drawn]
        rest = len(profile.kernels) - len(drawn)
        note = f"{figure(total * 1e3)} ms"
        if rest:
            share = 1 - sum(each.seconds for each in drawn) / total
            note += f"; {rest} kernel{'s' if rest > 1 else ''} without products,"
            note += f" {100 * share:.1f} % of it, not drawn"
        notes.append((colour, profile.title, note))
    if not points:
        raise Unusable(f"'{profiles[0].path}': no kernel has products: there is nothing to draw")
    return sorted(points, key=lambda each: -each.radius), notes


def axes(horizontal, vertical):
    """The grid and the labels of its decades."""
    body = []
    for exponent in range(horizontal.low, horizontal.high):
        for digit in range(1, 10):
            x = horizontal.place(digit * 10.0**exponent)
            body.append(line(x, TOP, x, BOTTOM, GREY if digit == 1 else FAINT, 0.5))
    for exponent in range(vertical.low, vertical.high):
        for digit in range(1, 10):
            y = vertical.place(digit * 10.0**exponent)
            body.append(line(LEFT, y, WIDTH - RIGHT, y, GREY if digit == 1 else FAINT, 0.5))
    for exponent in horizontal.decades():
        x = horizontal.place(10.0**exponent)
        body.append(text(x, BOTTOM + 16, decade(exponent), "middle"))
    for exponent in vertical.decades():
        y = vertical.place(10.0**exponent)
        body.append(text(LEFT - 6, y + 4, decade(exponent), "end"))
    body.append(path(f"M{LEFT} {TOP}V{BOTTOM}H{WIDTH - RIGHT}", GREY, 1))
    body.append(text(LEFT - 50, TOP - 10, "GFLOP/s"))
    body.append(text(WIDTH - RIGHT, BOTTOM + 32, "FLOP for each byte of the operands", "end"))
    return body


def decade(exponent):
    """The number, if short."""
    return f"{10.0 ** exponent:,.{max(0, -exponent)}f}" if -4 <= exponent <= 6 else f"1e{exponent}"


def slope_of(speed, peak, horizontal, vertical):
    """A bandwidth's roof in the picture: from its lower end to where it meets the peak."""
    begin = max(10.0**horizontal.low, 10.0**vertical.low / speed)
    end = peak / speed
    return (
        (horizontal.place(begin), vertical.place(begin * speed)),
        (horizontal.place(end), vertical.place(peak)),
    )


def roof_lines(roofs, horizontal, vertical, room):
    """The roofs, each with its name along it."""
    body = []
    top = vertical.place(roofs.peak)
    (x0, y0), ridge = slope_of(roofs.memory, roofs.peak, horizontal, vertical)
    corner = ridge[0]
    if roofs.cache:
        (x1, y1), other = slope_of(roofs.cache, roofs.peak, horizontal, vertical)
        body.append(line(x1, y1, other[0], top, ROOF, SLOPE, DASHES))
        body.append(sloped(f"shared cache {figure(roofs.cache)} GB/s", (x1, y1), other, -6, room))
        corner = min(corner, other[0])
    body.append(line(x0, y0, ridge[0], top, ROOF, SLOPE))
    # Below its line, because the shared cache's line may be just above.
    body.append(sloped(f"memory {figure(roofs.memory)} GB/s", (x0, y0), ridge, 14, room))
    body.append(line(corner, top, WIDTH - RIGHT, top, ROOF, PEAK))
    name = f"peak {figure(roofs.peak)} GFLOP/s"
    right = WIDTH - RIGHT - 4
    room.take((right - text_width(name), top - LINE - 4, right, top - 2))
    body.append(text(right, top - 6, name, "end"))
    return body


def sloped(name, begin, end, offset, room):
    """A name along a line, near its lower end; nothing if the line is too short."""
    length = math.hypot(end[0] - begin[0], end[1] - begin[1])
    width = text_width(name)
    if length < width + 30:
        return ""
    cosine, sine = (end[0] - begin[0]) / length, (end[1] - begin[1]) / length
    x, y = begin[0] + 14 * cosine - offset * sine, begin[1] + 14 * sine + offset * cosine
    steps = math.ceil(width / 6)
    for step in range(steps + 1):
        along = width * step / steps
        middle = (x + along * cosine + 4 * sine, y + along * sine - 4 * cosine)
        room.take((middle[0] - 5, middle[1] - 6, middle[0] + 5, middle[1] + 6))
    angle = math.degrees(math.atan2(sine, cosine))
    return text(x, y, name, turn=angle)


def drawn_points(points):
    """The points, largest first, so that none hides another."""
    return [
        circle(each.x, each.y, each.radius, each.colour, each.words()) for each in points
    ]


def legend(notes, roofs):
    """The meaning of colours, lines and areas; and the height of the legend."""
    body, y = [], BOTTOM + 58
    for colour, title, note in notes:
        body.append(circle(LEFT, y - 4, 5, colour))
        body.append(text(LEFT + 14, y, fits(title, WIDTH - RIGHT - LEFT - 14)))
        body.append(text(LEFT + 14, y + LINE + 2, note, colour="#57606a"))
        y += 2 * LINE + 12
    x = LEFT - 6
    samples = [(f"peak, multiply-adds: {figure(roofs.peak)} GFLOP/s", PEAK, None)]
    samples.append((f"from memory: {figure(roofs.memory)} GB/s", SLOPE, None))
    if roofs.cache:
        samples.append((f"from the shared cache: {figure(roofs.cache)} GB/s", SLOPE, DASHES))
    for name, width, dashes in samples:
        if x + 28 + text_width(name) > WIDTH:
            x, y = LEFT - 6, y + LINE + 4
        body.append(line(x, y - 4, x + 22, y - 4, ROOF, width, dashes))
        body.append(text(x + 28, y, name))
        x += 28 + text_width(name) + 8
    y += 3 * LINE
    x = LEFT - 6
    for share in (0.5, 0.1, 0.01):
        radius = max(2.5, LARGEST * math.sqrt(share))
        name = f"{100 * share:.0f} %"
        body.append(circle(x + radius, y - 4, radius, GREY))
        body.append(text(x + 2 * radius + 5, y, name))
        x += 2 * radius + 5 + text_width(name) + 14
    body.append(text(x, y, "of the time of the call"))
    y += 2 * LINE + 4
    body.append(
        text(LEFT - 6, y, "Bytes: each of a kernel's operands once, the least it can move; where a"
             " cache still holds them, less is read from memory.", colour="#57606a")
    )
    return body, y + 14


def draw(title, profiles, roofs, most_labels):
    """The picture as text. Raises Unusable if there is nothing to draw."""
    points, notes = points_of(profiles)
    ridges = [roofs.peak / each for each in (roofs.memory, roofs.cache) if each]
    horizontal = Axis([each.intensity for each in points] + ridges, LEFT, WIDTH - RIGHT)
    vertical = Axis([each.speed for each in points] + [roofs.peak], BOTTOM, TOP)
    room = Room((LEFT + 2, TOP + 2, WIDTH - RIGHT - 2, BOTTOM - 2))
    for each in points:
        each.x, each.y = horizontal.place(each.intensity), vertical.place(each.speed)
        room.take_circle(each.x, each.y, each.radius)
    body = axes(horizontal, vertical)
    body += roof_lines(roofs, horizontal, vertical, room)
    body += drawn_points(points)
    for each in [each for each in points if each.share >= LEAST_LABELLED][:most_labels]:
        colour = each.colour if len(profiles) > 1 else ROOF
        body += room.label(each.x, each.y, each.radius, each.kernel.name, colour)
    below, height = legend(notes, roofs)
    first = profiles[0]
    words = [first.cpu] if first.cpu else []
    words.append(f"{first.threads} thread{'s' if first.threads != 1 else ''}")
    body.append(text(LEFT - 50, 22, fits(title, WIDTH - LEFT), bold=True))
    body.append(text(LEFT - 50, 40, fits(", ".join(words), WIDTH - LEFT), colour="#57606a"))
    return document(WIDTH, height, title, body + below)
