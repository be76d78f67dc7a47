# SPDX-License-Identifier: Apache-2.0
# Weights of other frameworks: files as arrays, arrays as the parameters of layers.
"""Weights from files of other frameworks.

    arrays = graphc.weights.read("model.pt")              # or .npz, .safetensors, .keras, .h5
    graphc.weights.take(session, lstm, arrays, "rnn")     # rnn.weight_ih_l0, ... of PyTorch
    graphc.weights.take(session, lstm, arrays, "layers/lstm", form="keras")

`read` needs torch for .pt (weights only: nothing in the file is run) and h5py for .keras and .h5.
"""

import io
import json
import os
import zipfile

import numpy as np

from .errors import InputError, ResourceError

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2",
          "I8": "i1", "U8": "u1", "U16": "<u2", "U32": "<u4", "U64": "<u8", "BOOL": "?"}


def read(path):
    """The arrays of a file of weights, by name: a dict of NumPy arrays.

    .npz, .safetensors, .pt and .pth (a state_dict of PyTorch), .keras, .h5 and .hdf5.
    """
    path = os.fspath(path)
    readers = {".npz": _read_npz, ".safetensors": _read_safetensors, ".pt": _read_torch,
               ".pth": _read_torch, ".keras": _read_keras, ".h5": _read_h5, ".hdf5": _read_h5}
    ending = os.path.splitext(path)[1].lower()
    if ending not in readers:
        raise InputError(f"{path}: wanted a file of weights, {', '.join(readers)}: found "
                         f"{ending or 'no ending'}")
    if not os.path.exists(path):
        raise ResourceError(f"{path}: No such file or directory")
    try:
        return readers[ending](path)
    except (ImportError, InputError):
        raise
    except Exception as error:
        raise InputError(f"{path}: it cannot be read as {ending}: {error}") from error


def take(session, layer, arrays, prefix, *, form="torch", index=0, reverse=False):
    """Sets the parameters of a layer to those of another framework.

    `layer` is a Linear, Embedding, LayerNorm, Lstm, Gru or Rnn. In the form "torch" `prefix` is the
    name of the module ("decoder", or "" for the module itself), and `index` and `reverse` say which
    of its layers a recurrent one is; in the form "keras" it is the folder of the layer in the file.
    InputError, before anything is changed, if an array is missing or has another shape.
    """
    forms = {"torch": _of_torch, "keras": _of_keras}
    if form not in forms:
        raise InputError(f"take: form: wanted 'torch' or 'keras': found '{form}'")
    kind = type(layer).__name__
    if kind not in _PARTS:
        raise InputError(f"take: wanted a layer, {', '.join(_PARTS)}: found {kind}")
    found = forms[form](layer, kind, arrays, prefix, index, reverse)
    for param, array in found:
        if tuple(array.shape) != tuple(param.shape):
            raise InputError(f"take: '{param.name}' is {tuple(param.shape)}: found "
                             f"{tuple(array.shape)} in '{prefix}'")
    for param, array in found:
        session.set_state(param.name, np.ascontiguousarray(array))
    return [param.name for param, _ in found]


#: The parameters of each kind of layer, in the order of Keras.
_PARTS = {"Linear": ("w", "b"), "Embedding": ("table",), "LayerNorm": ("gain", "bias"),
          "Lstm": ("w", "u", "b"), "Rnn": ("w", "u", "b"), "Gru": ("w", "u", "b", "c")}


def _params(layer, kind):
    return {part: getattr(layer, part) for part in _PARTS[kind]
            if getattr(layer, part) is not None}


def _array(arrays, name):
    if name in arrays:
        return np.asarray(arrays[name])
    there = ", ".join(sorted(arrays)[:12])
    raise InputError(f"take: there is no array '{name}'; there are {there}")


def _of_torch(layer, kind, arrays, prefix, index, reverse):
    """Weights are [out, in] there; a recurrent layer has two biases."""
    begin = f"{prefix}." if prefix else ""
    params = _params(layer, kind)
    if kind == "Embedding":
        return [(params["table"], _array(arrays, f"{begin}weight"))]
    if kind == "LayerNorm":
        return [(params["gain"], _array(arrays, f"{begin}weight")),
                (params["bias"], _array(arrays, f"{begin}bias"))]
    if kind == "Linear":
        found = [(params["w"], _array(arrays, f"{begin}weight").T)]
        return found + [(params["b"], _array(arrays, f"{begin}bias"))] * ("b" in params)
    end = f"_l{index}{'_reverse' if reverse else ''}"
    found = [(params["w"], _array(arrays, f"{begin}weight_ih{end}").T),
             (params["u"], _array(arrays, f"{begin}weight_hh{end}").T)]
    if "b" not in params:
        return found
    ours, theirs = (_array(arrays, f"{begin}bias_{part}{end}") for part in ("ih", "hh"))
    if kind == "Gru":
        # The recurrent bias of n is inside of the product with r, those of r and z are not.
        hidden = params["c"].shape[0]
        both = ours.copy()
        both[:2 * hidden] += theirs[:2 * hidden]
        return found + [(params["b"], both), (params["c"], theirs[2 * hidden:])]
    return found + [(params["b"], ours + theirs)]


def _of_keras(layer, kind, arrays, prefix, index, reverse):
    """The variables below a folder in their order: kernel, recurrent kernel, bias."""
    folder = prefix.rstrip("/") + "/"
    names = sorted(name for name in arrays if name.startswith(folder))
    words = ("embeddings", "kernel", "recurrent_kernel", "gamma", "bias", "beta")
    named = {name.split("/")[-1].split(":")[0]: name for name in names}
    order = [named[word] for word in words if word in named] or names
    found = [np.asarray(arrays[name]) for name in order]
    params = _params(layer, kind)
    wanted = len(params) - (kind == "Gru" and "c" in params)
    if len(found) != wanted:
        raise InputError(f"take: a {kind} has {wanted} arrays in Keras: found {len(found)} in "
                         f"'{prefix}': {', '.join(names) or 'none'}")
    if kind != "Gru":
        return list(zip(params.values(), found))
    # z, r, h there; r, z, n here.
    hidden = params["u"].shape[0]

    def turned(matrix):
        z, r, h = (matrix[..., k * hidden:(k + 1) * hidden] for k in range(3))
        return np.concatenate([r, z, h], -1)

    changed = [(params["w"], turned(found[0])), (params["u"], turned(found[1]))]
    if "b" not in params:
        return changed
    if found[2].ndim != 2:
        raise InputError("take: wanted a GRU of Keras with reset_after=True, whose bias is [2, 3 "
                         f"units]: found {tuple(found[2].shape)}")
    ours, theirs = turned(found[2][0]), turned(found[2][1])
    ours[:2 * hidden] += theirs[:2 * hidden]
    return changed + [(params["b"], ours), (params["c"], theirs[2 * hidden:])]


def _read_npz(path):
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def _read_safetensors(path):
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if size > os.path.getsize(path):
            raise InputError(f"{path}: it is no file of safetensors")
        entries = json.loads(file.read(size))
        data = file.read()
    entries.pop("__metadata__", None)
    arrays = {}
    for name, entry in entries.items():
        begin, end = entry["data_offsets"]
        if entry["dtype"] == "BF16":
            raw = np.frombuffer(data[begin:end], "<u2").astype("<u4") << 16
            found = raw.view("<f4")
        elif entry["dtype"] in _TYPES:
            found = np.frombuffer(data[begin:end], _TYPES[entry["dtype"]])
        else:
            raise InputError(f"{path}: '{name}' is {entry['dtype']}: wanted {', '.join(_TYPES)}")
        arrays[name] = found.reshape(entry["shape"]).copy()
    return arrays


def _read_torch(path):
    import torch
    found = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(found, dict):
        raise InputError(f"{path}: wanted a state_dict: found {type(found).__name__}")
    for name in ("state_dict", "model_state_dict"):
        if isinstance(found.get(name), dict):
            found = found[name]
    return {name: tensor.detach().to(torch.float32).numpy() if tensor.is_floating_point()
            else tensor.numpy() for name, tensor in found.items()
            if isinstance(tensor, torch.Tensor)}


def _read_keras(path):
    with zipfile.ZipFile(path) as archive:
        return _arrays_of_h5(io.BytesIO(archive.read("model.weights.h5")))


def _read_h5(path):
    return _arrays_of_h5(path)


def _arrays_of_h5(source):
    import h5py
    arrays = {}
    with h5py.File(source, "r") as file:
        def visit(name, thing):
            if isinstance(thing, h5py.Dataset):
                arrays[name] = np.asarray(thing)
        file.visititems(visit)
    return arrays
