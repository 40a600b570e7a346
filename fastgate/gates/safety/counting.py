"""What is counted of each candidate and the baseline on each suite, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate.gates.safety import reasons

if TYPE_CHECKING:
    from fastgate.frames.outcomes import Outcomes
    from fastgate.frames.tallies import Tallies, Totals
    from fastgate.gates.safety.policy import SafetyRules, SuiteLimits

__all__ = ["Counted", "count"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class _Rates(NamedTuple):
    """The counts that make the rates of each comparison."""

    cases: Integers
    """That both runs decide."""
    passes: Floats
    """Of the candidate, in cases or trials; fractional where cases count by share, or rates were given."""
    trials: Integers
    passes_b: Floats
    trials_b: Integers


class Counted(NamedTuple):
    """The counts of each comparison, in the order of candidates and suites."""

    candidate: Integers
    """Its run; −1 where there is none."""
    baseline: Integers
    totals: Totals
    """Of every run."""
    tallies: Tallies
    """Zeros where a run is missing, or only counts are known."""
    rates: _Rates
    faults: npt.NDArray[np.uint32]
    """A mask of reasons."""


def count(
    outcomes: Outcomes, rules: SafetyRules, baseline: str, candidates: Sequence[str], suites: Sequence[str]
) -> Counted:
    """The counts of every comparison.

    Parameters
    ----------
    outcomes : Outcomes
    rules : SafetyRules
        The policy as applied.
    baseline : str
    candidates, suites : sequence of str
        In the order shown.
    """
    from fastgate.frames.tallies import total_runs

    totals = total_runs(outcomes, rules.trials)
    candidate, base = _runs(outcomes, baseline, candidates, suites)
    tallies = _tallies(outcomes, rules, totals, candidate, base)
    rates = _rates(outcomes, rules, tallies, candidate, base)
    faults = _faults(outcomes, rules, totals, tallies, rates, candidate, base, suites)
    return Counted(candidate, base, totals, tallies, rates, faults)


def _runs(
    outcomes: Outcomes, baseline: str, candidates: Sequence[str], suites: Sequence[str]
) -> tuple[Integers, Integers]:
    """The two runs of each comparison; −1 where there is none."""
    builds = [*candidates, baseline]
    found = np.full((len(builds), len(suites)), -1, np.int64)

    index = outcomes.index
    rows = _positions(index["build"], outcomes.builds, builds)
    columns = _positions(index["suite"], outcomes.suites, suites)
    known = np.flatnonzero((rows >= 0) & (columns >= 0))
    found[rows[known], columns[known]] = known
    base = np.broadcast_to(found[-1], (len(candidates), len(suites)))
    return found[:-1].ravel(), base.ravel()


def _positions(column: pl.Series, known: Sequence[str], names: Sequence[str]) -> Integers:
    """Where each name of an Enum column, whose categories are known, stands among `names`; −1 for those that do not."""
    positions = {name: position for position, name in enumerate(names)}
    of_code = np.array([positions.get(name, -1) for name in known], np.int64)
    found: Integers = of_code[column.to_physical().to_numpy()]
    return found


def _tallies(
    outcomes: Outcomes, rules: SafetyRules, totals: Totals, candidate: Integers, baseline: Integers
) -> Tallies:
    """The tallies of each comparison; zeros where a run is missing, or only counts are known."""
    from fastgate.frames.tallies import compare_runs, no_tallies, spread_tallies

    if outcomes.counts is not None:
        return no_tallies(candidate.size)
    present = np.flatnonzero((candidate >= 0) & (baseline >= 0))
    found = compare_runs(
        outcomes, candidate[present], baseline[present], rules.trials, rules.trial_sets, totals
    )
    return spread_tallies(found, present, candidate.size)


def _rates(
    outcomes: Outcomes, rules: SafetyRules, tallies: Tallies, candidate: Integers, baseline: Integers
) -> _Rates:
    """What is counted on each side: cases that both runs decide, or their trials."""
    if outcomes.counts is not None:
        present = (candidate >= 0) & (baseline >= 0)
        passes, totals, _ = outcomes.counts
        trials, trials_b = np.where(present, totals[candidate], 0), np.where(present, totals[baseline], 0)
        passes_c, passes_b = (np.where(present, passes[runs], 0.0) for runs in (candidate, baseline))
        return _Rates(np.minimum(trials, trials_b), passes_c, trials, passes_b, trials_b)
    cases = tallies.both + tallies.regressed + tallies.fixed + tallies.neither
    if rules.trials == "each":
        passed = tallies.passes_candidate.astype(np.float64), tallies.passes_baseline.astype(np.float64)
        return _Rates(cases, passed[0], tallies.trials_candidate, passed[1], tallies.trials_baseline)
    if rules.trials == "share":
        return _Rates(cases, tallies.shares_candidate, cases, tallies.shares_baseline, cases)
    passed = (
        (tallies.both + tallies.fixed).astype(np.float64),
        (tallies.both + tallies.regressed).astype(np.float64),
    )
    return _Rates(cases, passed[0], cases, passed[1], cases)


def _faults(
    outcomes: Outcomes,
    rules: SafetyRules,
    totals: Totals,
    tallies: Tallies,
    rates: _Rates,
    candidate: Integers,
    baseline: Integers,
    suites: Sequence[str],
) -> npt.NDArray[np.uint32]:
    """The faults of each comparison, as a mask of reasons."""
    missing = (candidate < 0) | (baseline < 0)
    present = ~missing
    limits: list[SuiteLimits] = [rules.suites.get(suite, rules.limits) for suite in suites]
    n_candidates = candidate.size // len(suites)
    min_cases = np.tile([limit.min_cases for limit in limits], n_candidates)
    max_errors = np.tile([limit.max_error_share for limit in limits], n_candidates)
    executions = totals.passes + totals.fails + totals.errors
    share = totals.errors / np.maximum(executions, 1)
    unpaired = tallies.missing_candidate + tallies.missing_baseline > 0
    if outcomes.counts is not None:
        # Nobody can tell which cases they are; a different number of them is still a different set.
        unpaired = totals.cases[candidate] != totals.cases[baseline]
    repeated = present & ((totals.repeats[candidate] > 0) | (totals.repeats[baseline] > 0))
    comparable = present & ~unpaired
    found = {
        "missing_cell": missing,
        "duplicate_case": repeated,
        "unpaired_cases": present & unpaired,
        "unpaired_trials": present & ~repeated & (tallies.unlike_trials > 0),
        "too_many_errors": present & (np.maximum(share[candidate], share[baseline]) > max_errors),
        "no_cases": present & (rates.cases == 0),
        "n_lt_min": comparable & (rates.cases > 0) & (rates.cases < min_cases),
    }
    mask = np.zeros(candidate.size, np.uint32)
    for fault, flags in found.items():
        mask |= flags * np.uint32(reasons.bit(fault))
    return mask
