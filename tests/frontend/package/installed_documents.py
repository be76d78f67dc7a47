#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Whether what installed documents refer to is installed: installed_documents.py PREFIX.
#
# Every relative link leads to a file, and its #anchor to a heading. Every path below a source
# folder that a document names, and every program of tools/, lies in the prefix: beside the
# documents, in include/graphc or in share/graphc. Excepted are the documents that the README says
# are about the source tree; their links are looked at all the same. Every option of graphc and
# graphc-bench that a document's commands use is one that the installed program knows, and every
# program of share/graphc/tools has a --help.
import pathlib
import re
import subprocess
import sys

FOLDERS = "cmake|codegen|docs|frontend|ir|models|passes|runtime|tests|tools"
PATH = re.compile(rf"(?<![\w./-])((?:{FOLDERS})/[\w./-]*[\w/])")
LINK = re.compile(r"\]\(([^()\s]+)\)")
FEWEST_LINKS, FEWEST_NAMES, FEWEST_OPTIONS = 100, 20, 20


def anchors_of(text):
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in kept}


def is_installed(prefix, documents, name):
    """Whether a path below a source folder is somewhere in the prefix."""
    name = name.rstrip("/")
    places = [documents / name, prefix / "include/graphc" / name, prefix / "share/graphc" / name,
              prefix / "share/graphc" / pathlib.Path(name).name]
    return any(place.exists() for place in places)


def faults_of_links(path, text):
    """What is wrong with a document's links, and how many there are."""
    faults, count = [], 0
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        count += 1
        target, _, anchor = link.partition("#")
        leads_to = (path.parent / target).resolve() if target else path
        if not leads_to.exists():
            faults.append(f"the link {link} leads nowhere")
        elif anchor and anchor not in anchors_of(leads_to.read_text()):
            faults.append(f"the link {link} names no heading")
    return faults, count


def options_of(program):
    """Every option in a program's help, of all verbs."""
    helps = [subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout]
    if program.name == "graphc":
        for verb in re.findall(r"^  ([a-z]+) ", helps[0], re.MULTILINE):
            ran = subprocess.run([program, verb, "--help"], capture_output=True, text=True,
                                 check=False)
            helps.append(ran.stdout)
    return set(re.findall(r"--[a-z][a-z-]*", "\n".join(helps)))


def options_used(text):
    """The options that commands of graphc in a document's blocks use, by program."""
    for block in re.findall(r"^```(?:sh)?\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n>", "").replace("\\\n", "").splitlines():
            command = re.match(r"(?:\$ )?(graphc(?:-bench)?) (.*)", line)
            if command is None:
                continue
            for option in re.findall(r"(?<= )--[a-z][a-z-]*", command[2].split(" | ")[0]):
                yield command[1], option


def without_output(text):
    """A document without what its commands print."""
    def commands(block):
        if not block[0].startswith("```\n$ "):
            return block[0]
        return "\n".join(line for line in block[0].splitlines() if re.match(r"[$>] ", line))
    return re.sub(r"^```\n.*?^```$", commands, text, flags=re.MULTILINE | re.DOTALL)


def main(prefix):
    """Prints every fault; the exit code."""
    documents = prefix / "share/doc/graphc"
    readme = (documents / "README.md").read_text()
    listed = re.search(r"are about the\s+source tree.*?alone:(.*?)\.\n\n", readme, re.DOTALL)
    about_sources = [word.strip() for word in listed[1].split(",")]
    known = {name: options_of(prefix / "bin" / name) for name in ("graphc", "graphc-bench")}
    faults, links, names, options = [], 0, 0, 0
    for path in sorted(documents.rglob("*.md")):
        text, shown = path.read_text(), str(path.relative_to(documents))
        found, count = faults_of_links(path, text)
        links += count
        faults += [f"{shown}: {fault}" for fault in found]
        for program, option in options_used(text):
            options += 1
            # A document may show what a wrong one gives.
            if option not in known[program] and f"no option '{option}'" not in text:
                faults.append(f"{shown}: {program} has no option {option}")
        if any(shown == one or shown.startswith(one + "/") for one in about_sources):
            continue
        for name in sorted(set(PATH.findall(LINK.sub("]", without_output(text))))):
            names += 1
            if not is_installed(prefix, documents, name):
                faults.append(f"{shown}: {name} is not installed")
    for program in sorted((prefix / "share/graphc/tools").iterdir()):
        if program.is_file() and subprocess.run([program, "--help"], capture_output=True,
                                                check=False).returncode != 0:
            faults.append(f"{program.name} --help fails")
    for one in about_sources:
        if not (documents / one).exists():
            faults.append(f"README.md: {one} is not installed")
    for what, count, fewest in (("links", links, FEWEST_LINKS), ("paths", names, FEWEST_NAMES),
                                ("options", options, FEWEST_OPTIONS)):
        if count < fewest:
            faults.append(f"found {count} {what}, wanted {fewest} at least: what is looked for?")
    print("\n".join(faults) or f"{links} links, {names} paths, {options} options")
    return 1 if faults else 0


sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
