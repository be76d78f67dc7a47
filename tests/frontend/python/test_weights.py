# SPDX-License-Identifier: Apache-2.0
# Weights of other frameworks: every kind of file, and layers that compute what theirs compute.
import importlib.util
import io
import json
import os
import pathlib
import tempfile
import unittest
import zipfile

import numpy as np

import graphc
from graphc import f32

rng = np.random.default_rng(2)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def has(package):
    return importlib.util.find_spec(package) is not None


def normal(*shape):
    return rng.standard_normal(shape).astype("f4")


def torch_lstm(arrays, xs, hidden):
    """The LSTM of PyTorch, by its equations."""
    h = c = np.zeros((xs.shape[1], hidden))
    for x in xs:
        z = (x @ arrays["rnn.weight_ih_l0"].T + arrays["rnn.bias_ih_l0"]
             + h @ arrays["rnn.weight_hh_l0"].T + arrays["rnn.bias_hh_l0"])
        i, f, g, o = np.split(z, 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
    return h


def torch_gru(arrays, xs, hidden):
    h = np.zeros((xs.shape[1], hidden))
    for x in xs:
        r, z, n = np.split(x @ arrays["rnn.weight_ih_l0"].T + arrays["rnn.bias_ih_l0"], 3, -1)
        a, b, m = np.split(h @ arrays["rnn.weight_hh_l0"].T + arrays["rnn.bias_hh_l0"], 3, -1)
        z = sigmoid(z + b)
        h = (1 - z) * np.tanh(n + sigmoid(r + a) * m) + z * h
    return h


def keras_gru(kernel, recurrent, bias, xs, hidden):
    """The GRU of Keras with reset_after, whose gates are z, r, h."""
    h = np.zeros((xs.shape[1], hidden))
    for x in xs:
        z, r, n = np.split(x @ kernel + bias[0], 3, -1)
        a, b, m = np.split(h @ recurrent + bias[1], 3, -1)
        z = sigmoid(z + a)
        h = z * h + (1 - z) * np.tanh(n + sigmoid(r + b) * m)
    return h


def network(layer, *sizes):
    model = graphc.Model("m")
    made = layer(model, "layer", *sizes)
    rank = 3 if layer in (graphc.Lstm, graphc.Gru, graphc.Rnn) else 2

    @model.graph("f")
    def f(inputs):
        x = inputs("x", f32, ["a", "b", sizes[0]][3 - rank:])
        return made(x)[-1] if rank == 3 else made(x)

    return graphc.Session(model, announce=str), made


class Layers(unittest.TestCase):
    def test_recurrent_layers_of_torch(self):
        xs = normal(5, 2, 3)
        for layer, gates, wanted in ((graphc.Lstm, 4, torch_lstm), (graphc.Gru, 3, torch_gru)):
            arrays = {"rnn.weight_ih_l0": normal(gates * 4, 3), "rnn.bias_ih_l0": normal(gates * 4),
                      "rnn.weight_hh_l0": normal(gates * 4, 4), "rnn.bias_hh_l0": normal(gates * 4)}
            session, made = network(layer, 3, 4)
            graphc.weights.take(session, made, arrays, "rnn")
            np.testing.assert_allclose(session("f", xs), wanted(arrays, xs, 4), rtol=1e-4,
                                       atol=1e-5)

    def test_other_layers_of_torch(self):
        session, made = network(graphc.Linear, 3, 4)
        arrays, x = {"weight": normal(4, 3), "bias": normal(4)}, normal(2, 3)
        taken = graphc.weights.take(session, made, arrays, "")
        self.assertEqual(taken, ["layer.w", "layer.b"])
        np.testing.assert_allclose(session("f", x), x @ arrays["weight"].T + arrays["bias"],
                                   rtol=1e-5, atol=1e-5)
        with self.assertRaisesRegex(graphc.InputError, "no array 'out.weight'"):
            graphc.weights.take(session, made, arrays, "out")
        before = session.state("layer.b")
        with self.assertRaisesRegex(graphc.InputError, r"'layer.w' is \(3, 4\): found \(5, 4\)"):
            graphc.weights.take(session, made, {"weight": normal(4, 5), "bias": normal(4)}, "")
        np.testing.assert_array_equal(session.state("layer.b"), before)
        with self.assertRaisesRegex(graphc.InputError, "wanted 'torch' or 'keras'"):
            graphc.weights.take(session, made, arrays, "", form="onnx")
        with self.assertRaisesRegex(graphc.InputError, "wanted a layer"):
            graphc.weights.take(session, 3, arrays, "")

    def test_layers_of_keras(self):
        xs = normal(5, 2, 3)
        kernel, recurrent, bias = normal(3, 12), normal(4, 12), normal(2, 12)
        session, made = network(graphc.Gru, 3, 4)
        for names in (("0", "1", "2"), ("kernel:0", "recurrent_kernel:0", "bias:0")):
            arrays = {f"layers/gru/cell/vars/{name}": array
                      for name, array in zip(names, (kernel, recurrent, bias))}
            graphc.weights.take(session, made, arrays, "layers/gru", form="keras")
            np.testing.assert_allclose(session("f", xs), keras_gru(kernel, recurrent, bias, xs, 4),
                                       rtol=1e-4, atol=1e-5)
        with self.assertRaisesRegex(graphc.InputError, "has 3 arrays in Keras: found 0"):
            graphc.weights.take(session, made, arrays, "layers/lstm", form="keras")


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.arrays = {"a.b": normal(3, 4), "c": np.arange(3)}

    def check(self, path):
        found = graphc.weights.read(path)
        self.assertEqual(set(found), set(self.arrays))
        for name, array in self.arrays.items():
            np.testing.assert_array_equal(found[name], array)

    def test_npz(self):
        np.savez(self.folder / "w.npz", **self.arrays)
        self.check(self.folder / "w.npz")

    def test_safetensors(self):
        session, _ = network(graphc.Linear, 3, 4)
        session("f", normal(1, 3))
        session.save(str(self.folder / "w.safetensors"))
        found = graphc.weights.read(self.folder / "w.safetensors")
        np.testing.assert_array_equal(found["layer.w"], session.state("layer.w"))
        entry = {"x": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}
        header = json.dumps(entry).encode()
        values = np.array([1.5, -2], "f4").view("u4") >> 16
        (self.folder / "b.safetensors").write_bytes(
            len(header).to_bytes(8, "little") + header + values.astype("<u2").tobytes())
        np.testing.assert_array_equal(
            graphc.weights.read(self.folder / "b.safetensors")["x"], [1.5, -2])

    def test_what_is_no_file_of_weights(self):
        with self.assertRaisesRegex(graphc.InputError, "wanted a file of weights.*found .txt"):
            graphc.weights.read("w.txt")
        with self.assertRaises(graphc.ResourceError):
            graphc.weights.read(self.folder / "none.npz")
        endings = ["npz", "safetensors", *["pt"] * has("torch"), *["h5", "keras"] * has("h5py")]
        for ending in endings:
            path = self.folder / f"bad.{ending}"
            for content in (b"", b"nonsense" * 40, os.urandom(64)):
                path.write_bytes(content)
                with self.assertRaises(graphc.InputError, msg=f"{ending} {content[:9]}"):
                    graphc.weights.read(path)

    @unittest.skipUnless(has("torch"), "torch is not installed")
    def test_pt_holds_weights_only(self):
        import torch
        state = {name: torch.from_numpy(array) for name, array in self.arrays.items()}
        for content in (state, {"state_dict": state, "epoch": 3}):
            torch.save(content, self.folder / "w.pt")
            self.check(self.folder / "w.pt")
        torch.save({"x": pathlib.PurePosixPath("a")}, self.folder / "code.pt")
        with self.assertRaises(graphc.InputError):
            graphc.weights.read(self.folder / "code.pt")

    @unittest.skipUnless(has("h5py"), "h5py is not installed")
    def test_keras_and_h5(self):
        import h5py
        content = io.BytesIO()
        with h5py.File(content, "w") as file:
            for name, array in self.arrays.items():
                file[name] = array
        (self.folder / "w.h5").write_bytes(content.getvalue())
        with zipfile.ZipFile(self.folder / "w.keras", "w") as archive:
            archive.writestr("config.json", "{}")
            archive.writestr("model.weights.h5", content.getvalue())
        self.check(self.folder / "w.h5")
        self.check(self.folder / "w.keras")


if __name__ == "__main__":
    unittest.main()
