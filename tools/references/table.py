# SPDX-License-Identifier: Apache-2.0
# Results of tools/peers as Markdown tables, from recorded JSON.
"""One table per workload: the columns of the benchmark behind lstm-layer, milliseconds per
example."""
from workloads import work

SCHEMA = "graphc-peers/1"
HEAD = ("Library", "Setting", "Compile (s)", "Train (ms/example)", "Forward only (ms/example)",
        "Times graphc's")
WORDS = "Train (words/s)"


class Unreadable(Exception):
    """Not the output of tools/peers."""


def figure(row, name, digits):
    """A row's figure, or its replacement."""
    if f"{name}_ms" in row:
        return f"{row[f'{name}_ms']:.{digits}f}"
    return row["cells"].get(name, row["cells"].get("all", "-"))


def ratios(row):
    """A peer's times relative to graphc's, train / forward."""
    found = [row.get(f"{what}_ratio") for what in ("train", "forward")]
    if found == [None, None]:
        return "-"
    return " / ".join("-" if each is None else f"{each:.2f}" for each in found)


def cells(row, workload):
    """One line of a table. The reason for missing times is in the first cell it concerns."""
    library = " ".join([row["library"], row["version"]] if "version" in row else [row["library"]])
    setting = f"{row['setting']} {row['precision']}".strip()
    reason = row["cells"].get("all")
    if reason is not None:
        line = [library, setting, reason, "-", "-", "-"]
    else:
        compiled = f"{row['compile_s']:.3f}" if "compile_s" in row else "-"
        times = [figure(row, "train", 4), figure(row, "forward", 4)]
        line = [library, setting, compiled, *times, ratios(row)]
    if workload["model"] == "ptb-lm":
        known = "train_ms" in row and reason is None
        words = f"{1000 * workload['steps'] / row['train_ms']:,.0f}" if known else "-"
        line.insert(5, words)
    return [each.replace("|", "/") for each in line]


def tables(results):
    """All workloads as Markdown. Raises Unreadable for results of another kind."""
    if not isinstance(results, dict) or results.get("schema") != SCHEMA:
        raise Unreadable(f"wanted results of the schema '{SCHEMA}'")
    try:
        lines = heading(results)
        for each in results["workloads"]:
            lines += ["", *workload_table(each)]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Unreadable(f"results that are not whole: {error!r}") from error
    return "\n".join(lines) + "\n"


def heading(results):
    """Where and when it was measured."""
    found = results["environment"]
    load = " to ".join(f"{each:.2f}" for each in found["load"])
    return [
        f"{found['cpu']}, {found['threads']} threads of {found['cores']} cores, {results['date']},"
        f" load {load}; {results['rounds']} rounds of {results['calls']} calls"
    ]


def workload_table(each):
    """The title, the work and the table of one workload."""
    workload = each["workload"]
    train, forward = (flop / workload["batch"] / 1e6 for flop in work(workload))
    head = list(HEAD)
    if workload["model"] == "ptb-lm":
        head.insert(5, WORDS)
    lines = [
        f"{each['title']}: {train:.1f} MFLOP to train, {forward:.1f} forward, an example",
        "",
        "| " + " | ".join(head) + " |",
        "| " + " | ".join(["---"] * 2 + ["---:"] * (len(head) - 2)) + " |",
    ]
    return lines + ["| " + " | ".join(cells(row, workload)) + " |" for row in each["rows"]]
