# SPDX-License-Identifier: Apache-2.0
"""Tables of the page, and the sources of their rows."""


def table(columns, rows, numbers_from=1):
    """A Markdown table; columns from `numbers_from` on are numbers."""
    marks = ["---" if i < numbers_from else "---:" for i in range(len(columns))]
    return "\n".join("| " + " | ".join(line) + " |" for line in [columns, marks, *rows]) + "\n"


def number(value, digits=4):
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


def kept_table(fact):
    """The table of a fact that is itself a table."""
    return table(fact["columns"], fact["rows"], fact.get("numbers_from", 1))


def source(fact):
    """A sentence: what was run, on which machine, when."""
    environment = fact.get("environment", {})
    where = environment.get("cpu", "")
    if environment.get("cores"):
        where += f", {environment['cores']} cores"
    return f"{where + '; ' if where else ''}commit {fact['commit']}, {fact['date']}"


def command(fact):
    return f"`{fact['command']}`"
