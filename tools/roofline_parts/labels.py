# SPDX-License-Identifier: Apache-2.0
# Placement of labels next to points.
"""A label takes the first of several places around its point that is inside the picture and
free."""
import math

from svg import line, text

LINE = 12  # pixels: a line of text
LETTER = 6.9  # the average width of a letter, rounded up
GAPS = (3, 9, 18, 30, 44, 60)


def text_width(words):
    """The approximate width of a line of text."""
    return LETTER * len(words)


def fits(words, width):
    """The words, cut to the width."""
    most = int(width / LETTER)
    return words if len(words) <= most else words[: most - 3] + "..."


def meet(one, other):
    """Whether two boxes overlap."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


class Room:
    """The inside of a picture, and the areas that are taken."""

    def __init__(self, inside):
        self.inside, self.boxes, self.circles = inside, [], []

    def take(self, box):
        """Keeps labels out of a box."""
        self.boxes.append(box)

    def take_circle(self, x, y, radius):
        """Keeps labels out of a circle."""
        self.circles.append((x, y, radius))

    def free(self, box):
        """Whether there is room for a label."""
        left, top, right, bottom = self.inside
        if box[0] < left or box[1] < top or box[2] > right or box[3] > bottom:
            return False
        for x, y, radius in self.circles:
            away = math.hypot(x - min(max(x, box[0]), box[2]), y - min(max(y, box[1]), box[3]))
            if away < radius + 1:
                return False
        return not any(meet(box, each) for each in self.boxes)

    def places(self, x, y, radius, width):
        """The boxes around a point, nearest first, each with its gap."""
        for gap in GAPS:
            away = radius + gap
            slant = away * 0.71
            for left, middle in (
                (x + away, y),
                (x - away - width, y),
                (x - width / 2, y - away - LINE / 2),
                (x - width / 2, y + away + LINE / 2),
                (x + slant, y - slant - LINE / 2),
                (x + slant, y + slant + LINE / 2),
                (x - slant - width, y - slant - LINE / 2),
                (x - slant - width, y + slant + LINE / 2),
            ):
                yield gap, (left, middle - LINE / 2, left + width, middle + LINE / 2)

    def label(self, x, y, radius, words, colour):
        """The label of a point, with a line to it if it is not near; nothing if there is no
        room."""
        words = fits(words, 200)
        width = text_width(words)
        for gap, box in self.places(x, y, radius, width):
            if not self.free(box):
                continue
            self.take(box)
            body = []
            if gap > GAPS[1]:
                end = (min(max(x, box[0]), box[2]), min(max(y, box[1]), box[3]))
                part = radius / math.hypot(end[0] - x, end[1] - y)
                begin = (x + part * (end[0] - x), y + part * (end[1] - y))
                body.append(line(*begin, *end, "#57606a", 0.7))
            body.append(
                f'<rect x="{box[0]:.1f}" y="{box[1]:.1f}" width="{width:.1f}" height="{LINE}"'
                ' fill="#ffffff" fill-opacity="0.75"/>'
            )
            # Centred, because the widths of letters vary between fonts.
            body.append(text(box[0] + width / 2, box[3] - 2.5, words, "middle", colour))
            return body
        return []
