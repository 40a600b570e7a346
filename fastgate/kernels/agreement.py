"""Agreement of probes with their primary choices: compared, counted per cell, and marked per pair."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.choices import ABSENT, ABSTAIN, FIRST, SECOND, TIE
from fastgate.kernels.types import OB, OF, OI, B, I

__all__ = [
    "COLUMNS",
    "DIFFERS",
    "MATCHES",
    "MISSING",
    "UNKNOWN",
    "compare",
    "count",
    "flag_pairs",
    "summarise",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]

# What comparing a probe with its primary run can give.
UNKNOWN: Final = -2
MISSING: Final = -1
DIFFERS: Final = 0
MATCHES: Final = 1

# Counts per cell: probes compared, matching, missing, of unknown choice; A, B, tie of the primary;
# of the probe.
COLUMNS: Final = 10


@device
def _unswap(choices: Codes, swapped: Codes, out: Codes) -> None:
    """Copy choices, A and B trading places where a flag is set; swapped may be empty."""
    if swapped.size == 0:
        out[:] = choices
        return
    for row in range(choices.size):
        choice = choices[row]
        out[row] = choice ^ ((swapped[row] != 0) & (choice >= FIRST) & (choice <= SECOND))


# Without a branch on a choice, for choices are as good as random: 2 ns a probe against 23.
@kernel(types.void(types.int64, types.int64, B, B, I, I, B, B, OB, OB, OB))
def compare(
    start: int,
    stop: int,
    primary: Codes,
    probe: Codes,
    primary_reason: Integers,
    probe_reason: Integers,
    primary_swapped: Codes,
    probe_swapped: Codes,
    primary_choice: Codes,
    probe_choice: Codes,
    match: Codes,
) -> None:
    """Un-swap the choices of the probes start … stop − 1 and compare them; all arrays (n_probes,).

    The reasons are classes from 0 on, negative where not known; they and the swapped flags may be empty.
    Letters of swapped runs trade places; an abstention matches only one of the same known class.
    """
    left, right, same = primary_choice[start:stop], probe_choice[start:stop], match[start:stop]
    _unswap(primary[start:stop], primary_swapped[start:stop], left)
    _unswap(probe[start:stop], probe_swapped[start:stop], right)
    if primary_reason.size and probe_reason.size:
        left_reason, right_reason = primary_reason[start:stop], probe_reason[start:stop]
        for row in range(same.size):
            known = (left_reason[row] >= 0) & (left_reason[row] == right_reason[row])
            same[row] = (left[row] == right[row]) & ((left[row] != ABSTAIN) | known)
    else:
        for row in range(same.size):
            same[row] = (left[row] == right[row]) & (left[row] != ABSTAIN)
    for row in range(same.size):
        least = min(left[row], right[row])
        code = MISSING if least == ABSENT else same[row]
        same[row] = UNKNOWN if (least < ABSENT) | (max(left[row], right[row]) > ABSTAIN) else code


@kernel(types.void(types.int64, types.int64, I, I, B, B, B, types.int64, OI))
def count(
    start: int,
    stop: int,
    bounds: Integers,
    cell: Integers,
    primary_choice: Codes,
    probe_choice: Codes,
    match: Codes,
    n_cells: int,
    table: Integers,
) -> None:
    """Count the probes of the blocks start … stop − 1, each block in a table of its own.

    Block b is the rows bounds[b] … bounds[b + 1] − 1 of cell, choices and match (n_probes,); table
    (n_blocks · n_cells · COLUMNS,) comes zeroed.
    """
    for block in range(start, stop):
        own = table[block * n_cells * COLUMNS : (block + 1) * n_cells * COLUMNS]
        for row in range(bounds[block], bounds[block + 1]):
            base = cell[row] * COLUMNS
            found = match[row]
            if found >= 0:
                own[base] += 1
                own[base + 1] += found
                if primary_choice[row] <= TIE:
                    own[base + 4 + primary_choice[row]] += 1
                if probe_choice[row] <= TIE:
                    own[base + 7 + probe_choice[row]] += 1
            elif found == MISSING:
                own[base + 2] += 1
            else:
                own[base + 3] += 1


@kernel(types.void(types.int64, types.int64, I, I, OI, OI, OI, OB, OF))
def summarise(
    start: int,
    stop: int,
    table: Integers,
    abstained: Integers,
    n: Integers,
    agree: Integers,
    missing: Integers,
    unknown: Codes,
    kappa: Floats,
) -> None:
    """The counts and Cohen's kappa of the cells start … stop − 1; unknown: a choice had no known code.

    table (n_cells · COLUMNS,); abstained (n_cells,), the sum over the reason classes of the primary's times
    the probe's abstentions; outputs (n_cells,).
    """
    for c in range(start, stop):
        counts = table[c * COLUMNS : (c + 1) * COLUMNS]
        n[c] = counts[0]
        agree[c] = counts[1]
        missing[c] = counts[2]
        unknown[c] = counts[3] > 0
        # n² times the agreement expected by chance, an exact integer; no kappa where chance always agrees.
        chance = abstained[c] + counts[4] * counts[7] + counts[5] * counts[8] + counts[6] * counts[9]
        square = counts[0] * counts[0]
        kappa[c] = (counts[1] * counts[0] - chance) / (square - chance) if chance < square else math.nan


@kernel(types.void(I, B, B, OI, OI))
def flag_pairs(pair: Integers, kind: Codes, match: Codes, probed: Integers, flipped: Integers) -> None:
    """Set bit k of probed (n_pairs,) where a probe of kind k was compared, of flipped where it differed.

    pair, kind (0 … 62) and match: (n_probes,); the outputs come zeroed. Runs on one thread, for the
    bits of a pair may come from any row.
    """
    for row in range(pair.size):
        if match[row] >= 0:
            bit = np.int64(1) << np.int64(kind[row])
            probed[pair[row]] |= bit
            if match[row] == DIFFERS:
                flipped[pair[row]] |= bit
