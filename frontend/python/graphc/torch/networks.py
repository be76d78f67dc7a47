# SPDX-License-Identifier: Apache-2.0
# Graphs of graphc for tensors of torch.
"""Networks whose types are those of tensors, as integers that operators of torch pass on."""

import functools

import torch
from torch.utils.dlpack import to_dlpack

from .. import _graphc
from .. import networks
from ..errors import InputError, UsageError
from ..networks import options_of

DType = _graphc.DType
#: Element types by their numbers in `types`.
DTYPES = [(torch.float32, DType.f32), (torch.float64, DType.f32), (torch.int32, DType.i32),
          (torch.int64, DType.i64), (torch.uint8, DType.u8), (torch.bool, DType.bool)]
_NUMBERS = {dtype: number for number, (dtype, _) in enumerate(DTYPES)}


def encoded(tensors):
    """The types of tensors as integers."""
    numbers = []
    for tensor in tensors:
        numbers += [_NUMBERS[tensor.dtype], tensor.dim(), *[int(n) for n in tensor.shape]]
    return numbers


def decoded(numbers):
    """(dtype of torch, dtype of graphc, shape) of each tensor."""
    types, place = [], 0
    while place < len(numbers):
        number, rank = numbers[place:place + 2]
        types.append((*DTYPES[number], tuple(numbers[place + 2:place + 2 + rank])))
        place += 2 + rank
    return types


def device_of(tensors):
    """The device that computes a function of these tensors: that of the first."""
    return tensors[0].device


def options_on(name, device, asked):
    """The options of a session for tensors on this device; `asked` are those of the caller."""
    if "device" in asked:
        raise UsageError(f"{name}: device: it is that of the tensors")
    if device.type != "cuda":
        return options_of(asked)
    target = asked["target"] or "cuda"
    if target.split(":")[0] != "cuda":
        raise InputError(f"{name}: its target is '{target}': found a tensor on {device}")
    return options_of({**asked, "target": target, "device": device.index})


def _autocast_of(tensor):
    """The type of device whose autocast counts for this tensor, if it is active; or None."""
    kind = "cuda" if tensor.device.type == "cuda" else "cpu"
    return kind if torch.is_autocast_enabled(kind) else None


def precision_of(tensor, wanted):
    """The precision of a session for tensors like this one, under the autocast of torch. `wanted`
    is that of float32 outside of autocast."""
    if tensor.dtype == torch.float64:
        return "f64"
    autocast = _autocast_of(tensor)
    if autocast is None or torch.get_autocast_dtype(autocast) != torch.bfloat16:
        return wanted
    # Every GPU that graphc supports has products of bf16.
    return "autocast" if autocast == "cpu" else "bf16"


def of_autocast(tensors):
    """Floats as float32 under the autocast of torch."""
    if not any(map(_autocast_of, tensors)):
        return list(tensors)
    return [tensor.float() if tensor.is_floating_point() else tensor for tensor in tensors]


def check_tensor(name, what, tensor):
    """Throws unless it is a dense tensor in the memory of the host or a GPU, or a fake one."""
    if not isinstance(tensor, torch.Tensor):
        raise InputError(f"{name}: {what}: wanted a tensor: found {type(tensor).__name__}")
    if tensor.device.type not in ("cpu", "cuda", "meta"):
        raise InputError(f"{name}: {what} is on {tensor.device}: wanted a tensor on cpu or cuda")
    if tensor.layout is not torch.strided:
        raise InputError(f"{name}: {what} is {tensor.layout}: wanted a dense tensor")


def check_one_device(name, tensors):
    """Throws unless all tensors are on one device."""
    for place, tensor in enumerate(tensors):
        if tensor.device != tensors[0].device:
            raise InputError(f"{name}: argument {place} is on {tensor.device}: wanted all tensors "
                             f"on {tensors[0].device}")


def not_compiled(function):
    """torch.compile calls the function and does not look inside. torch.compiler.disable() alone
    would import torch._dynamo here: a second, also for programs that compile nothing."""
    @functools.wraps(function)
    def call(*arguments):
        if torch.compiler.is_compiling():
            return torch.compiler.disable(function)(*arguments)
        return function(*arguments)

    return call


def kinds_of(name, tensors):
    """(dtype of graphc, rank) of each tensor; throws for a type that graphc does not have, and for
    floats of two types."""
    kinds, float_type = [], None
    for place, tensor in enumerate(tensors):
        if tensor.dtype not in _NUMBERS:
            raise InputError(f"{name}: argument {place} is {tensor.dtype}: wanted torch.float32, "
                             "torch.float64, int32, int64, uint8 or bool")
        if tensor.is_floating_point():
            float_type = float_type or tensor.dtype
            if tensor.dtype != float_type:
                raise InputError(f"{name}: argument {place} is {tensor.dtype}: wanted all floats "
                                 f"{float_type}")
        kinds.append((DTYPES[_NUMBERS[tensor.dtype]][1], tensor.dim()))
    return tuple(kinds)


def result_dtype(dtype, precision):
    """The dtype of torch for a result in this precision."""
    found = dtype_of(dtype)
    return torch.float64 if found == torch.float32 and precision == "f64" else found


def readable_float(tensor):
    """A tensor of floats on the cpu for a graph to read. A capsule is quicker than the protocol
    with the tensor, and does not mind that it asks for a gradient. It has no sign of its own: a
    lazily negated tensor, such as the imaginary part of a conjugate, is computed first."""
    return to_dlpack(tensor.resolve_neg())


def readable_other(tensor):
    """The same for integers and bool, which are read by the protocol."""
    return tensor.detach()


def readable_on_gpu(tensor):
    """A tensor on a GPU for a graph to read, which reads row-major ones."""
    return to_dlpack(tensor.detach().resolve_neg().contiguous())


class OfTensors(networks.Network):
    """A network for tensors."""

    def has_float(self, types):
        """Whether a result has a derivative."""
        return any(dtype_of(dtype).is_floating_point for dtype, _ in self.interface(types).results)

    def given(self, types):
        return [(dtype, shape) for _, dtype, shape in decoded(types)]


def first_of(graph, given, device):
    """The results of the first part of a graph, as tensors."""
    if device.type == "cuda":
        return on_gpu(graph.first_on_device, graph.first_types, given, device)
    return _tensors(graph.first(*given), graph.first_types)


def second_of(graph, given, device):
    """The results of the second part."""
    if device.type == "cuda":
        return on_gpu(graph.second_on_device, graph.second_types, given, device)
    return _tensors(graph.second(*given), graph.second_types)


def _tensors(arrays, types):
    """Arrays of NumPy, which has no bf16, as tensors."""
    return [torch.from_numpy(array).to(dtype_of(dtype)) if dtype == DType.bf16 else
            torch.from_numpy(array) for array, (dtype, _) in zip(arrays, types)]


def on_gpu(run, types, given, device):
    """What a part computes in the order of the current stream, in memory of torch."""
    results = [torch.empty(shape, dtype=dtype_of(dtype), device=device) for dtype, shape in types]
    run(torch.cuda.current_stream(device).cuda_stream, given, [to_dlpack(one) for one in results])
    return results


@functools.cache
def dtype_of(dtype):
    """The dtype of torch for a result of a graph."""
    if dtype == DType.f64:
        return torch.float64
    if dtype == DType.bf16:
        return torch.bfloat16
    if dtype == DType.u32:
        return torch.uint32
    return next(theirs for theirs, ours in DTYPES if ours == dtype)
