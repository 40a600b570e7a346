"""Totals of runs, and tallies of candidates' runs against baselines', as named arrays."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fastgate import threads
from fastgate.frames.outcomes import Outcomes

__all__ = [
    "TRIAL_COUNTS",
    "TRIAL_SETS",
    "Flips",
    "Tallies",
    "Totals",
    "compare_runs",
    "find_flips",
    "no_tallies",
    "spread_tallies",
    "total_runs",
]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

TRIAL_COUNTS: Final = {"all": 0, "majority": 1, "first": 2, "share": 3, "each": 4}
"""When a case with several trials has passed, with the kernels' codes."""

TRIAL_SETS: Final = {"same": 0, "first-failure": 1, "any": 2}
"""Which trials two runs must have of a case."""


class Totals(NamedTuple):
    """The totals of each run: arrays of int64, shape (n_runs,)."""

    passes: Integers
    """Trials that passed."""
    fails: Integers
    errors: Integers
    """Trials without outcome."""
    passed_cases: Integers
    failed_cases: Integers
    undecided_cases: Integers
    """Cases that trials without outcome leave open."""
    flaky_cases: Integers
    """Cases of which some trials passed and some failed."""
    cases: Integers
    repeats: Integers
    """Cases (or trials) that stand twice."""
    most_trials: Integers
    """Of any case."""


class Tallies(NamedTuple):
    """The tallies of each comparison: arrays of shape (n,), int64 unless said.

    A case is used if both runs decide it; all but undecided, missing and unlike ones are counts of used cases.
    """

    both: Integers
    """Passed in both runs; where cases count by share, with one that is the same in both and not 0."""
    regressed: Integers
    """Passed in the baseline, fails in the candidate; or its share of passes fell."""
    fixed: Integers
    neither: Integers
    undecided_candidate: Integers
    undecided_baseline: Integers
    missing_candidate: Integers
    """Cases that only the baseline ran."""
    missing_baseline: Integers
    unlike_trials: Integers
    """Cases whose trials in the two runs do not fit together."""
    passes_candidate: Integers
    """Trials."""
    trials_candidate: Integers
    passes_baseline: Integers
    trials_baseline: Integers
    repeated: Integers
    """Cases with more than one trial in both runs."""
    regressed_every: Integers
    """Of these, cases that passed in every trial of the baseline and in none of the candidate."""
    fixed_every: Integers
    flaky_candidate: Integers
    """Of these, cases whose trials disagree."""
    flaky_baseline: Integers
    shares_candidate: Floats
    """Sum of the cases' shares of passed trials."""
    shares_baseline: Floats
    squares: Floats
    """Sum of the squared differences of these shares."""
    repeated_gains: Floats
    """Sum of the differences of repeated cases."""
    repeated_squares: Floats
    within: Floats
    """Sum over repeated cases of the variance that their trials give the difference."""


class Flips(NamedTuple):
    """The cases that flipped: arrays of shape (n_flips,), int32 unless said."""

    comparison: Integers
    """int64: which comparison."""
    case: npt.NDArray[np.int32]
    regressed: npt.NDArray[np.int32]
    """1 for a regression, 0 for a fix."""
    passes_candidate: npt.NDArray[np.int32]
    trials_candidate: npt.NDArray[np.int32]
    passes_baseline: npt.NDArray[np.int32]
    trials_baseline: npt.NDArray[np.int32]


def total_runs(outcomes: Outcomes, rule: str) -> Totals:
    """The totals of each run.

    Parameters
    ----------
    outcomes : Outcomes
        Of the shape *outcomes*, or *counts*: then a case is a trial.
    rule : str
        A key of `TRIAL_COUNTS`.
    """
    from fastgate.kernels import outcomes as kernels

    n_runs = outcomes.index.height
    if outcomes.counts is not None:
        given = outcomes.counts
        passes = np.floor(given.passes).astype(np.int64)
        fails, zeros = given.totals - passes, np.zeros(n_runs, np.int64)
        cases = given.totals + given.errors
        trials = np.minimum(cases, 1)
        return Totals(passes, fails, given.errors, passes, fails, given.errors, zeros, cases, zeros, trials)
    runs = outcomes.runs
    facts = np.empty((runs.list_offsets.size - 1, kernels.N_FACTS), np.int64)
    arguments = (runs.list_offsets, runs.list_keys, runs.trial_bits, facts)
    threads.run(kernels.list_facts, facts.shape[0], *arguments, work=3 * runs.list_offsets)
    totals = np.empty((kernels.N_TOTALS, n_runs), np.int64)
    work = _work(outcomes)
    threads.run(kernels.total_runs, n_runs, *runs.arrays, TRIAL_COUNTS[rule], totals, work=work)
    return Totals(*totals, *(fact[runs.run_lists] for fact in np.ascontiguousarray(facts.T)))


def _work(outcomes: Outcomes) -> float:
    """About how many nanoseconds a run takes."""
    runs = outcomes.runs
    n_keys = 64 * int(runs.plane_offsets[-1])
    return 20.0 + (4.0 if runs.trial_bits else 0.1) * n_keys / max(outcomes.index.height, 1)


def compare_runs(
    outcomes: Outcomes, candidate: Integers, baseline: Integers, rule: str, sets: str, totals: Totals
) -> Tallies:
    """The tallies of candidates' runs against baselines'.

    Parameters
    ----------
    outcomes : Outcomes
        Of the shape *outcomes*.
    candidate, baseline : ndarray of int64, shape (n,)
        The runs to compare.
    rule, sets : str
        Keys of `TRIAL_COUNTS` and `TRIAL_SETS`.
    totals : Totals
        Of these runs.
    """
    from fastgate.kernels import outcome_pairs as kernels

    n = candidate.size
    limits = np.maximum(totals.most_trials[candidate], totals.most_trials[baseline])
    tallies = np.empty((kernels.N_TALLIES, n), np.int64)
    sums = np.empty((kernels.N_SUMS, n))
    rules = (TRIAL_COUNTS[rule], TRIAL_SETS[sets])
    arguments = (*outcomes.runs.arrays, candidate, baseline, limits, *rules, tallies, sums)
    threads.run(kernels.compare_runs, n, *arguments, work=2 * _work(outcomes))
    return Tallies(*tallies, *sums)


def no_tallies(n: int) -> Tallies:
    """The tallies of n comparisons of which nothing is known: zeros."""
    counts, sums = np.zeros((18, n), np.int64), np.zeros((6, n))
    return Tallies(*counts, *sums)


def spread_tallies(tallies: Tallies, places: Integers, n: int) -> Tallies:
    """The tallies at their places among n comparisons, zeros elsewhere."""
    if places.size == n:
        return tallies
    spread = no_tallies(n)
    for column, part in zip(spread, tallies, strict=True):
        column[places] = part
    return spread


def find_flips(
    outcomes: Outcomes, candidate: Integers, baseline: Integers, rule: str, counts: Integers
) -> Flips:
    """The cases that flipped, in the order of comparisons and cases.

    Parameters
    ----------
    outcomes, candidate, baseline, rule
        As in `compare_runs`.
    counts : ndarray of int64, shape (n,)
        The regressions and fixes of each comparison together.
    """
    from fastgate.kernels.outcome_pairs import list_flips

    n = candidate.size
    places = np.zeros(n + 1, np.int64)
    np.cumsum(counts, out=places[1:])
    rows = np.empty((6, places[-1]), np.int32)
    arguments = (*outcomes.runs.arrays, candidate, baseline, TRIAL_COUNTS[rule], places, rows)
    threads.run(list_flips, n, *arguments, work=2 * _work(outcomes))
    return Flips(np.repeat(np.arange(n), counts), *rows)
