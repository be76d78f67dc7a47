# SPDX-License-Identifier: Apache-2.0
# Every operation of the language as a function: what docs/ops.md lists.
"""Every operation of graphc's language, by its name in the text of graphs.

    ys, h, c = graphc.ops.lstm(x, h0, c0, w, u, b)
    help(graphc.ops.lstm)

The operands are values or numbers, attributes are keyword arguments. The functions of `graphc`
itself are these with defaults and conveniences: write graphc.softmax(x, axis=0), and graphc.ops
where there is none. docs/ops.md has examples and derivatives.
"""

import inspect as _inspect
import textwrap as _textwrap

from . import _graphc


def _documentation(doc, body, attributes):
    parts = [doc]
    if attributes:
        parts.append(f"Attributes: {', '.join(attributes)}.")
    if body:
        first, _, rest = body.strip().partition("\n")
        margin = len(body.rsplit("\n", 1)[-1]) - 1
        rest = "\n".join(line[margin:] if not line[:margin].strip() else line
                         for line in rest.split("\n"))
        parts.append("Defined as\n\n" + _textwrap.indent(f"{first}\n{rest}".strip(), "    "))
    return "\n\n".join(parts)


def _function(name, doc, body, attributes):
    def function(*operands, **attributes):
        return _graphc._apply_op(name, operands, attributes)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _documentation(doc, body, attributes)
    kinds = _inspect.Parameter
    function.__signature__ = _inspect.Signature(
        [kinds("operands", kinds.VAR_POSITIONAL),
         *[kinds(one, kinds.KEYWORD_ONLY, default=None) for one in attributes]])
    return function


_functions = {record[0]: _function(*record) for record in _graphc._op_records()}
globals().update(_functions)
__all__ = list(_functions)


def __getattr__(name):
    raise AttributeError(f"there is no op '{name}' in graphc.ops; docs/ops.md lists them")
