# SPDX-License-Identifier: Apache-2.0
# The results of a graph that has several, or none.
"""The results of a run: a tuple of arrays, with names where the graph gives them."""

from .errors import InputError


class Outputs(tuple):
    """NumPy arrays in the order of the graph's results; `outputs["name"]` is one by its name."""

    def __new__(cls, arrays, names=()):
        self = super().__new__(cls, arrays)
        self._names = tuple(names)
        return self

    @property
    def names(self):
        """The names of the results; empty if the graph names none."""
        return self._names

    def __getitem__(self, key):
        if not isinstance(key, str):
            return super().__getitem__(key)
        if key in self._names:
            return super().__getitem__(self._names.index(key))
        there = ", ".join(self._names) or "the graph names none"
        raise InputError(f"no result is called '{key}': there is {there}")

    def __getnewargs__(self):
        return tuple(self), self._names

    def __repr__(self):
        if not self._names:
            return f"Outputs({tuple(self)!r})"
        shown = ", ".join(f"{name}={array!r}" for name, array in zip(self._names, self))
        return f"Outputs({shown})"
