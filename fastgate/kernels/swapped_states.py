"""The states of comparisons in which candidate and baseline have swapped places in some cases at random."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.drawing_records import FAULT, Flags, Grid, Levels, RuleRows, Sides, Statistics
from fastgate.kernels.drawn_judgement import LEVELS, OUT_STATES, RULES, SIDES, STATISTICS, judge_samples
from fastgate.kernels.drawn_moments import GRID
from fastgate.kernels.records import Floats
from fastgate.kernels.rng import cell_stream, draw_indices, replicate_stream
from fastgate.kernels.types import F

__all__ = ["swapped_cases", "swapped_states"]

_SWAPS: Final = types.Array(types.uint8, 2, "C", readonly=True)
# Tells the swaps of a stratum from its drawings, which have the sides 0, 1 and 2.
_SIDE: Final = 7


@kernel(types.void(types.int64, types.int64, types.uint64, types.int64, types.uint64, OUT_STATES))
def swapped_cases(start: int, stop: int, seed: Any, first: int, key: Any, swaps: Flags) -> None:
    """Whether each case is swapped, with chance 1/2, in the replicates ``first + start … first + stop - 1``.

    Parameters
    ----------
    swaps : uint8, shape (n_replicates, n_cases), output
    """
    coins = np.empty(swaps.shape[1], np.uint64)
    stream = cell_stream(seed, key, _SIDE)
    for r in range(start, stop):
        draw_indices(replicate_stream(stream, first + r), 2, coins)
        for i in range(coins.size):
            swaps[r, i] = coins[i]


@device
def _fill(
    of_c: Floats, of_b: Floats, swaps: Flags, more: float, paired: bool, candidate: Floats, baseline: Floats
) -> tuple[int, int]:
    """The values of both sides after the swaps, those of the candidate by so much more; how many each has."""
    n_c = 0
    n_b = 0
    for i in range(of_c.size):
        swap = swaps[i] == 1
        ours = of_b[i] if swap else of_c[i]
        theirs = of_c[i] if swap else of_b[i]
        whole = ours == ours and theirs == theirs
        if ours == ours and (whole or not paired):
            candidate[n_c] = ours + more
            n_c += 1
        if theirs == theirs and (whole or not paired):
            baseline[n_b] = theirs
            n_b += 1
    return n_c, n_b


@kernel(
    types.void(
        types.int64,
        types.int64,
        GRID,
        GRID,
        _SWAPS,
        F,
        types.boolean,
        SIDES,
        RULES,
        LEVELS,
        OUT_STATES,
        STATISTICS,
    )
)
def swapped_states(
    start: int,
    stop: int,
    candidates: Grid,
    baselines: Grid,
    swaps: Flags,
    more: Floats,
    paired: bool,
    sides: Sides,
    rules: RuleRows,
    levels: Levels,
    states: Flags,
    tests: Statistics,
) -> None:
    """The states of the comparisons start … stop - 1.

    Parameters
    ----------
    candidates, baselines : float64, shape (n_rows, n_cases)
        NaN where there is no value.
    swaps : uint8, shape (n_replicates, n_cases)
    more : float64, shape (n_comparisons,)
        What is added to each of the candidate's values afterwards.
    states : uint8, shape (n_comparisons, n_replicates), output
    tests : Statistics, output
    """
    candidate, baseline = np.empty(candidates.shape[1]), np.empty(candidates.shape[1])
    for j in range(start, stop):
        k = sides.kpi[j]
        of_c, of_b = candidates[sides.candidate[j]], baselines[sides.baseline[j]]
        for r in range(states.shape[1]):
            state, t, df = FAULT, np.nan, np.nan
            if sides.faulty[j] == 0:
                n_c, n_b = _fill(of_c, of_b, swaps[r], more[j], paired, candidate, baseline)
                state, t, df = judge_samples(candidate[:n_c], baseline[:n_b], paired, k, rules, levels)
            states[j, r] = state
            if tests.statistic.size > 0:
                decides = rules.decides[k] == 1
                tests.statistic[j, r] = t if decides else np.nan
                tests.df[j, r] = df if decides else np.nan
