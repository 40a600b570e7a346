"""The cases that two cells have in common; case codes increase within a cell."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from fastgate.jit import kernel
from fastgate.kernels.types import OF, OI, F, I

__all__ = ["count_common", "gather_common"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@kernel(types.void(types.int64, types.int64, I, I, I, I, OI))
def count_common(
    start: int,
    stop: int,
    offsets: Integers,
    cases: Integers,
    first: Integers,
    second: Integers,
    counts: Integers,
) -> None:
    """``counts[i]``: how many cases the cells ``first[i]`` and ``second[i]`` share."""
    for i in range(start, stop):
        a = cases[offsets[first[i]] : offsets[first[i] + 1]]
        b = cases[offsets[second[i]] : offsets[second[i] + 1]]
        j = k = n = 0
        while j < a.size and k < b.size:
            if a[j] < b[k]:
                j += 1
            elif b[k] < a[j]:
                k += 1
            else:
                n += 1
                j += 1
                k += 1
        counts[i] = n


@kernel(types.void(types.int64, types.int64, I, I, F, I, I, I, OF))
def gather_common(
    start: int,
    stop: int,
    offsets: Integers,
    cases: Integers,
    values: Floats,
    first: Integers,
    second: Integers,
    starts: Integers,
    out: Floats,
) -> None:
    """The values of the shared cases: of ``first[i]`` in cell 2i of the output, of ``second[i]`` in cell 2i + 1."""
    for i in range(start, stop):
        a = cases[offsets[first[i]] : offsets[first[i] + 1]]
        b = cases[offsets[second[i]] : offsets[second[i] + 1]]
        of_a = values[offsets[first[i]] : offsets[first[i] + 1]]
        of_b = values[offsets[second[i]] : offsets[second[i] + 1]]
        to_a = out[starts[2 * i] : starts[2 * i + 1]]
        to_b = out[starts[2 * i + 1] : starts[2 * i + 2]]
        j = k = n = 0
        while j < a.size and k < b.size:
            if a[j] < b[k]:
                j += 1
            elif b[k] < a[j]:
                k += 1
            else:
                to_a[n] = of_a[j]
                to_b[n] = of_b[k]
                n += 1
                j += 1
                k += 1
