# SPDX-License-Identifier: Apache-2.0
"""docs/results.md and its plots, from the facts in docs/results/."""
import sys
import textwrap

import facts
import plots
import sections

INTRODUCTION = """# Results

The workloads, trained and measured by their recipes, beside published figures and reference
implementations in PyTorch (`tools/references`, "the reference" below).
[performance.md](performance.md) has speed on more machines and beside more frameworks.

`tools/results` writes this page from the facts in [results/](results), each with its command,
commit, date and machine. It also measures them again: `--quick` in ten minutes on two cores,
`--only` some, or all. A commit with a `+` had uncommitted changes.
"""


COLUMNS = 110


def wrapped(text):
    """Wraps paragraphs at COLUMNS; leaves tables, headings and pictures alone."""
    lines = []
    for line in text.split("\n"):
        if len(line) <= COLUMNS or line[0] in "|#!":
            lines.append(line)
        else:
            lines += textwrap.wrap(line, COLUMNS, break_long_words=False, break_on_hyphens=False,
                                   subsequent_indent="  " if line.startswith("- ") else "")
    return "\n".join(lines)


def rendered(documents):
    """The text of the page, and of each plot, by file."""
    kept = facts.Folder(documents / "results").all()
    parts, pictures = [INTRODUCTION], {}
    for section in sections.ALL:
        text, drawn = section(kept)
        parts.append(text)
        for name, picture in drawn.items():
            pictures[name + ".svg"] = picture
    return wrapped("\n".join(parts)), pictures


def write(documents):
    text, pictures = rendered(documents)
    (documents / "results.md").write_text(text, encoding="utf-8")
    for name, picture in pictures.items():
        (documents / "results" / name).write_text(picture, encoding="utf-8")
    for old in (documents / "results").glob("*.svg"):
        if old.name not in pictures:
            old.unlink()


def check(documents):
    """Whether the page and its plots match the facts; returns 4 and reports the first that does
    not."""
    text, pictures = rendered(documents)
    wanted = {documents / "results.md": text}
    wanted.update({documents / "results" / name: picture for name, picture in pictures.items()})
    for file in (documents / "results").glob("*.svg"):
        wanted.setdefault(file, None)
    for file, content in wanted.items():
        found = file.read_text(encoding="utf-8") if file.exists() else None
        if found != content:
            print(f"tools/results: {file.relative_to(documents.parent)} is not what the facts in "
                  "docs/results give: tools/results --render writes it", file=sys.stderr)
            return 4
    return 0
