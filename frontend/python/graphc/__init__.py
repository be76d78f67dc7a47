# SPDX-License-Identifier: Apache-2.0
# The package graphc: write a network as equations; get a compiled program.
"""Write a network as equations; get a compiled program.

    import graphc
    from graphc import f32

    model = graphc.Model("example")
    layer = graphc.Linear(model, "layer", 3, 1)

    @model.graph("train", mode="training")
    def train(inputs):
        x = inputs("x", f32, ["batch", 3])
        y = inputs("y", f32, ["batch", 1])
        loss = graphc.mse(layer(x), y)
        graphc.minimize(loss, model.params(), graphc.Sgd(rate=0.1))
        return loss

    session = graphc.Session(model)
    loss = session("train", [[1, 2, 3]], [[1]])

docs/python.md begins at the beginning.
"""

import builtins as _builtins
import os as _os

from . import _graphc
from .errors import CheckError, Error, InputError, InternalError, ResourceError, UsageError

_graphc.add_package_folder(_os.path.dirname(_os.path.abspath(__file__)) + _os.sep)

from ._graphc import *  # noqa: E402,F403
from . import ops, weights  # noqa: E402
from .layers import Bidirectional, Stacked  # noqa: E402
from .looking import Drawing, Profile, Progress  # noqa: E402
from .outputs import Outputs  # noqa: E402

__version__: str = getattr(_graphc, "__version__")

f32 = _graphc.DType.f32
bf16 = _graphc.DType.bf16
f64 = _graphc.DType.f64
i32 = _graphc.DType.i32
i64 = _graphc.DType.i64
u32 = _graphc.DType.u32
u8 = _graphc.DType.u8

# `from graphc import *` leaves Python's own sum, max, abs, ... alone.
__all__ = [name for name in dir(_graphc)
           if not name.startswith("_") and not hasattr(_builtins, name)] + [
    "Bidirectional", "CheckError", "Drawing", "Error", "InputError", "InternalError", "Outputs",
    "Profile", "Progress", "ResourceError", "Stacked", "UsageError", "bf16", "f32", "f64", "i32",
    "i64", "ops", "u32", "u8", "weights"]
__all__.remove("add_package_folder")
