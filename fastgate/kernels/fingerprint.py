"""Hashes of names, of sets of cases and of cells: the same in every process, partition and order of rows."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.types import F, I

__all__ = ["digest_cells", "hash_texts", "mix", "sum_hashes"]

BYTES: Final = types.Array(types.uint8, 1, "C", readonly=True)
U: Final = types.Array(types.uint64, 1, "C", readonly=True)
OU: Final = types.Array(types.uint64, 1, "C")

_P1: Final = np.uint64(0x9E3779B185EBCA87)
_P2: Final = np.uint64(0xC2B2AE3D27D4EB4F)
_P3: Final = np.uint64(0x165667B19E3779F9)
_P4: Final = np.uint64(0x85EBCA77C2B2AE63)
_P5: Final = np.uint64(0x27D4EB2F165667C5)
_M1: Final = np.uint64(0xBF58476D1CE4E5B9)
_M2: Final = np.uint64(0x94D049BB133111EB)
_NAN: Final = np.int64(0x7FF8000000000000)
_INFINITY: Final = np.int64(0x7FF0000000000000)
_POSITIVE: Final = np.int64(0x7FFFFFFFFFFFFFFF)


@device
def _rotate(word: Any, left: Any) -> Any:
    return (word << np.uint64(left)) | (word >> np.uint64(64 - left))


@device
def _word(text: Any, at: Any, size: Any) -> Any:
    """`size` bytes from `at` as a little-endian integer."""
    word = np.uint64(0)
    for i in range(size):
        word |= np.uint64(text[at + i]) << np.uint64(8 * i)
    return word


@device
def _round(lane: Any, word: Any) -> Any:
    return _rotate(lane + word * _P2, 31) * _P1


@device
def _xxh64(text: Any) -> Any:
    n = text.size
    at = 0
    if n >= 32:
        a = _P1 + _P2
        b = _P2
        c = np.uint64(0)
        d = np.uint64(0) - _P1
        while at + 32 <= n:
            a = _round(a, _word(text, at, 8))
            b = _round(b, _word(text, at + 8, 8))
            c = _round(c, _word(text, at + 16, 8))
            d = _round(d, _word(text, at + 24, 8))
            at += 32
        digest = _rotate(a, 1) + _rotate(b, 7) + _rotate(c, 12) + _rotate(d, 18)
        zero = np.uint64(0)
        digest = (digest ^ _round(zero, a)) * _P1 + _P4
        digest = (digest ^ _round(zero, b)) * _P1 + _P4
        digest = (digest ^ _round(zero, c)) * _P1 + _P4
        digest = (digest ^ _round(zero, d)) * _P1 + _P4
    else:
        digest = _P5
    digest += np.uint64(n)
    while at + 8 <= n:
        digest = _rotate(digest ^ _round(np.uint64(0), _word(text, at, 8)), 27) * _P1 + _P4
        at += 8
    if at + 4 <= n:
        digest = _rotate(digest ^ (_word(text, at, 4) * _P1), 23) * _P2 + _P3
        at += 4
    while at < n:
        digest = _rotate(digest ^ (np.uint64(text[at]) * _P5), 11) * _P1
        at += 1
    digest = (digest ^ (digest >> np.uint64(33))) * _P2
    digest = (digest ^ (digest >> np.uint64(29))) * _P3
    return digest ^ (digest >> np.uint64(32))


@kernel(types.void(types.int64, types.int64, BYTES, I, OU))
def hash_texts(start: int, stop: int, data: Any, offsets: Any, hashes: Any) -> None:
    """XXH64 (seed 0) of the texts ``data[offsets[i]:offsets[i + 1]]``.

    References
    ----------
    Yann Collet (2012), xxHash: extremely fast non-cryptographic hash algorithm; "XXH64 algorithm description".
    """
    for i in range(start, stop):
        hashes[i] = _xxh64(data[offsets[i] : offsets[i + 1]])


@kernel(types.void(types.int64, types.int64, I, I, U, OU))
def sum_hashes(start: int, stop: int, offsets: Any, codes: Any, hashes: Any, sums: Any) -> None:
    """The sum, modulo 2⁶⁴, of the hashes of each cell's cases: order-free, and sums of parts add up."""
    for cell in range(start, stop):
        part = codes[offsets[cell] : offsets[cell + 1]]
        total = np.uint64(0)
        for i in range(part.size):
            total += hashes[part[i]]
        sums[cell] = total


@device
def mix(word: Any) -> Any:
    """The finaliser of SplitMix64: every input bit changes about half of the output's."""
    word = (word ^ (word >> np.uint64(30))) * _M1
    word = (word ^ (word >> np.uint64(27))) * _M2
    return word ^ (word >> np.uint64(31))


@kernel(types.void(types.int64, types.int64, I, F, I, I, U, OU))
def digest_cells(
    start: int, stop: int, offsets: Any, values: Any, starts: Any, codes: Any, hashes: Any, digests: Any
) -> None:
    """A hash of each cell's values with their cases (or, without cases, with their positions).

    Parameters
    ----------
    offsets, values
        The cells; all NaN count as the same.
    starts : int64, shape (n_cells,) or (0,)
        Where each cell's cases begin among `codes`; empty when the cases have no ids.
    codes : int64
    hashes : uint64, shape (n_cases,)
    digests : uint64, shape (n_cells,), written
        Σ mix(mix(value) + hash of its case or position), modulo 2⁶⁴.
    """
    for cell in range(start, stop):
        bits = values[offsets[cell] : offsets[cell + 1]].view(np.int64)
        total = np.uint64(bits.size)
        if starts.size:
            part = codes[starts[cell] : starts[cell] + bits.size]
            for i in range(bits.size):
                word = _NAN if (bits[i] & _POSITIVE) > _INFINITY else bits[i]
                total += mix(mix(np.uint64(word)) + hashes[part[i]])
        else:
            for i in range(bits.size):
                word = _NAN if (bits[i] & _POSITIVE) > _INFINITY else bits[i]
                total += mix(mix(np.uint64(word)) + np.uint64(i + 1) * _P1)
        digests[cell] = total
