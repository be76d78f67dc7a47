#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Writes the node cases of ONNX's LinearAttention (opset 27), computed by ONNX's reference.
#
# usage: generate_linear_attention.py [FOLDER]      (the folder of this file unless given)
#
# Needs onnx 1.23 and safetensors from PyPI. linear_attention.safetensors holds arrays CASE.NAME:
# `query`, `key`, `value`, and `past_state`, `decay`, `beta` where the case has them; `output` and
# `present_state`; `heads`, those of queries and of keys; `scale`, of outputs. The reference
# computes in f32, also of inputs in f16, whose results are not rounded to it here. A case without
# `decay` has the rule "linear" or "delta", one without `beta` "linear" or "gated".
import pathlib
import sys

import numpy
from onnx.backend.test.case.node import collect_testcases
from onnx.reference.ops.op_linear_attention import LinearAttention
from safetensors.numpy import save_file

SEED = 27


def attributes_of(node):
    """The attributes of a node; bytes are the update rule."""
    given = {each.name: each.s.decode() if each.s else each.i or each.f for each in node.attribute}
    return {"update_rule": "gated_delta", "scale": 0.0, "chunk_size": 64, **given}


def arrays_of(case):
    """The arrays of a node case, by name."""
    [node] = case.model.graph.node
    [(inputs, outputs)] = case.data_sets
    names = [name for name in node.input if name]
    given = {name: numpy.asarray(each, "float32") for name, each in zip(names, inputs)}
    attributes = attributes_of(node)
    optional = [given.get(name) for name in ("past_state", "decay", "beta")]
    op = LinearAttention.__new__(LinearAttention)
    output, present_state = op._run(given["query"], given["key"], given["value"], *optional,
                                    **attributes)
    for found, stored in zip((output, present_state), outputs):
        assert numpy.allclose(found, stored, atol=2e-3 if stored.dtype == "float16" else 1e-5)
    heads = [attributes["q_num_heads"], attributes["kv_num_heads"]]
    width = given["query"].shape[-1] // heads[0]
    return {
        **given, "output": output, "present_state": present_state,
        "heads": numpy.array(heads, "int32"),
        "scale": numpy.array([attributes["scale"] or width ** -0.5], "float64"),
    }


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    numpy.random.seed(SEED)
    arrays = {}
    for case in collect_testcases("LinearAttention"):
        if case.name.endswith("_expanded"):  # the same with the function in place of the op
            continue
        name = case.name.removeprefix("test_linear_attention_")
        for each, array in arrays_of(case).items():
            arrays[f"{name}.{each}"] = array
    save_file(arrays, folder / "linear_attention.safetensors")


if __name__ == "__main__":
    main()
