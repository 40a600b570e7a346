"""Adjusted p-values of families of tests, each in ascending order of p."""

from __future__ import annotations

from typing import Final

from numba import types

from fastgate.jit import kernel
from fastgate.kernels.records import Floats, Integers
from fastgate.kernels.types import OF, OI, F, I

__all__ = ["BH", "BONFERRONI", "BY", "HOCHBERG", "HOLM", "adjust_kernel", "sort_families"]

BONFERRONI: Final = 0
HOLM: Final = 1
HOCHBERG: Final = 2
BH: Final = 3
BY: Final = 4


@kernel(types.void(I, I, I, OI))
def sort_families(order: Integers, family: Integers, offsets: Integers, out: Integers) -> None:
    """Deal the tests, in ascending order of p, to their families' places: one pass, not many sorts."""
    place = offsets[:-1].copy()
    for i in order:
        out[place[family[i]]] = i
        place[family[i]] += 1


@kernel(types.void(types.int64, types.int64, F, I, I, types.int64, types.boolean, OF))
def adjust_kernel(
    start: int,
    stop: int,
    p: Floats,
    order: Integers,
    offsets: Integers,
    method: int,
    count_missing: bool,
    out: Floats,
) -> None:
    """Adjust the families start … stop − 1: p[order[offsets[f]:offsets[f + 1]]], ascending, NaN last."""
    for f in range(start, stop):
        members = order[offsets[f] : offsets[f + 1]]
        n = members.size
        while n > 0 and p[members[n - 1]] != p[members[n - 1]]:
            n -= 1
            out[members[n]] = p[members[n]]
        m = members.size if count_missing else n
        if method == BONFERRONI:
            for k in range(n):
                out[members[k]] = min(1.0, m * p[members[k]])
        elif method == HOLM:
            running = 0.0
            for k in range(n):
                running = max(running, (m - k) * p[members[k]])
                out[members[k]] = min(1.0, running)
        else:
            factor = 1.0
            if method == BY:
                factor = 0.0
                for k in range(m, 0, -1):
                    factor += 1.0 / k
            running = 1.0
            for k in range(n - 1, -1, -1):
                rank = float(m - k) if method == HOCHBERG else factor * (m / (k + 1.0))
                running = min(running, rank * p[members[k]])
                out[members[k]] = running
