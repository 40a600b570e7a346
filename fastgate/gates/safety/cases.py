"""The tables below the suites: runs, the cases that flipped, the cases that are at fault."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate.gates.safety.manifest import manifest_hash
from fastgate.gates.safety.reasons import bit
from fastgate.gates.safety.result import TABLES
from fastgate.gates.verdict import named

if TYPE_CHECKING:
    from fastgate.frames.outcomes import Outcomes
    from fastgate.frames.tallies import Tallies
    from fastgate.gates.safety.counting import Counted
    from fastgate.gates.safety.manifests import Manifests
    from fastgate.gates.safety.policy import SafetyRules

__all__ = ["case_faults", "flips", "runs"]

Integers = npt.NDArray[np.int64]


def runs(outcomes: Outcomes, rules: SafetyRules, counted: Counted, manifests: Manifests) -> pl.DataFrame:
    """A row per run that was judged or judged by.

    Returns
    -------
    DataFrame
        The table ``runs``. flaky_cases and flake_rate, the share of cases whose trials disagree, are null where no case
        has several trials, or trials stop at the first failure.
    """
    mentioned = np.zeros(outcomes.index.height, np.bool_)
    for side in (counted.candidate, counted.baseline):
        mentioned[side[side >= 0]] = True
    rows = np.flatnonzero(mentioned)
    index, totals = outcomes.index[rows], type(counted.totals)(*(array[rows] for array in counted.totals))
    hashes = pl.Series([*(manifest_hash(manifest) for manifest in manifests.distinct), None], dtype=pl.String)
    builds = outcomes.builds
    numbers = manifests.table(builds, outcomes.suites)
    places = index["build"].to_physical().to_numpy(), index["suite"].to_physical().to_numpy()
    several = (totals.most_trials > 1) & (rules.trial_sets != "first-failure")
    table = index.with_columns(
        cases=totals.cases,
        passed_cases=totals.passed_cases,
        failed_cases=totals.failed_cases,
        undecided_cases=totals.undecided_cases,
        trials=totals.passes + totals.fails + totals.errors,
        passed_trials=totals.passes,
        errors=totals.errors,
        flaky_cases=pl.when(pl.Series(several)).then(pl.Series(totals.flaky_cases)),
        # −1, no manifest, is the last.
        manifest_hash=hashes.gather(numbers[places]),
    )
    return table.with_columns(flake_rate=pl.col("flaky_cases") / pl.col("cases")).select(*TABLES["runs"])


def flips(
    outcomes: Outcomes, rules: SafetyRules, counted: Counted, candidates: Sequence[str], suites: Sequence[str]
) -> pl.DataFrame:
    """The cases that regressed or were fixed, of every comparison whose cases stand once.

    Returns
    -------
    DataFrame
        The table ``flips``.
    """
    from fastgate.frames.tallies import find_flips

    tallies: Tallies = counted.tallies
    sound = (counted.candidate >= 0) & (counted.baseline >= 0)
    sound &= (counted.totals.repeats[counted.candidate] == 0) & (
        counted.totals.repeats[counted.baseline] == 0
    )
    rows = np.flatnonzero(sound & (tallies.regressed + tallies.fixed > 0))
    counts = (tallies.regressed + tallies.fixed)[rows]
    found = find_flips(outcomes, counted.candidate[rows], counted.baseline[rows], rules.trials, counts)
    comparison = rows[found.comparison]
    names = outcomes.runs.case_names.to_list()
    change = pl.Series(["fixed", "regressed"], dtype=TABLES["flips"]["change"])

    table = pl.DataFrame(
        {
            "candidate": named(candidates, comparison // len(suites)),
            "suite": named(suites, comparison % len(suites)),
            "case": named(names, found.case),
            "change": change.gather(found.regressed),
            "passes_candidate": found.passes_candidate,
            "trials_candidate": found.trials_candidate,
            "passes_baseline": found.passes_baseline,
            "trials_baseline": found.trials_baseline,
        }
    )
    lost = (pl.col("passes_candidate") == 0) & (pl.col("passes_baseline") == pl.col("trials_baseline"))
    won = (pl.col("passes_candidate") == pl.col("trials_candidate")) & (pl.col("passes_baseline") == 0)
    several = (pl.col("trials_candidate") > 1) & (pl.col("trials_baseline") > 1)
    return table.with_columns(every_trial=pl.when(several).then(lost | won)).select(*TABLES["flips"])


def case_faults(
    outcomes: Outcomes,
    rules: SafetyRules,
    counted: Counted,
    baseline: str,
    candidates: Sequence[str],
    suites: Sequence[str],
) -> pl.DataFrame:
    """Every case that kept a suite from being judged.

    Parameters
    ----------
    outcomes : Outcomes
    rules : SafetyRules
    counted : Counted
    baseline : str
    candidates, suites : sequence of str
        In the order of the comparisons.

    Returns
    -------
    DataFrame
        The table ``faults``, sorted: ``duplicate_case``; ``missing_case``, which the run lacks and the one it is
        compared with (`against`) has; ``unlike_trials``; ``no_outcome``, of runs with too many errors.
    """
    if outcomes.counts is not None:
        return pl.DataFrame(schema=TABLES["faults"])
    rows = sorted(set(_rows(outcomes, rules, counted, baseline, candidates, suites)))
    return pl.DataFrame(rows, schema=TABLES["faults"], orient="row")


def _rows(
    outcomes: Outcomes,
    rules: SafetyRules,
    counted: Counted,
    baseline: str,
    candidates: Sequence[str],
    suites: Sequence[str],
) -> Iterator[tuple[str, str, str, str, str]]:
    names = outcomes.runs.case_names
    bits = outcomes.runs.trial_bits
    wanted = ("duplicate_case", "unpaired_cases", "unpaired_trials", "too_many_errors")
    masks = {code: bit(code) for code in wanted}
    broken = np.flatnonzero(counted.faults & np.uint32(sum(masks.values())))
    seen: set[tuple[int, str]] = set()
    lacking: dict[tuple[int, int], tuple[Integers, Integers]] = {}
    for comparison in broken.tolist():
        candidate, suite = candidates[comparison // len(suites)], suites[comparison % len(suites)]
        codes = [code for code, mask in masks.items() if counted.faults[comparison] & mask]
        pair = int(counted.candidate[comparison]), int(counted.baseline[comparison])
        for build, run in zip((candidate, baseline), pair, strict=True):
            for code, fault, find in (
                ("duplicate_case", "duplicate_case", _repeated),
                ("too_many_errors", "no_outcome", _without_outcome),
            ):
                if code in codes and (run, fault) not in seen:
                    seen.add((run, fault))
                    for case in names.gather(np.unique(find(outcomes, run) >> bits)).to_list():
                        yield build, suite, case, fault, ""
        if "unpaired_cases" in codes:
            lists = int(outcomes.runs.run_lists[pair[0]]), int(outcomes.runs.run_lists[pair[1]])
            if lists not in lacking:
                first, second = (np.unique(outcomes.run_keys(run) >> bits) for run in pair)
                lacking[lists] = np.setdiff1d(second, first), np.setdiff1d(first, second)
            gone, added = lacking[lists]
            for build, other, cases in ((candidate, baseline, gone), (baseline, candidate, added)):
                for case in names.gather(cases).to_list():
                    yield build, suite, case, "missing_case", other
        if "unpaired_trials" in codes:
            for case in names.gather(_unlike(outcomes, rules, counted, *pair)).to_list():
                yield candidate, suite, case, "unlike_trials", baseline


def _repeated(outcomes: Outcomes, run: int) -> Integers:
    keys = outcomes.run_keys(run)
    repeated: Integers = keys[1:][keys[1:] == keys[:-1]]
    return repeated


def _without_outcome(outcomes: Outcomes, run: int) -> Integers:
    keys: Integers = outcomes.run_keys(run)[outcomes.run_codes(run) == 2]
    return keys


def _unlike(
    outcomes: Outcomes, rules: SafetyRules, counted: Counted, candidate: int, baseline: int
) -> Integers:
    """The cases that both runs have and whose trials do not fit together."""
    bits = outcomes.runs.trial_bits
    if rules.trial_sets == "first-failure":
        limit = int(max(counted.totals.most_trials[run] for run in (candidate, baseline)))
        return np.union1d(*(_ill_stopped(outcomes, run, limit) for run in (candidate, baseline)))
    first, second = (outcomes.run_keys(run) for run in (candidate, baseline))
    unlike = np.unique(np.setxor1d(first, second) >> bits)
    return np.intersect1d(unlike, np.intersect1d(first >> bits, second >> bits))


def _ill_stopped(outcomes: Outcomes, run: int, limit: int) -> Integers:
    """The cases of a run that go on after a failure, or stop without one."""
    cases, starts, sizes = np.unique(
        outcomes.run_keys(run) >> outcomes.runs.trial_bits, return_index=True, return_counts=True
    )
    failed = outcomes.run_codes(run) == 0
    fails = np.add.reduceat(failed.astype(np.int64), starts)
    last = failed[starts + sizes - 1]
    ill: Integers = cases[np.where(fails == 0, sizes < limit, (fails > 1) | ~last)]
    return ill
