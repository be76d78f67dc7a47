# SPDX-License-Identifier: Apache-2.0
# f32 arrays in safetensors files, which graphc reads and writes: --init, and checkpoints.
"""The subset of the format needed for weights, with NumPy only: 8 bytes of header length, the
header as JSON, then the arrays."""
import json
import pathlib

import numpy


def save_arrays(path, arrays):
    """Writes arrays of f32 by name."""
    header, parts, end = {}, [], 0
    for name, array in arrays.items():
        data = numpy.ascontiguousarray(array, "<f4").tobytes()
        span = [end, end + len(data)]
        header[name] = {"dtype": "F32", "shape": list(numpy.shape(array)), "data_offsets": span}
        parts.append(data)
        end += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))


def load_arrays(path):
    """The arrays of f32 in a file, by name."""
    content = pathlib.Path(path).read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")
    arrays = {}
    for name, entry in json.loads(content[8:begin]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            first, last = (begin + offset for offset in entry["data_offsets"])
            array = numpy.frombuffer(content[first:last], "<f4").reshape(entry["shape"])
            arrays[name] = array.copy()
    return arrays
