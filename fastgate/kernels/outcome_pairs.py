"""Kernels that compare runs with runs, case by case: tallies, and the cases that flipped."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.outcomes import (
    EACH,
    ERROR,
    FAILED,
    PASSED,
    RUNS,
    SHARE,
    TABLE,
    case_end,
    case_outcome,
    case_tally,
    code_at,
    ones,
)
from fastgate.kernels.types import I

__all__ = ["compare_runs", "list_flips"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

FLOAT_TABLE: Final = types.Array(types.float64, 2, "C")
ROWS: Final = types.Array(types.int32, 2, "C")

# Which trials two runs must have of a case: the same; the same up to the first failure, at which they stop; any.
SAME_TRIALS: Final = 0
FIRST_FAILURE: Final = 1
ANY_TRIALS: Final = 2

# Columns of the tallies of a comparison; cases, unless said. A case is used if both runs decide it.
BOTH: Final = 0
REGRESSED: Final = 1
FIXED: Final = 2
NEITHER: Final = 3
UNDECIDED_CANDIDATE: Final = 4
UNDECIDED_BASELINE: Final = 5
MISSING_CANDIDATE: Final = 6
MISSING_BASELINE: Final = 7
UNLIKE_TRIALS: Final = 8
PASSES_CANDIDATE: Final = 9  # trials of used cases
TRIALS_CANDIDATE: Final = 10
PASSES_BASELINE: Final = 11
TRIALS_BASELINE: Final = 12
REPEATED: Final = 13  # with more than one trial in both runs; the following are of these
REGRESSED_EVERY: Final = 14  # passed in every trial before, in none now
FIXED_EVERY: Final = 15
FLAKY_CANDIDATE: Final = 16  # trials disagree
FLAKY_BASELINE: Final = 17
N_TALLIES: Final = 18

# Columns of the sums of a comparison, over used cases.
SHARES_CANDIDATE: Final = 0
SHARES_BASELINE: Final = 1
SQUARES: Final = 2  # of the differences of shares
REPEATED_GAINS: Final = 3  # differences of shares, over cases with more than one trial in both runs
REPEATED_SQUARES: Final = 4
WITHIN: Final = 5  # variances of these differences within the cases, between trials
N_SUMS: Final = 6


@device
def compare_single(
    n: int,
    passed_a: Integers,
    errors_a: Integers,
    passed_b: Integers,
    errors_b: Integers,
    counts: Integers,
) -> None:
    """Tally two runs of the same list of cases with a trial each."""
    for i in range(passed_a.size):
        used = ~(errors_a[i] | errors_b[i])
        counts[BOTH] += ones(passed_a[i] & passed_b[i])
        counts[REGRESSED] += ones(passed_b[i] & ~passed_a[i] & used)
        counts[FIXED] += ones(passed_a[i] & ~passed_b[i] & used)
        counts[NEITHER] -= ones(errors_a[i] | errors_b[i])
        counts[UNDECIDED_CANDIDATE] += ones(errors_a[i])
        counts[UNDECIDED_BASELINE] += ones(errors_b[i])
    used = n + counts[NEITHER]
    counts[NEITHER] = used - counts[BOTH] - counts[REGRESSED] - counts[FIXED]
    counts[PASSES_CANDIDATE] = counts[BOTH] + counts[FIXED]
    counts[PASSES_BASELINE] = counts[BOTH] + counts[REGRESSED]
    counts[TRIALS_CANDIDATE] = counts[TRIALS_BASELINE] = used


@kernel(types.void(*RUNS, I, I, I, types.int64, types.int64, TABLE, FLOAT_TABLE))
def compare_runs(
    start: int,
    stop: int,
    run_lists: Integers,
    list_offsets: Integers,
    list_keys: Integers,
    plane_offsets: Integers,
    passed: Integers,
    errors: Integers,
    trial_bits: int,
    candidate: Integers,
    baseline: Integers,
    limits: Integers,
    rule: int,
    trial_sets: int,
    tallies: Integers,
    sums: Floats,
) -> None:
    """Tally each candidate's run against its baseline's, case by case.

    Parameters
    ----------
    run_lists … trial_bits
        As in `total_runs`.
    candidate, baseline : int64, shape (n,)
        The runs to compare.
    limits : int64, shape (n,)
        Under FIRST_FAILURE the trials that a case without a failure has.
    rule, trial_sets : int64
        SAME_TRIALS, FIRST_FAILURE or ANY_TRIALS.
    tallies : int64, shape (N_TALLIES, n), written
        Under SHARE and EACH a case has REGRESSED or FIXED if its share of passes fell or rose.
    sums : float64, shape (N_SUMS, n), written
    """
    by_share = rule in (SHARE, EACH)
    for i in range(start, stop):
        run_a, run_b = candidate[i], baseline[i]
        list_a, list_b = run_lists[run_a], run_lists[run_b]
        keys_a = list_keys[list_offsets[list_a] : list_offsets[list_a + 1]]
        keys_b = list_keys[list_offsets[list_b] : list_offsets[list_b + 1]]
        passed_a = passed[plane_offsets[run_a] : plane_offsets[run_a + 1]]
        errors_a = errors[plane_offsets[run_a] : plane_offsets[run_a + 1]]
        passed_b = passed[plane_offsets[run_b] : plane_offsets[run_b + 1]]
        errors_b = errors[plane_offsets[run_b] : plane_offsets[run_b + 1]]
        counts = tallies[:, i]
        totals = sums[:, i]
        counts[:] = 0
        totals[:] = 0.0
        if trial_bits == 0 and list_a == list_b:
            compare_single(keys_a.size, passed_a, errors_a, passed_b, errors_b, counts)
            totals[SHARES_CANDIDATE] = counts[PASSES_CANDIDATE]
            totals[SHARES_BASELINE] = counts[PASSES_BASELINE]
            totals[SQUARES] = counts[REGRESSED] + counts[FIXED]
            continue
        j = k = 0
        while j < keys_a.size and k < keys_b.size:
            case_a, case_b = keys_a[j] >> trial_bits, keys_b[k] >> trial_bits
            if case_a < case_b:
                j = case_end(keys_a, j, trial_bits)
                counts[MISSING_BASELINE] += 1
                continue
            if case_b < case_a:
                k = case_end(keys_b, k, trial_bits)
                counts[MISSING_CANDIDATE] += 1
                continue
            from_a, from_b = j, k
            j, passes_a, fails_a, failed_a = case_tally(keys_a, passed_a, errors_a, j, trial_bits)
            k, passes_b, fails_b, failed_b = case_tally(keys_b, passed_b, errors_b, k, trial_bits)
            if trial_sets != ANY_TRIALS:
                alike = True
                for t in range(min(j - from_a, k - from_b)):
                    alike &= keys_a[from_a + t] == keys_b[from_b + t]
                if trial_sets == SAME_TRIALS:
                    alike &= j - from_a == k - from_b
                else:
                    # A case stops at its only failure, which is its last trial, or goes on to the limit.
                    if fails_a == 0:
                        alike &= j - from_a >= limits[i]
                    else:
                        alike &= fails_a == 1 and code_at(passed_a, errors_a, j - 1) == FAILED
                    if fails_b == 0:
                        alike &= k - from_b >= limits[i]
                    else:
                        alike &= fails_b == 1 and code_at(passed_b, errors_b, k - 1) == FAILED
                counts[UNLIKE_TRIALS] += not alike
            first_a, first_b = code_at(passed_a, errors_a, from_a), code_at(passed_b, errors_b, from_b)
            outcome_a = case_outcome(rule, passes_a, fails_a, failed_a, first_a)
            outcome_b = case_outcome(rule, passes_b, fails_b, failed_b, first_b)
            counts[UNDECIDED_CANDIDATE] += outcome_a == ERROR
            counts[UNDECIDED_BASELINE] += outcome_b == ERROR
            if outcome_a == ERROR or outcome_b == ERROR:
                continue
            trials_a, trials_b = passes_a + fails_a, passes_b + fails_b
            counts[PASSES_CANDIDATE] += passes_a
            counts[TRIALS_CANDIDATE] += trials_a
            counts[PASSES_BASELINE] += passes_b
            counts[TRIALS_BASELINE] += trials_b
            share_a, share_b = passes_a / trials_a, passes_b / trials_b
            totals[SHARES_CANDIDATE] += share_a
            totals[SHARES_BASELINE] += share_b
            totals[SQUARES] += (share_a - share_b) ** 2
            if trials_a > 1 and trials_b > 1:
                counts[REPEATED] += 1
                counts[REGRESSED_EVERY] += passes_a == 0 and fails_b == 0
                counts[FIXED_EVERY] += fails_a == 0 and passes_b == 0
                counts[FLAKY_CANDIDATE] += passes_a > 0 and fails_a > 0
                counts[FLAKY_BASELINE] += passes_b > 0 and fails_b > 0
                totals[REPEATED_GAINS] += share_a - share_b
                totals[REPEATED_SQUARES] += (share_a - share_b) ** 2
                totals[WITHIN] += share_a * (1.0 - share_a) / (trials_a - 1)
                totals[WITHIN] += share_b * (1.0 - share_b) / (trials_b - 1)
            if by_share:
                gain = passes_a * trials_b - passes_b * trials_a
                counts[REGRESSED] += gain < 0
                counts[FIXED] += gain > 0
                counts[BOTH] += gain == 0 and passes_a > 0
                counts[NEITHER] += gain == 0 and passes_a == 0
            else:
                counts[BOTH] += outcome_a == PASSED and outcome_b == PASSED
                counts[REGRESSED] += outcome_a == FAILED and outcome_b == PASSED
                counts[FIXED] += outcome_a == PASSED and outcome_b == FAILED
                counts[NEITHER] += outcome_a == FAILED and outcome_b == FAILED
        while j < keys_a.size:
            j = case_end(keys_a, j, trial_bits)
            counts[MISSING_BASELINE] += 1
        while k < keys_b.size:
            k = case_end(keys_b, k, trial_bits)
            counts[MISSING_CANDIDATE] += 1


@kernel(types.void(*RUNS, I, I, types.int64, I, ROWS))
def list_flips(
    start: int,
    stop: int,
    run_lists: Integers,
    list_offsets: Integers,
    list_keys: Integers,
    plane_offsets: Integers,
    passed: Integers,
    errors: Integers,
    trial_bits: int,
    candidate: Integers,
    baseline: Integers,
    rule: int,
    places: Integers,
    rows: Integers,
) -> None:
    """List the cases of each comparison that regressed or were fixed, as `compare_runs` counts them.

    Parameters
    ----------
    places : int64, shape (n + 1,)
        Where each comparison's rows begin.
    rows : int32, shape (6, places[-1]), written
        case, 1 for a regression and 0 for a fix, passes and trials of the candidate, passes and trials of the
        baseline.
    """
    by_share = rule in (SHARE, EACH)
    for i in range(start, stop):
        run_a, run_b = candidate[i], baseline[i]
        list_a, list_b = run_lists[run_a], run_lists[run_b]
        keys_a = list_keys[list_offsets[list_a] : list_offsets[list_a + 1]]
        keys_b = list_keys[list_offsets[list_b] : list_offsets[list_b + 1]]
        passed_a = passed[plane_offsets[run_a] : plane_offsets[run_a + 1]]
        errors_a = errors[plane_offsets[run_a] : plane_offsets[run_a + 1]]
        passed_b = passed[plane_offsets[run_b] : plane_offsets[run_b + 1]]
        errors_b = errors[plane_offsets[run_b] : plane_offsets[run_b + 1]]
        at, end = places[i], places[i + 1]
        j = k = 0
        while at < end and j < keys_a.size and k < keys_b.size:
            if trial_bits == 0 and list_a == list_b and j & 63 == 0 and passed_a[j >> 6] == passed_b[j >> 6]:
                # None of these 64 cases flipped.
                j += 64
                k += 64
                continue
            case_a, case_b = keys_a[j] >> trial_bits, keys_b[k] >> trial_bits
            if case_a < case_b:
                j = case_end(keys_a, j, trial_bits)
                continue
            if case_b < case_a:
                k = case_end(keys_b, k, trial_bits)
                continue
            first_a, first_b = code_at(passed_a, errors_a, j), code_at(passed_b, errors_b, k)
            j, passes_a, fails_a, failed_a = case_tally(keys_a, passed_a, errors_a, j, trial_bits)
            k, passes_b, fails_b, failed_b = case_tally(keys_b, passed_b, errors_b, k, trial_bits)
            outcome_a = case_outcome(rule, passes_a, fails_a, failed_a, first_a)
            outcome_b = case_outcome(rule, passes_b, fails_b, failed_b, first_b)
            if outcome_a == ERROR or outcome_b == ERROR:
                continue
            trials_a, trials_b = passes_a + fails_a, passes_b + fails_b
            gain = outcome_a - outcome_b
            if by_share:
                gain = passes_a * trials_b - passes_b * trials_a
            if gain != 0:
                rows[0, at] = case_a
                rows[1, at] = gain < 0
                rows[2, at] = passes_a
                rows[3, at] = trials_a
                rows[4, at] = passes_b
                rows[5, at] = trials_b
                at += 1
