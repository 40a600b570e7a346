"""The extreme order statistics of a cell: partial ordering, and gathering the two tails of many values."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from fastgate.jit import device

__all__ = ["TODO", "gather_tails", "order", "plan"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

TODO: Final = 512
"""Length of the scratch array for waiting parts: three numbers each, 2 log2(n) + 4 parts at most."""

# Below this many values insertion is quicker than another partition.
_INSERTION: Final = 24
# Smaller cells are ordered whole; of larger ones a sample of about 6√n values brackets the tails.
_SAMPLED: Final = 192


@device
def _insertion_sort(a: Floats) -> None:
    for i in range(1, a.size):
        x = a[i]
        j = i - 1
        while j >= 0 and a[j] > x:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = x


@device
def _sift(a: Floats, root: int, size: int) -> None:
    x = a[root]
    while 2 * root + 1 < size:
        child = 2 * root + 1
        if child + 1 < size and a[child + 1] > a[child]:
            child += 1
        if not a[child] > x:
            break
        a[root] = a[child]
        root = child
    a[root] = x


@device
def _heap_sort(a: Floats) -> None:
    for root in range(a.size // 2 - 1, -1, -1):
        _sift(a, root, a.size)
    for last in range(a.size - 1, 0, -1):
        x = a[0]
        a[0] = a[last]
        a[last] = x
        _sift(a, 0, last)


@device
def _middle(x: float, y: float, z: float) -> float:
    return max(min(x, y), min(max(x, y), z))


@device
def _pivot(a: Floats) -> float:
    """The middle of nine values; of a short array, of three."""
    n = a.size
    if n < 128:
        return _middle(a[n // 4], a[n // 2], a[3 * n // 4])
    s = n // 9
    return _middle(
        _middle(a[0], a[s], a[2 * s]),
        _middle(a[3 * s], a[4 * s], a[5 * s]),
        _middle(a[6 * s], a[7 * s], a[8 * s]),
    )


@device
def order(
    a: Floats, first_1: int, last_1: int, first_2: int, last_2: int, scratch: Floats, todo: Integers
) -> None:
    """Bring the ranks first_1 … last_1 and first_2 … last_2 (from 0) where sorting would put them.

    Quicksort that leaves alone the parts which hold none of these ranks. Its partition has no
    branch on a value (0.6 ns a value against 2 with one); a part that is still unordered after 2
    log₂ n partitions is heap-sorted. No value is NaN; scratch is as long as a, todo (TODO,).
    """
    top = 0
    start = 0
    stop = a.size
    budget = 2 * int(math.log2(a.size + 1.0)) + 4
    while True:
        part = a[start:stop]
        if (stop <= first_1 or start > last_1) and (stop <= first_2 or start > last_2):
            pass
        elif part.size <= _INSERTION:
            _insertion_sort(part)
        elif budget == 0:
            _heap_sort(part)
        else:
            budget -= 1
            pivot = _pivot(part)
            less = 0
            rest = 0
            for i in range(part.size):
                x = part[i]
                part[less] = x
                less += x < pivot
                scratch[rest] = x
                rest += not (x < pivot)
            if less == 0:
                # The pivot is the smallest value: bring its equals to the front; all values are in scratch.
                rest = 0
                for i in range(part.size):
                    x = scratch[i]
                    part[less] = x
                    less += x == pivot
                    scratch[rest] = x
                    rest += x != pivot
                part[less:] = scratch[:rest]
                start += less
                continue
            part[less:] = scratch[:rest]
            todo[top] = start + less
            todo[top + 1] = stop
            todo[top + 2] = budget
            top += 3
            stop = start + less
            continue
        if top == 0:
            return
        top -= 3
        start = todo[top]
        stop = todo[top + 1]
        budget = todo[top + 2]


@device
def plan(n: int, tail: int) -> tuple[int, int]:
    """Of a cell of n values, how many to sample and which ranks of the sample hold a tail between them.

    The rank, from either end, is three standard deviations beyond the tail's expected one. Size 0: not worth it.
    """
    size = 6 * int(math.sqrt(n))
    expected = size * (tail / n)
    rank = int(expected + 3.0 * math.sqrt(expected)) + 1
    return (size, rank) if n >= _SAMPLED and 3 * rank < size else (0, 0)


@device
def gather_tails(
    cell: Floats, tail: int, low: Floats, high: Floats, scratch: Floats, todo: Integers
) -> tuple[int, int, bool]:
    """Copy at least the `tail` smallest values of a cell to `low`, at least as many of the largest to `high`.

    Returns how many each then holds, and whether the whole cell is finite. A short cell, or one of which the
    tails are a large part, goes to `low` as a whole: both counts are then its size. low, high and scratch are
    longer than the cell by 1, todo is (TODO,).
    """
    n = cell.size
    size, rank = plan(n, tail)
    if size > 0:
        for i in range(size):
            low[i] = cell[i * (n // size)]
        order(low[:size], rank, rank, size - 1 - rank, size - 1 - rank, scratch, todo)
        below = low[rank]
        above = low[size - 1 - rank]
        n_low = 0
        n_high = 0
        finite = 0
        for i in range(n):
            x = cell[i]
            low[n_low] = x
            n_low += x <= below
            high[n_high] = x
            n_high += x >= above
            finite += abs(x) < math.inf
        if finite < n or (n_low >= tail and n_high >= tail and n_low < n):
            return n_low, n_high, finite == n
    finite = 0
    for i in range(n):
        x = cell[i]
        low[i] = x
        finite += abs(x) < math.inf
    return n, n, finite == n
