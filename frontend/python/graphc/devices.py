# SPDX-License-Identifier: Apache-2.0
# Arrays of other packages in the memory of a GPU.
"""Whether an array is on a GPU, and the capsule of DLPack by which it is read there."""

from .errors import InputError

_CUDA = 2  #: the number of such a device in DLPack
_DEFAULT_STREAM = 1


def capsule_of(array):
    """The capsule of an array on a GPU, whose work comes before that of the default stream; None
    for an array elsewhere."""
    device = array.__dlpack_device__()
    try:
        kind = int(device[0])
    except (TypeError, ValueError, IndexError, KeyError) as error:
        raise InputError(f"__dlpack_device__() of {type(array).__name__}: wanted (kind, number): "
                         f"found {device!r}") from error
    if kind != _CUDA:
        return None
    if not hasattr(array, "is_cuda"):
        return array.__dlpack__(stream=_DEFAULT_STREAM)
    import torch  # which refuses what is not on its current device
    with torch.cuda.device(array.device):
        return array.__dlpack__(stream=_DEFAULT_STREAM)
