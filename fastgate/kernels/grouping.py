"""Kernels that turn rows in any order into cells in one canonical order, in time linear in the rows.

Rows are worked on in pieces, so that threads can share them: each piece is encoded by itself (`encode`), the
few distinct values of all pieces are ranked elsewhere, and every row then knows its place (`place`). Within
a cell, entries are put in the order of their keys by a radix sort whose digit fits the cell (`sort_cells`).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.types import OB, OF, OI, F, I

__all__ = [
    "append",
    "count_repeats",
    "encode",
    "find_unsorted",
    "fold",
    "place",
    "sort_cells",
    "spread",
    "tally",
]

CODES: Final = types.Array(types.int32, 1, "C", readonly=True)
OUT_CODES: Final = types.Array(types.int32, 1, "C")
OUT_COLUMNS: Final = types.Array(types.float64, 2, "C")

_SMALL: Final = 24  # entries up to which an insertion sort beats a radix sort
_BLOCK: Final = 2048  # rows
_K1: Final = np.uint64(0x9E3779B97F4A7C15)
_K2: Final = np.uint64(0xC2B2AE3D27D4EB4F)


@device
def _slot(low: Any, high: Any, shift: Any) -> Any:
    mixed = (np.uint64(low) ^ (np.uint64(high) * _K2)) * _K1
    mixed = (mixed ^ (mixed >> np.uint64(29))) * _K2
    return np.int64(mixed >> np.uint64(shift))


@device
def _encode_until_full(
    row: Any,
    distinct: Any,
    hits: Any,
    words: Any,
    width: Any,
    codes: Any,
    firsts: Any,
    table: Any,
    seen: Any,
    follower: Any,
) -> Any:
    """Encode from `row` on; returns the row that finds no room for a new code (or n), and the codes in use."""
    mask = table.size - 1
    shift = 64
    while (table.size >> (64 - shift)) > 1:
        shift -= 1
    while row < codes.size:
        # Guessing blocks measure themselves; where guesses fail (rows in random order), the next blocks go
        # without: 3 ns a row against 5.
        block = row // _BLOCK
        guessing = block % 8 == 0 or hits > _BLOCK // 2
        if block % 8 == 0:
            hits = 0
        previous = np.int64(codes[row - 1]) if row else 0
        while row < min((block + 1) * _BLOCK, codes.size):
            a = words[row * width]
            b = words[row * width + width - 1]
            code = np.int64(follower[previous]) if guessing else 0
            if guessing and distinct and seen[0, code] == a and seen[1, code] == b:
                hits += 1
            else:
                slot = _slot(a, b, shift)
                code = np.int64(table[slot])
                while code >= 0 and (seen[0, code] != a or seen[1, code] != b):
                    slot = (slot + 1) & mask
                    code = np.int64(table[slot])
                if code < 0:
                    if distinct == follower.size:
                        return row, distinct, hits
                    code = distinct
                    table[slot] = code
                    seen[0, code] = a
                    seen[1, code] = b
                    firsts[code] = row
                    distinct += 1
                if guessing:
                    follower[previous] = code
            codes[row] = code
            previous = code
            row += 1
    return row, distinct, hits


@kernel(types.int64(I, types.int64, OUT_CODES, OI))
def encode(words: Any, width: int, codes: Any, firsts: Any) -> int:
    """The number of distinct rows; each row's code in the order of first appearance.

    Parameters
    ----------
    words : int64, shape (width * n,)
        A row is one word (an integer) or two (an Arrow string view: equal words are equal text, and text longer
        than 12 bytes may have several views, hence several codes).
    width : int64
        1 or 2.
    codes : int32, shape (n,), written
        0 … distinct − 1.
    firsts : int64, shape (n,), its first `distinct` elements written
        The row in which each code appears first.
    """
    row = 0
    distinct = 0
    hits = 0
    room = 256
    seen = np.empty((2, room), np.int64)
    # Which code last followed each code. Rows mostly repeat, or go through the cases in the same order as the
    # cell before: this guess then replaces the hashing.
    follower = np.zeros(room, np.int32)
    while row < codes.size:
        if distinct:
            room *= 4
            older = seen
            seen = np.empty((2, room), np.int64)
            seen[:, :distinct] = older[:, :distinct]
            guesses = follower
            follower = np.zeros(room, np.int32)
            follower[:distinct] = guesses[:distinct]
        # A collision costs a mispredicted branch, but a large table the cache.
        table = np.full(room * (8 if room <= 4096 else 2), -1, np.int32)
        shift = 64
        while (table.size >> (64 - shift)) > 1:
            shift -= 1
        for code in range(distinct):
            slot = _slot(seen[0, code], seen[1, code], shift)
            while table[slot] >= 0:
                slot = (slot + 1) & (table.size - 1)
            table[slot] = code
        row, distinct, hits = _encode_until_full(
            row, distinct, hits, words, width, codes, firsts, table, seen, follower
        )
    return distinct


@kernel(types.void(OI, CODES, types.int64))
def append(key: Any, codes: Any, size: int) -> None:
    """Append one column of codes below `size` to a combined key: ``key[i] = key[i] * size + codes[i]``."""
    for row in range(key.size):
        key[row] = key[row] * size + codes[row]


@kernel(types.void(OI, CODES, I, types.int64))
def fold(key: Any, codes: Any, ranks: Any, size: int) -> None:
    """Append the ranks of one column to a combined key: ``key[i] = key[i] * size + ranks[codes[i]]``."""
    for row in range(key.size):
        key[row] = key[row] * size + ranks[codes[row]]


@kernel(types.void(CODES, OI))
def tally(codes: Any, counts: Any) -> None:
    """Add the number of rows of each code to `counts`."""
    for row in range(codes.size):
        counts[codes[row]] += 1


@kernel([types.void(CODES, OI, I, OI), types.void(CODES, OI, F, OF)])
def place(codes: Any, next_place: Any, source: Any, out: Any) -> None:
    """Put each row of a piece at the next free place of its code; `next_place` moves on."""
    for row in range(codes.size):
        code = codes[row]
        out[next_place[code]] = source[row]
        next_place[code] += 1


@kernel(
    [
        types.void(types.int64, types.int64, I, I, I, OI),
        types.void(types.int64, types.int64, I, F, I, OF),
    ]
)
def spread(start: int, stop: int, offsets: Any, values: Any, places: Any, out: Any) -> None:
    """Copy each list of a list column to its place: row r to ``out[places[r]:]``."""
    for row in range(start, stop):
        part = values[offsets[row] : offsets[row + 1]]
        target = out[places[row] : places[row] + part.size]
        for i in range(part.size):
            target[i] = part[i]


@kernel(types.void(types.int64, types.int64, I, I, OB))
def find_unsorted(start: int, stop: int, offsets: Any, keys: Any, unsorted: Any) -> None:
    """Mark with 1 the cells whose keys are not strictly increasing."""
    for cell in range(start, stop):
        part = keys[offsets[cell] : offsets[cell + 1]]
        falls = 0
        for i in range(1, part.size):
            falls += part[i] <= part[i - 1]
        unsorted[cell] = 1 if falls else 0


@device
def _flip(number: Any) -> Any:
    """The bits of a float64 (as int64), which so sort as the numbers do, −0 before 0; and back."""
    return number ^ ((number >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))


@device
def _order(number: Any) -> Any:
    """`_flip` with all NaN, of whatever sign and payload, the same and last."""
    if (number & np.int64(0x7FFFFFFFFFFFFFFF)) > np.int64(0x7FF0000000000000):
        return np.int64(0x7FF8000000000000)
    return _flip(number)


@device
def _sort_pairs(keys: Any, rows: Any, spare_keys: Any, spare_rows: Any, counts: Any) -> None:
    """Sort `keys`, carrying `rows` along; stable, linear in their number."""
    n = keys.size
    if n <= _SMALL:
        for i in range(1, n):
            key = keys[i]
            row = rows[i]
            j = i
            while j > 0 and keys[j - 1] > key:
                keys[j] = keys[j - 1]
                rows[j] = rows[j - 1]
                j -= 1
            keys[j] = key
            rows[j] = row
        return
    least = keys[0]
    most = keys[0]
    for i in range(1, n):
        least = min(least, keys[i])
        most = max(most, keys[i])
    span = np.uint64(most) - np.uint64(least)
    digit = 4
    while digit < 12 and (1 << digit) < n:
        digit += 1
    mask = np.uint64((1 << digit) - 1)
    shift = 0
    in_spare = False
    while shift < 64 and (span >> np.uint64(shift)) > 0:
        move = np.uint64(shift)
        count = counts[: 1 << digit]
        count[:] = 0
        for i in range(n):
            count[np.int64(((np.uint64(keys[i]) - np.uint64(least)) >> move) & mask)] += 1
        total = 0
        for i in range(count.size):
            here = count[i]
            count[i] = total
            total += here
        for i in range(n):
            bucket = np.int64(((np.uint64(keys[i]) - np.uint64(least)) >> move) & mask)
            position = count[bucket]
            count[bucket] = position + 1
            spare_keys[position] = keys[i]
            spare_rows[position] = rows[i]
        keys, spare_keys = spare_keys, keys
        rows, spare_rows = spare_rows, rows
        in_spare = not in_spare
        shift += digit
    if in_spare:
        for i in range(n):
            spare_keys[i] = keys[i]
            spare_rows[i] = rows[i]


@kernel(types.void(types.int64, types.int64, I, OI, OUT_COLUMNS))
def sort_cells(start: int, stop: int, offsets: Any, keys: Any, columns: Any) -> None:
    """Sort each cell by its keys, with its values in every column; equal keys by value, column by column.

    Cells in strictly increasing order are left as they are. The order of equal keys, which only faulty data
    have, is thus a function of the content and not of the order of rows.
    """
    room = 0
    spare = np.empty((4, room), np.int64)
    numbers = np.empty(room, np.float64)
    counts = np.empty(1 << 12, np.int64)
    for cell in range(start, stop):
        lo = offsets[cell]
        part = keys[lo : offsets[cell + 1]]
        n = part.size
        falls = 0
        for i in range(1, n):
            falls += part[i] <= part[i - 1]
        if falls == 0:
            continue
        if n > room:
            room = max(n, 2 * room)
            spare = np.empty((4, room), np.int64)
            numbers = np.empty(room, np.float64)
        rows = spare[0, :n]
        for i in range(n):
            rows[i] = i
        _sort_pairs(part, rows, spare[1, :n], spare[2, :n], counts)
        for column in range(columns.shape[0]):
            values = columns[column, lo : lo + n]
            for i in range(n):
                numbers[i] = values[rows[i]]
            for i in range(n):
                values[i] = numbers[i]
        first = 0
        while first < n:
            last = first + 1
            while last < n and part[last] == part[first]:
                last += 1
            if last - first > 1:
                for column in range(columns.shape[0]):
                    bits = columns[column, lo + first : lo + last].view(np.int64)
                    tied = spare[3, : last - first]
                    for i in range(tied.size):
                        tied[i] = _order(bits[i])
                    _sort_pairs(tied, rows[: tied.size], spare[1, : tied.size], spare[2, : tied.size], counts)
                    for i in range(tied.size):
                        bits[i] = _flip(tied[i])
            first = last


@kernel(types.void(types.int64, types.int64, I, I, OI))
def count_repeats(start: int, stop: int, offsets: Any, keys: Any, repeats: Any) -> None:
    """The number of entries of each (sorted) cell whose key is that of the entry before."""
    for cell in range(start, stop):
        part = keys[offsets[cell] : offsets[cell + 1]]
        total = 0
        for i in range(1, part.size):
            total += part[i] == part[i - 1]
        repeats[cell] = total
