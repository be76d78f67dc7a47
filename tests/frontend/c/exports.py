#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Checks that libgraphc.so exports what its header declares and nothing else, and that the test of
# bad arguments has every function that can fail: exports.py LIBRARY HEADER TEST
import re
import subprocess
import sys


def main(library, header, test):
    text = open(header).read()
    declared = re.findall(r"GRAPHC_API\s+(\w+)[^;(]*?\b(graphc_\w+)\(", text)
    names = {name for _, name in declared}
    listing = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    exported = {line.split()[-1] for line in listing.splitlines()}
    tried = set(re.findall(r"ROW\((graphc_\w+),", open(test).read()))
    can_fail = {name for kind, name in declared
                if kind == "graphc_status" and name != "graphc_error_status"}
    faults = [f"exported, but not declared: {name}" for name in sorted(exported - names)]
    faults += [f"declared, but not exported: {name}" for name in sorted(names - exported)]
    faults += [f"not tried with bad arguments: {name}" for name in sorted(can_fail - tried)]
    print("\n".join(faults) or f"{len(names)} functions")
    return bool(faults) or len(names) < 20


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
