#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The machine's fastest plain matrix products, by PyTorch: the reference for layers.
#
# Each size is ROWS,TERMS,COLUMNS; operands are normal numbers. FLOP are 2 rows terms columns.
import argparse
import statistics
import time

import torch

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


def size(text):
    """Three positive integers from ROWS,TERMS,COLUMNS."""
    parts = text.split(",")
    if len(parts) != 3 or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise argparse.ArgumentTypeError(
            f"found '{text}', wanted ROWS,TERMS,COLUMNS, as 32,512,2048")
    return tuple(map(int, parts))


def rates(extents, dtype, calls):
    """GFLOP/s of each call."""
    rows, terms, columns = extents
    left, right = torch.randn(rows, terms, dtype=dtype), torch.randn(terms, columns, dtype=dtype)
    out = torch.empty(rows, columns, dtype=dtype)
    found = []
    for call in range(calls + 2):
        begin = time.perf_counter()
        torch.mm(left, right, out=out)
        if call >= 2:
            found.append(2e-9 * rows * terms * columns / (time.perf_counter() - begin))
    return found


def main():
    parser = argparse.ArgumentParser(description="GFLOP/s of PyTorch's products, best and median.")
    parser.add_argument("sizes", nargs="*", type=size, metavar="ROWS,TERMS,COLUMNS",
                        default=[(3840, 512, 2048), (2048, 2048, 2048)],
                        help="3840,512,2048 (a layer's x W) and 2048,2048,2048 where none is given")
    parser.add_argument("--precision", choices=TYPES, default="f32")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--calls", type=int, default=30)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    for extents in given.sizes:
        found = rates(extents, TYPES[given.precision], given.calls)
        print(f"{' x '.join(map(str, extents))} {given.precision}: best {max(found):.0f}, "
              f"median {statistics.median(found):.0f} GFLOP/s, {given.threads} threads")


main()
