# SPDX-License-Identifier: Apache-2.0
# The peers: their pinned packages, and the settings in which each is measured.
"""A setting is (name, mode, precision): its name in tables, and the arguments of the peer's
module."""
import collections

Peer = collections.namedtuple("Peer", "title module packages settings cannot")
Setting = collections.namedtuple("Setting", "peer name mode precision")

NUMPY = "numpy==2.4.6"
UNROLL = 5  # XLA's steps per iteration of the loop

PEERS = {
    "torch": Peer(
        "PyTorch",
        "torch_reference",
        ("torch==2.15.0", NUMPY),
        {
            "f32": (("eager", "eager"), ("compile", "compile"), ("chunked loss", "chunked")),
            "bf16": (
                ("autocast", "eager"),
                ("autocast, compile", "compile"),
                ("autocast, chunked loss", "chunked"),
            ),
        },
        {},
    ),
    "jax": Peer(
        "JAX",
        "jax_reference",
        ("jax==0.10.2", NUMPY),
        {
            mode: (("jit, scan", "scan"), (f"jit, x W before, unroll={UNROLL}", "unrolled"))
            for mode in ("f32", "bf16")
        },
        {},
    ),
    "tensorflow": Peer(
        "TensorFlow",
        "tensorflow_reference",
        ("tensorflow==2.21.0", NUMPY),
        {
            "f32": (("keras LSTM", "graph"), ("keras LSTM, jit", "jit")),
            "bf16": (("mixed_bfloat16", "graph"), ("mixed_bfloat16, jit", "jit")),
        },
        {},
    ),
    "onnxruntime": Peer(
        "ONNX Runtime",
        "onnx_reference",
        ("onnxruntime==1.32.0", "onnx==1.23.2", NUMPY),
        {"f32": (("LSTM node", "session"),)},
        {
            "train": "no training",
            "bf16": "no LSTM in bf16 on the CPU",
        },
    ),
}

# Of cell-layer, whose loops no library has as a layer; the loop of a compiled step is eager.
CELL_SETTINGS = {
    "torch": {"f32": (("eager", "eager"), ("compiled step", "compile"))},
    "jax": {
        "f32": (
            ("jit, scan", "scan"),
            (f"jit, scan, unroll={UNROLL}", "unrolled"),
            ("jit, scan, checkpoint", "checkpoint"),
        )
    },
}


def refusal(name, model, precision):
    """Why a peer does not run a model in a precision, or None."""
    peer = PEERS[name]
    if model == "cell-layer" and name not in CELL_SETTINGS:
        return "no cell-layer here"
    if model == "cell-layer" and precision not in CELL_SETTINGS[name]:
        return f"no cell-layer in {precision} here"
    return peer.cannot.get(precision)


def settings_of(name, found, precision):
    """The settings of a peer for a workload. The chunked loss only applies to logits over a
    vocabulary."""
    cell = found["model"] == "cell-layer"
    modes = (CELL_SETTINGS[name] if cell else PEERS[name].settings).get(precision, ())
    return [
        Setting(name, title, mode, precision)
        for title, mode in modes
        if mode != "chunked" or found["model"] == "ptb-lm"
    ]
