#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the program of docs/c.md: document.py DOCUMENT INCLUDE LIBRARY CC FLAGS...
import pathlib
import re
import subprocess
import sys
import tempfile


def main(document, include, library, compiler, *flags):
    text = pathlib.Path(document).read_text(encoding="utf-8")
    blocks = {kind: code for kind, code in re.findall(r"^```(.*?)\n(.*?)^```", text, re.M | re.S)}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for kind, code in blocks.items():
            if " " in kind:
                (folder / kind.split()[1]).write_text(code, encoding="utf-8")
        where = pathlib.Path(library).parent
        subprocess.run([compiler, "-std=c11", "-pedantic", "-Wall", "-Werror", *flags, "add.c",
                        f"-I{include}", library, f"-Wl,-rpath,{where}", "-o", "add"],
                       cwd=folder, check=True)
        found = subprocess.run(["./add"], cwd=folder, check=True, text=True,
                               stdout=subprocess.PIPE).stdout
        saved = (folder / "add.graphc").stat().st_size
        (folder / "add.graph").unlink()
        missing = subprocess.run(["./add"], cwd=folder, text=True, stderr=subprocess.PIPE)
    print(found + missing.stderr)
    return not (found == blocks["text"] and saved > 0 and missing.returncode == 3
                and "add.graph" in missing.stderr)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
