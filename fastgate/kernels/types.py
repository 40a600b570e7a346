"""Short names of the array types in kernel signatures; inputs are read-only, as Arrow's buffers are."""

from __future__ import annotations

from typing import Final

from numba import types

__all__ = ["OB", "OF", "OI", "B", "F", "I"]

F: Final = types.Array(types.float64, 1, "C", readonly=True)
I: Final = types.Array(types.int64, 1, "C", readonly=True)  # noqa: E741
B: Final = types.Array(types.int8, 1, "C", readonly=True)

OF: Final = types.Array(types.float64, 1, "C")
OI: Final = types.Array(types.int64, 1, "C")
OB: Final = types.Array(types.int8, 1, "C")
