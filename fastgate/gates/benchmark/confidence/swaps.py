"""Builds made identical, whose values then swap places at random; and a candidate made better by a stated amount."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastgate import threads
from fastgate.gates.benchmark.confidence.drawing_setting import Setting, frozen
from fastgate.gates.benchmark.confidence.drawings import Block, States, aligned
from fastgate.gates.benchmark.confidence.improvements import Improvement
from fastgate.kernels.drawing_records import Sides, Statistics

if TYPE_CHECKING:
    from fastgate.gates.benchmark.policy import BenchmarkRules
    from fastgate.kernels.records import MomentArrays

__all__ = ["swapped_states"]

Flags = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def swapped_states(seed: int, better: Improvement | None) -> States:
    """The states of comparisons after random swaps, the candidate then made better.

    Parameters
    ----------
    seed : int
    better : Improvement or None
    """

    def states_of(at: Setting, block: Block, with_tests: bool) -> tuple[Flags, Statistics]:
        from fastgate.kernels.swapped_states import swapped_cases
        from fastgate.kernels.swapped_states import swapped_states as kernel

        plan, group = block.plan, block.group
        members = group.members[block.part]
        n_baselines, kpis = at.shape[1], plan.kpis.sign.size
        (stratum,) = group.strata
        swaps = np.empty((block.n_replicates, stratum.n_cases), np.uint8)
        threads.run(
            swapped_cases,
            block.n_replicates,
            np.uint64(seed),
            block.first,
            np.uint64(stratum.key),
            swaps,
            work=2.0 * stratum.n_cases,
        )
        ours = aligned(at, group, plan.candidate_cell[members])
        theirs = aligned(at, group, plan.baseline_cell[members])
        if at.rules.pairs_cases:
            # Means and spreads of the cases that the test will see; faults are those of all the data all the same.
            incomplete = np.isnan(ours) | np.isnan(theirs)
            ours[incomplete] = theirs[incomplete] = np.nan
        n = members.size * n_baselines * kpis
        number = np.arange(n)
        sides = frozen(Sides(number, number, number % kpis, plan.faulty[members].ravel()))
        more = np.zeros(n) if better is None else _gains(at.rules, block, better, ours, theirs, sides.kpi)
        ours, theirs = _made_identical(ours, theirs)
        states = np.empty((n, block.n_replicates), np.uint8)
        tests = Statistics(*(np.empty(states.shape if with_tests else (0, 0)) for _ in range(2)))
        threads.run(
            kernel,
            n,
            ours,
            theirs,
            swaps,
            more,
            at.rules.pairs_cases,
            sides,
            plan.kpis,
            at.levels,
            states,
            tests,
            work=block.n_replicates * (100.0 + 5.0 * stratum.n_cases),
        )
        return states, tests

    return states_of


def _made_identical(ours: Floats, theirs: Floats) -> tuple[Floats, Floats]:
    """Both sides of each comparison with the candidate's mean, and as far apart as identical builds are.

    Once the means are equal the differences of n cases add up to 0, and their squares have lost a share of 1/n: each
    case's values are set apart from their middle by √(n / (n − 1)). Where the sides have different numbers of values,
    1/n is the mean of both shares, which is what differences of uncorrelated sides have lost.
    """
    from fastgate.stats.summary import mean_arrays

    first, second = _moments(ours), _moments(theirs)
    mean = mean_arrays(first)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        moved: Floats = theirs + (mean - mean_arrays(second))[:, None]
        # Two constants become the very same, not within rounding.
        constant = (first.constant == 1) & (second.constant == 1)
        moved[constant] = np.where(np.isnan(theirs[constant]), np.nan, mean[constant, None])
        half = ours / 2 - moved / 2
        lost = ((1.0 / first.n + 1.0 / second.n) / 2.0)[:, None]
        apart = np.where(np.isfinite(half) & (lost < 1.0), half * (1.0 / np.sqrt(1.0 - lost) - 1.0), 0.0)
        return ours + apart, moved - apart


def _gains(
    rules: BenchmarkRules, block: Block, better: Improvement, ours: Floats, theirs: Floats, kpi: Integers
) -> Floats:
    """What is added to the candidate's values in each comparison."""
    suite = rules.suites[block.plan.name]
    names = [name for name in suite.kpis if name in suite.deciding_kpis or name in suite.guards]
    size = np.zeros(len(names))
    standardised = np.zeros(len(names), np.bool_)
    for place, name in enumerate(names):
        if name in suite.deciding_kpis and name in better.gains:
            size[place], standardised[place] = better.gains[name]
    gain = size[kpi] * block.plan.kpis.sign[kpi]
    if standardised.any():
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            spread = np.hypot(_deviations(ours), _deviations(theirs)) / np.sqrt(2.0)
            gain = np.where(standardised[kpi], gain * spread, gain)
    return np.where(np.isfinite(gain), gain, 0.0)


def _deviations(rows: Floats) -> Floats:
    """The standard deviation of each row, though its square be out of range; NaN below two values."""
    found = _moments(rows)
    variance = np.full(found.n.size, np.nan)
    np.divide(found.m2, found.n - 1, out=variance, where=found.n > 1)
    deviations: Floats = np.ldexp(np.sqrt(variance), found.exponent)
    return deviations


def _moments(rows: Floats) -> MomentArrays:
    """The moments of each row, NaN left out, scaled where their squares would leave float64."""
    from fastgate.stats.summary import moments_arrays

    offsets: Any = np.arange(rows.shape[0] + 1, dtype=np.int64) * rows.shape[1]
    return moments_arrays(rows.ravel(), offsets)
