"""Counter-based random numbers: a stream is a pure function of (seed, key, side, replicate).

A stream is a Weyl sequence put through the finaliser of SplitMix64 (Steele, Lea and Flood 2014), which passes
the usual test batteries. Nothing is carried from one replicate, cell or thread to the next, so any of them can
be computed anywhere, in any order, with the same bits.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.records import Floats, Integers
from fastgate.kernels.types import I

__all__ = [
    "OU",
    "PAIRED_SIZE",
    "U",
    "cell_keys",
    "cell_stream",
    "draw_indices",
    "draw_pairs",
    "mix",
    "multinomial_weights",
    "replicate_stream",
]

Keys = npt.NDArray[np.uint64]

U: Final = types.Array(types.uint64, 1, "C", readonly=True)
OU: Final = types.Array(types.uint64, 1, "C")

_OUT_GRID: Final = types.Array(types.float64, 2, "C")

_WEYL: Final = np.uint64(0x9E3779B97F4A7C15)
_SIDE: Final = np.uint64(0xC2B2AE3D27D4EB4F)
_REPLICATE: Final = np.uint64(0xD1B54A32D192ED03)
_LOW: Final = np.uint64(0xFFFFFFFF)
_S32: Final = np.uint64(32)
_S11: Final = np.uint64(11)
_UNIT: Final = 2.0**-53
# Two indices are taken from 32 random bits up to this size: no pair is then more likely than another by more
# than size²/2³² = 1.5e-5 of itself, one index up to the second size (2**-16).
PAIRED_SIZE: Final = 256
_ONE_PER_HALF: Final = 65536


@device
def mix(z: Any) -> Any:
    """The finaliser of SplitMix64: a bijection of 64 bits in which every bit depends on every other."""
    z = np.uint64(z)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@device
def cell_stream(seed: Any, key: Any, side: Any) -> Any:
    """The base of one sample's streams; `seed` and `key` are uint64, `side` tells two samples of a cell apart."""
    return mix(mix(mix(np.uint64(seed) + _WEYL) ^ np.uint64(key)) + np.uint64(side) * _SIDE)


@device
def replicate_stream(base: Any, replicate: Any) -> Any:
    """The state in which replicate `replicate` of the sample with this base begins."""
    return mix(np.uint64(base) + np.uint64(replicate) * _REPLICATE)


@device
def draw_indices(state: Any, n: int, indices: Keys) -> None:
    """Fill `indices` (uint64) with independent uniform draws from 0 … n − 1."""
    state = np.uint64(state)
    size = indices.size
    m = np.uint64(n)
    if n <= PAIRED_SIZE:
        words = size // 4
        for j in range(words):
            word = mix(state + np.uint64(j + 1) * _WEYL)
            low = (word & _LOW) * m
            high = (word >> _S32) * m
            # The remainder of a product is as uniform as the word was, and gives the next index.
            indices[4 * j] = low >> _S32
            indices[4 * j + 1] = high >> _S32
            indices[4 * j + 2] = ((low & _LOW) * m) >> _S32
            indices[4 * j + 3] = ((high & _LOW) * m) >> _S32
        if size > 4 * words:
            word = mix(state + np.uint64(words + 1) * _WEYL)
            low = (word & _LOW) * m
            high = (word >> _S32) * m
            indices[4 * words] = low >> _S32
            if size > 4 * words + 1:
                indices[4 * words + 1] = high >> _S32
            if size > 4 * words + 2:
                indices[4 * words + 2] = ((low & _LOW) * m) >> _S32
    elif n <= _ONE_PER_HALF:
        words = size // 2
        for j in range(words):
            word = mix(state + np.uint64(j + 1) * _WEYL)
            indices[2 * j] = ((word & _LOW) * m) >> _S32
            indices[2 * j + 1] = ((word >> _S32) * m) >> _S32
        if size > 2 * words:
            word = mix(state + np.uint64(words + 1) * _WEYL)
            indices[2 * words] = ((word & _LOW) * m) >> _S32
    else:
        for j in range(size):
            word = mix(state + np.uint64(j + 1) * _WEYL)
            index = np.uint64(np.float64(word >> _S11) * _UNIT * np.float64(n))
            indices[j] = min(index, m - np.uint64(1))


@device
def draw_pairs(state: Any, n: int, pairs: Keys) -> Any:
    """Fill `pairs` (uint64, of even size) with i·n + j of independent uniform i, j from 0 … n − 1, n up to 256.

    Returns one more i.
    """
    state = np.uint64(state)
    words = pairs.size // 2
    m = np.uint64(n * n)
    # No odd element is treated apart: a branch after this loop keeps LLVM from making it SIMD (180 µs against 75 µs for
    # 10 000 times 50 pairs).
    for j in range(words):
        word = mix(state + np.uint64(j + 1) * _WEYL)
        pairs[2 * j] = ((word & _LOW) * m) >> _S32
        pairs[2 * j + 1] = ((word >> _S32) * m) >> _S32
    return ((mix(state + np.uint64(words + 1) * _WEYL) >> _S32) * np.uint64(n)) >> _S32


@kernel(types.void(types.int64, types.int64, U, I, I, U, OU))
def cell_keys(
    start: int, stop: int, bits: Keys, offsets: Integers, n: Integers, previous: Keys, keys: Keys
) -> None:
    """A key from each cell's values: equal for equal multisets, whatever their order.

    Parameters
    ----------
    bits : uint64, shape (n_values,)
        The values' bit patterns; cell ``c`` holds ``n[c]`` of them from ``offsets[c]``.
    previous : uint64, shape (n_cells,)
        The keys of the cells' other sample, or zeros.
    keys : uint64, shape (n_cells,), output
    """
    for c in range(start, stop):
        total = np.uint64(0)
        for word in bits[offsets[c] : offsets[c] + n[c]]:
            total += mix(word + _WEYL)
        keys[c] = mix(mix(previous[c] + _WEYL) ^ (total + np.uint64(n[c])))


@kernel(
    types.void(types.int64, types.int64, types.uint64, types.int64, types.uint64, types.uint64, _OUT_GRID)
)
def multinomial_weights(
    start: int, stop: int, seed: Any, first: int, key: Any, side: Any, weights: Floats
) -> None:
    """How often each of n values is drawn in the replicates ``first + start … first + stop − 1``; rows of `weights`."""
    n = weights.shape[1]
    stream = cell_stream(seed, key, side)
    indices = np.empty(n, np.uint64)
    for r in range(start, stop):
        row = weights[r]
        row[:] = 0.0
        draw_indices(replicate_stream(stream, first + r), n, indices)
        for index in indices:
            row[index] += 1.0
