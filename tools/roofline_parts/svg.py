# SPDX-License-Identifier: Apache-2.0
# SVG elements as text.
"""Coordinates are rounded to a tenth of a pixel; text is escaped for XML."""
from html import escape


def safe(words):
    """Escapes text for XML: no control characters, nothing that UTF-8 cannot encode."""
    words = words.encode("utf-8", "replace").decode("utf-8")
    return escape("".join(each if each.isprintable() else "?" for each in words), quote=True)


def line(x0, y0, x1, y1, colour, width, dashes=None):
    """A line."""
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (
        f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" stroke="{colour}"'
        f' stroke-width="{width}"{dashed}/>'
    )


def path(steps, colour, width):
    """An unfilled path."""
    return f'<path d="{steps}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


def text(x, y, words, anchor="start", colour="#24292f", bold=False, turn=0.0):
    """A line of text, rotated about its start."""
    weight = ' font-weight="bold"' if bold else ""
    turned = f' transform="rotate({turn:.1f} {x:.1f} {y:.1f})"' if turn else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"{weight}{turned}>'
        f"{safe(words)}</text>"
    )


def circle(x, y, radius, colour, words=""):
    """A point, with text that viewers show as a tooltip."""
    title = f"<title>{safe(words)}</title>" if words else ""
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{colour}" fill-opacity="0.75"'
        f' stroke="#ffffff" stroke-width="0.8">{title}</circle>'
    )


def document(width, height, title, body):
    """The complete picture, on white."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" role="img" aria-label="{safe(title)}"'
        ' font-family="sans-serif" font-size="11">\n'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>\n'
        + "\n".join(each for each in body if each)
        + "\n</svg>\n"
    )
