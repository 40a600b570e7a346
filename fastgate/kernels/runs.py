"""Kernels from rows of outcomes to runs: where runs begin, which of them list the same cases, their bits.

A list is a run's sequence of keys, a plane a bit for each of them, in 64-bit words (see `fastgate.kernels.outcomes`).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.fingerprint import OU, mix
from fastgate.kernels.types import OB, OF, OI, F, I

__all__ = [
    "copy_lists",
    "copy_values",
    "gather_bits",
    "hash_lists",
    "match_lists",
    "pack_bits",
    "run_starts",
    "same_lists",
]

Integers = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

BYTES: Final = types.Array(types.uint8, 1, "C", readonly=True)

_BLOCK: Final = 128  # rows
_MOST_LISTS: Final = 4096
_FEW_ROWS: Final = 1 << 16  # of which it does not matter how many are different


@device
def equal(words: Integers, one: int, other: int, n: int) -> bool:
    """Whether two stretches of n words are the same; in blocks, which SIMD compares at the speed of memory."""
    done = 0
    while done < n:
        size = min(n - done, 2 * _BLOCK)
        a = words[one + done : one + done + size]
        b = words[other + done : other + done + size]
        differing = np.int64(0)
        for i in range(size):
            differing |= a[i] ^ b[i]
        if differing != 0:
            return False
        done += size
    return True


@kernel(types.int64(I, types.int64, OI))
def run_starts(words: Integers, width: int, starts: Integers) -> int:
    """The number of runs of rows with the same key; −1 where there are more than `starts` has room for.

    Parameters
    ----------
    words : int64, shape (width * n,)
        A row is one word (an integer) or two (an Arrow string view).
    starts : int64, written
        The row in which each run begins.
    """
    n = words.size // width
    if n == 0 or starts.size == 0:
        return 0 if n == 0 else -1
    starts[0] = 0
    runs = 1
    first = 1
    while first < n:
        last = min(first + _BLOCK, n)
        # Blocks within one run, nearly all of them, go by at 28 GB/s a core.
        here = words[first * width : last * width]
        before = words[(first - 1) * width : (last - 1) * width]
        differing = np.int64(0)
        for i in range(here.size):
            differing |= here[i] ^ before[i]
        if differing != 0:
            for i in range(0, here.size, width):
                if here[i] != before[i] or here[i + width - 1] != before[i + width - 1]:
                    if runs == starts.size:
                        return -1
                    starts[runs] = first + i // width
                    runs += 1
        first = last
    return runs


@kernel(types.int64(I, I, types.int64, I, types.int64, OI, OI))
def match_lists(
    bounds: Integers,
    cases: Integers,
    case_width: int,
    trials: Integers,
    trial_width: int,
    lists: Integers,
    models: Integers,
) -> int:
    """The number of different lists among runs; −1 where so much is different that looking does not pay.

    Parameters
    ----------
    bounds : int64, shape (n_runs + 1,)
        The row in which each run begins and the last one ends.
    cases, trials : int64, shape (width * n,)
        As the keys of `run_starts`; `trials` is empty where there are none.
    lists : int64, shape (n_runs,), written
    models : int64, shape (n_runs,), its first elements written
        The first run with each list.
    """
    n_runs = bounds.size - 1
    distinct = 0
    rows = 0
    # Which list came after each list: suites mostly follow one another in the same order for each build.
    follower = np.zeros(_MOST_LISTS, np.int64)
    previous = 0
    for run in range(n_runs):
        first, size = bounds[run], bounds[run + 1] - bounds[run]
        found = -1
        for attempt in range(distinct + 1):
            number = follower[previous] if attempt == 0 else attempt - 1
            if number >= distinct:
                continue
            model = bounds[models[number]]
            if (
                bounds[models[number] + 1] - model == size
                and equal(cases, first * case_width, model * case_width, size * case_width)
                and (
                    trials.size == 0
                    or equal(trials, first * trial_width, model * trial_width, size * trial_width)
                )
            ):
                found = number
                break
        if found < 0:
            rows += size
            if distinct == _MOST_LISTS or 2 * rows > max(bounds[n_runs] - bounds[0], _FEW_ROWS):
                return -1
            models[distinct] = run
            found = distinct
            distinct += 1
        lists[run] = found
        follower[previous] = found
        previous = found
    return distinct


@kernel(types.void(I, I, I, I, OI))
def copy_lists(
    places: Integers, lists: Integers, list_offsets: Integers, entries: Integers, out: Integers
) -> None:
    """Copy to each place the entries of its list, ``entries[list_offsets[l]:list_offsets[l + 1]]``."""
    for run in range(places.size):
        part = entries[list_offsets[lists[run]] : list_offsets[lists[run] + 1]]
        here = out[places[run] : places[run] + part.size]
        for i in range(part.size):
            here[i] = part[i]


@kernel(types.void(I, I, I, I, I, F, OF))
def copy_values(
    rows: Integers,
    places: Integers,
    lists: Integers,
    list_offsets: Integers,
    orders: Integers,
    values: npt.NDArray[np.float64],
    out: npt.NDArray[np.float64],
) -> None:
    """Copy the values of each run to its place, in the order of its list.

    Parameters
    ----------
    rows, places, lists : int64, shape (n_runs,)
        The first row of each run, where its values go, and its list.
    list_offsets, orders : int64
        ``orders[list_offsets[l]:list_offsets[l + 1]]``: the position in the run of each entry of list l.
    """
    for run in range(rows.size):
        order = orders[list_offsets[lists[run]] : list_offsets[lists[run] + 1]]
        part = values[rows[run] : rows[run] + order.size]
        here = out[places[run] : places[run] + order.size]
        for i in range(order.size):
            here[i] = part[order[i]]


@kernel(types.void(types.int64, types.int64, I, I, I, I, I, I, BYTES, types.int64, OI))
def gather_bits(
    start: int,
    stop: int,
    rows: Integers,
    sizes: Integers,
    places: Integers,
    lists: Integers,
    order_offsets: Integers,
    orders: Integers,
    bitmap: Any,
    origin: int,
    plane: Integers,
) -> None:
    """Copy the bits of each run from a bit per row into a plane, in the order of the run's list.

    Parameters
    ----------
    rows, sizes, places, lists : int64, shape (n_runs,)
        The first row and the number of rows of each run, where its words begin in the plane, and its list.
    order_offsets, orders : int64
        ``orders[order_offsets[l]:order_offsets[l + 1]]``: the position in the run of each key of list l; no
        elements where that is the order of the rows.
    bitmap : uint8
        Least significant bit first; row 0 is bit `origin`.
    plane : int64, written
    """
    for run in range(start, stop):
        n = sizes[run]
        bit = origin + rows[run]
        words = plane[places[run] : places[run] + (n + 63) // 64]
        order = orders[order_offsets[lists[run]] : order_offsets[lists[run] + 1]]
        if order.size:
            words[:] = 0
            for i in range(n):
                at = bit + order[i]
                words[i >> 6] |= np.int64((bitmap[at >> 3] >> np.uint8(at & 7)) & np.uint8(1)) << (i & 63)
            continue
        shift = bit & 7
        at = bit >> 3
        for word in range(words.size):
            left = min(n - 64 * word, 64)
            bits = np.uint64(0)
            for byte in range((shift + left + 7) >> 3):
                part = np.uint64(bitmap[at + byte])
                if byte == 0:
                    bits = part >> np.uint64(shift)
                else:
                    bits |= part << np.uint64(8 * byte - shift)
            if left < 64:
                bits &= (np.uint64(1) << np.uint64(left)) - np.uint64(1)
            words[word] = np.int64(bits)
            at += 8


@kernel(types.void(types.int64, types.int64, I, I, types.int64, OU))
def hash_lists(
    start: int, stop: int, offsets: Integers, entries: Integers, shift: int, hashes: Words
) -> None:
    """A hash of each run's keys, which are its entries without their `shift` lowest bits."""
    for run in range(start, stop):
        part = entries[offsets[run] : offsets[run + 1]]
        total = np.uint64(part.size)
        for i in range(part.size):
            total += mix(np.uint64(part[i] >> shift))
        hashes[run] = total


@kernel(types.void(types.int64, types.int64, I, I, types.int64, I, OB))
def same_lists(
    start: int, stop: int, offsets: Integers, entries: Integers, shift: int, models: Integers, same: Any
) -> None:
    """Whether each run has the keys of its model, another run."""
    for run in range(start, stop):
        part = entries[offsets[run] : offsets[run + 1]]
        model = entries[offsets[models[run]] : offsets[models[run] + 1]]
        alike = part.size == model.size
        if alike:
            for i in range(part.size):
                alike &= part[i] >> shift == model[i] >> shift
        same[run] = alike


@kernel(types.void(types.int64, types.int64, I, I, I, OI, OI))
def pack_bits(
    start: int,
    stop: int,
    offsets: Integers,
    entries: Integers,
    plane_offsets: Integers,
    passed: Integers,
    errors: Integers,
) -> None:
    """The two planes of each run from the two lowest bits of its entries: 0 a failure, 1 a pass, 2 an error."""
    for run in range(start, stop):
        part = entries[offsets[run] : offsets[run + 1]]
        good = passed[plane_offsets[run] : plane_offsets[run + 1]]
        bad = errors[plane_offsets[run] : plane_offsets[run + 1]]
        good[:] = 0
        bad[:] = 0
        for i in range(part.size):
            good[i >> 6] |= (part[i] & 1) << (i & 63)
            bad[i >> 6] |= ((part[i] >> 1) & 1) << (i & 63)
