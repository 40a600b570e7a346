"""Every candidate against the baseline on every suite: the figures, before any rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate.gates.safety import reasons
from fastgate.gates.safety.counting import Counted, count
from fastgate.gates.safety.floor import (
    corrected_level,
    differences,
    false_alarm,
    newcombe,
    noise_floor,
    signals,
)
from fastgate.gates.verdict import SIGNALS, STATUSES, named

if TYPE_CHECKING:
    from fastgate.frames.outcomes import Outcomes
    from fastgate.gates.safety.policy import SafetyRules

__all__ = ["Compared", "compare"]

Floats = npt.NDArray[np.float64]


class Compared(NamedTuple):
    """The comparisons, in the order of candidates and suites."""

    figures: pl.DataFrame
    """A row per comparison: the columns of the table ``suites`` but verdict, outcome and reasons; and ``_faults``, a
    mask of reasons. Undefined figures are NaN."""
    counted: Counted


def compare(
    outcomes: Outcomes, rules: SafetyRules, baseline: str, candidates: Sequence[str], suites: Sequence[str]
) -> Compared:
    """The figures of every comparison.

    Parameters
    ----------
    outcomes : Outcomes
    rules : SafetyRules
        The policy as applied.
    baseline : str
    candidates, suites : sequence of str
        In the order shown.
    """
    counted = count(outcomes, rules, baseline, candidates, suites)
    candidate, base, totals, tallies, rates, faults = counted
    level = corrected_level(rules.confidence_level, rules.correction, len(suites))

    floor, codes = noise_floor(rates.passes_b, rates.trials_b, level, rules.method)
    delta = differences(rates.passes, rates.trials, rates.passes_b, rates.trials_b)
    no_floor = np.uint32(reasons.bit("no_noise_floor"))
    faults = faults | ((codes != 0) & (rates.trials_b > 0)) * no_floor
    missing = (candidate < 0) | (base < 0)
    status = np.where(missing, STATUSES.index("missing_cell"), codes).astype(np.uint8)
    position = np.arange(candidate.size, dtype=np.uint32)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate, rate_b = rates.passes / rates.trials, rates.passes_b / rates.trials_b
    indicated = signals(delta, floor, codes, np.maximum(rate, rate_b))
    indicated[(faults & reasons.bit("duplicate_case")) != 0] = SIGNALS.index("undefined")
    figures = {
        "candidate": named(candidates, position // len(suites)),
        "suite": named(suites, position % len(suites)),
        "indicated": named(SIGNALS, indicated),
        "status": named(STATUSES, status),
        "n_candidate": rates.trials,
        "n_baseline": rates.trials_b,
        "passes_candidate": rates.passes,
        "passes_baseline": rates.passes_b,
        "rate_candidate": rate,
        "rate_baseline": rate_b,
        "delta": delta,
        "noise_floor": floor,
        "difference_floor": np.sqrt(2.0) * floor,
        **_intervals(level, counted),
        **_pairs(outcomes, rules, level, counted),
        **_detectable(rules, level, counted, rate_b),
        "false_alarm": _false_alarms(outcomes, rules, level, counted),
        "errors_candidate": np.where(candidate < 0, 0, totals.errors[candidate]),
        "errors_baseline": np.where(base < 0, 0, totals.errors[base]),
        "undecided_candidate": tallies.undecided_candidate,
        "undecided_baseline": tallies.undecided_baseline,
        **_between_trials(rules, counted),
        "_faults": faults,
    }
    frame = pl.DataFrame(figures).with_columns(
        method=pl.lit(rules.method), confidence_level=pl.lit(level, pl.Float64)
    )
    return Compared(frame, counted)


def _intervals(level: float, counted: Counted) -> dict[str, Any]:
    """Newcombe's interval of the difference, and the pooled test."""
    from fastgate.stats.proportions import DIFFERENCE_METHODS, proportion_difference_arrays

    _, passes, trials, passes_b, trials_b = counted.rates
    whole = (passes % 1 == 0) & (passes_b % 1 == 0)
    _, low, high, _, _, pvalue, _ = proportion_difference_arrays(
        np.where(whole, passes, 0.0).astype(np.int64),
        np.where(whole, trials, 0),
        np.where(whole, passes_b, 0.0).astype(np.int64),
        np.where(whole, trials_b, 0),
        level,
        DIFFERENCE_METHODS["newcombe"],
    )
    few = np.flatnonzero(~whole)
    if few.size:
        low[few], high[few] = newcombe(passes[few], trials[few], passes_b[few], trials_b[few], level)
    return {"ci_low": low, "ci_high": high, "pvalue": pvalue}


def _pairs(outcomes: Outcomes, rules: SafetyRules, level: float, counted: Counted) -> dict[str, Any]:
    """What the same cases say: how many flipped, the interval of the difference, the exact test of the flips.

    Where cases count by share, that is a sign test: those whose share rose against those whose share fell.
    """
    from fastgate.stats.discordance import MCNEMAR_METHODS, mcnemar_arrays
    from fastgate.stats.distributions import student_t_ppf
    from fastgate.stats.proportions import PAIRED_DIFFERENCE_METHODS, paired_proportion_difference_arrays

    tallies, cases = counted.tallies, counted.rates.cases
    n = cases.size
    if outcomes.counts is not None:
        nothing = pl.Series([None] * n, dtype=pl.Int64)
        unknown = np.full(n, np.nan)
        return {
            "regressed": nothing,
            "fixed": nothing,
            "paired_method": pl.Series([None] * n, dtype=pl.String),
            "paired_ci_low": unknown,
            "paired_ci_high": unknown,
            "mcnemar_pvalue": unknown,
        }
    _, pvalue, _, _ = mcnemar_arrays(tallies.regressed, tallies.fixed, MCNEMAR_METHODS["exact"])
    pvalue = np.where(cases > 0, pvalue, np.nan)
    if rules.trials in ("share", "each"):
        method = "student"
        mean, error, df = _shares(counted)
        arm = np.asarray(student_t_ppf(0.5 + level / 2, df)) * error
        low, high = mean - arm, mean + arm
    else:
        method = "tango"
        table = (tallies.both, tallies.regressed, tallies.fixed, tallies.neither)
        tango = PAIRED_DIFFERENCE_METHODS["tango"]
        _, low, high, *_ = paired_proportion_difference_arrays(*table, level, tango)
    return {
        "regressed": tallies.regressed,
        "fixed": tallies.fixed,
        "paired_method": pl.Series([method]).new_from_index(0, n),
        "paired_ci_low": low,
        "paired_ci_high": high,
        "mcnemar_pvalue": pvalue,
    }


def _shares(counted: Counted) -> tuple[Floats, Floats, Floats]:
    """Mean, standard error and degrees of freedom of the cases' differences of shares; NaN without any noise."""
    tallies, cases = counted.tallies, counted.rates.cases
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (tallies.shares_candidate - tallies.shares_baseline) / cases
        squares = np.maximum(tallies.squares - cases * mean**2, 0.0)
        error = np.sqrt(squares / (cases - 1) / cases)
    return mean, np.where(error > 0, error, np.nan), np.where(cases > 1, cases - 1.0, np.nan)


def _detectable(rules: SafetyRules, level: float, counted: Counted, rate_b: Floats) -> dict[str, Any]:
    """The smallest drops that the suite detects: of independent runs, and of the same cases replayed."""
    from fastgate.stats.sample_size import detectable_change

    cases, trials_b = counted.rates.cases, counted.rates.trials_b
    flipped = counted.tallies.regressed + counted.tallies.fixed
    by_share = rules.trials in ("share", "each")
    unpaired, paired = np.full((2, cases.size), np.nan)
    for drops, usable in ((unpaired, trials_b > 0), (paired, (flipped > 0) & (cases > 0))):
        rows = np.flatnonzero(usable)
        replayed = drops is paired
        if rows.size and not (replayed and by_share):
            size = cases if replayed else trials_b
            drops[rows] = detectable_change(
                rate_b[rows],
                size[rows],
                power=rules.power,
                confidence_level=level,
                discordance=flipped[rows] / cases[rows] if replayed else None,
            ).change
    if by_share:
        paired = _detectable_share(rules, level, counted, rate_b)
    return {"detectable_drop": unpaired, "detectable_drop_paired": paired}


def _detectable_share(rules: SafetyRules, level: float, counted: Counted, rate_b: Floats) -> Floats:
    """What the cases' differences of shares detect: a share may change by any part, so no case counts as flipped.

    NaN where even a drop to 0 would be missed.
    """
    from fastgate.stats.design import minimum_detectable_effect

    if rules.power <= 1.0 - level:
        return np.full(rate_b.size, np.nan)
    _, error, df = _shares(counted)
    drop = np.asarray(minimum_detectable_effect(error, df, alpha=1.0 - level, power=rules.power))
    return np.where(drop <= rate_b, drop, np.nan)


def _false_alarms(outcomes: Outcomes, rules: SafetyRules, level: float, counted: Counted) -> Floats:
    """How often the rule errs about an identical build, at the baseline's own rate.

    NaN where that is 0 or 1, or cases count by share.
    """
    totals, baseline = counted.totals, counted.baseline
    rates = np.full(outcomes.index.height + 1, np.nan)  # the last for −1, no run
    if rules.trials == "share" and outcomes.counts is None:
        return rates[baseline]
    for run in np.unique(baseline[baseline >= 0]).tolist():
        if outcomes.counts is not None:
            passes, trials = outcomes.counts.passes[run], outcomes.counts.totals[run]
        elif rules.trials == "each":
            passes, trials = totals.passes[run], totals.passes[run] + totals.fails[run]
        else:
            passes, trials = totals.passed_cases[run], totals.passed_cases[run] + totals.failed_cases[run]
        rates[run] = false_alarm(float(passes), int(trials), level, rules.method)
    return rates[baseline]


def _between_trials(rules: SafetyRules, counted: Counted) -> dict[str, Any]:
    """Policy changes and sampling noise, of the cases with several trials in both runs; null without any."""
    tallies = counted.tallies
    n = tallies.repeated * (rules.trial_sets != "first-failure")
    columns = {
        "repeated_cases": tallies.repeated,
        "regressed_every_trial": tallies.regressed_every,
        "fixed_every_trial": tallies.fixed_every,
        "flaky_candidate": tallies.flaky_candidate,
        "flaky_baseline": tallies.flaky_baseline,
    }
    table = pl.DataFrame({**columns, "_shown": n > 0})
    shown: dict[str, Any] = table.select(pl.when("_shown").then(pl.col(columns))).to_dict()
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = tallies.repeated_gains / n
        total = np.maximum(tallies.repeated_squares - n * mean**2, 0.0) / (n - 1)
        sampling = np.where(n > 1, tallies.within / n, np.nan)
        policy = np.maximum(total - sampling, 0.0)
        share = sampling / (policy + sampling)
    return {**shown, "policy_variance": policy, "sampling_variance": sampling, "sampling_share": share}
