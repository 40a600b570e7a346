"""The safety gate: a candidate's pass rate must not fall by more than the noise floor, between comparable runs.

The rule, as its functions read from top to bottom: two runs are compared only if their manifests agree in every
comparability field and their data are whole (`_differences`, and the faults of `compare`); then a change d is no
signal where |d| ≤ e, a regression where d < −e, an improvement where d > e, e being the half-width of the interval
at the baseline's observed rate (`fastgate.gates.safety.floor.signals`); a regression blocks, anything undefined is
refused (`_suites`); a candidate is as good as its worst suite (`_verdicts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import polars.selectors as cs

from fastgate.gates.reasons import listed
from fastgate.gates.safety import reasons
from fastgate.gates.safety.comparability import Difference, differences
from fastgate.gates.safety.comparisons import Compared, compare
from fastgate.gates.safety.result import TABLES
from fastgate.gates.verdict import Signal, Verdict

if TYPE_CHECKING:
    from fastgate.frames.outcomes import Outcomes
    from fastgate.gates.safety.manifests import Manifests
    from fastgate.gates.safety.policy import SafetyRules

__all__ = ["Judged", "judge"]

_CODE_OF: dict[str, str] = {
    "differs": "differing_field",
    "other_order": "differing_field",
    "missing_in_candidate": "missing_field",
    "missing_in_baseline": "missing_field",
    "missing_in_both": "missing_field",
    "no_manifest": "missing_manifest",
    "mixed": "mixed_manifest",
}


class Judged(NamedTuple):
    """The tables of a judgement, and the comparisons they rest on."""

    verdicts: pl.DataFrame
    suites: pl.DataFrame
    differences: pl.DataFrame
    compared: Compared


def judge(
    outcomes: Outcomes,
    manifests: Manifests,
    rules: SafetyRules,
    *,
    baseline: str,
    candidates: Sequence[str],
    suites: Sequence[str],
) -> Judged:
    """The rule applied to outcomes: the gate without files, policies and evidence.

    Parameters
    ----------
    outcomes : Outcomes
    manifests : Manifests
    rules : SafetyRules
        The policy as applied.
    baseline : str
    candidates, suites : sequence of str
        In the order shown.
    """
    compared = compare(outcomes, rules, baseline, candidates, suites)
    every, which = _differences(manifests, rules, baseline, candidates, suites)
    table = _suites(compared.figures, every, which)
    return Judged(_verdicts(table), _finished(table), _table(compared.figures, every, which), compared)


def _differences(
    manifests: Manifests,
    rules: SafetyRules,
    baseline: str,
    candidates: Sequence[str],
    suites: Sequence[str],
) -> tuple[list[list[Difference]], npt.NDArray[np.int64]]:
    """What two manifests may differ in, and which of these it is for each comparison."""
    table = manifests.table([*candidates, baseline], suites)
    mixed = np.zeros(table.shape, np.bool_)
    rows = {build: row for row, build in enumerate([*candidates, baseline])}
    columns = {suite: column for column, suite in enumerate(suites)}
    for build, suite in manifests.mixed:
        if build in rows and suite in columns:
            mixed[rows[build], columns[suite]] = True
    unclear = mixed[:-1] | mixed[-1]
    # One number for each pair of manifests: few are different.
    size = len(manifests.distinct) + 1
    pairs = (2 * ((table[-1] + 1) * size + table[:-1] + 1) + unclear).ravel()
    if 2 * size * size <= pairs.size:  # counting costs a tenth of sorting
        seen = np.bincount(pairs) > 0
        kinds, which = np.flatnonzero(seen), (np.cumsum(seen) - 1)[pairs]
    else:
        kinds, which = np.unique(pairs, return_inverse=True)
    every = [
        _between(manifests, rules, pair // 2 // size - 1, pair // 2 % size - 1, pair % 2)
        for pair in kinds.tolist()
    ]
    return every, which


def _spread(series: pl.Series, which: npt.NDArray[np.int64]) -> pl.Series:
    return series.new_from_index(0, which.size) if len(series) == 1 else series.gather(which)


def _between(
    manifests: Manifests, rules: SafetyRules, base: int, candidate: int, unclear: int
) -> list[Difference]:
    if unclear:
        return [Difference("manifest", None, None, "mixed")]
    pair = (None if number < 0 else manifests.distinct[number] for number in (base, candidate))
    return differences(*pair, required=rules.required, ignored=rules.ignored)


def _mask(differing: Sequence[Difference]) -> int:
    mask = 0
    for difference in differing:
        mask |= reasons.bit(_CODE_OF[difference.problem])
    return mask


def _table(
    figures: pl.DataFrame, every: Sequence[Sequence[Difference]], which: npt.NDArray[np.int64]
) -> pl.DataFrame:
    """A row per comparison and field that differs."""
    sizes = np.array([len(differing) for differing in every], np.int64)
    if not sizes.any():
        which = which[:0]
    starts = np.cumsum(sizes) - sizes
    flat = [difference for differing in every for difference in differing]
    counts = sizes[which]
    comparison = np.repeat(np.arange(which.size), counts)
    first = np.repeat(starts[which], counts)
    within = np.arange(comparison.size) - np.repeat(np.cumsum(counts) - counts, counts)
    names = ("field", "baseline_value", "candidate_value", "problem")
    fields = pl.DataFrame(flat, schema=dict.fromkeys(names, pl.String), orient="row")
    return figures.select("candidate", "suite")[comparison].hstack(fields[first + within])


def _suites(
    figures: pl.DataFrame, every: Sequence[Sequence[Difference]], which: npt.NDArray[np.int64]
) -> pl.DataFrame:
    """The outcome and verdict of each suite of each candidate."""
    fields = [[difference.field for difference in differing] for differing in every]
    masks = np.array([_mask(differing) for differing in every], np.uint32)
    incomparable = pl.DataFrame(
        {
            "_incomparable": masks[which],
            "differing_fields": _spread(pl.Series(fields, dtype=pl.List(pl.String)), which),
        }
    )
    sound = (pl.col("_faults") | pl.col("_incomparable")) == 0
    outcome = pl.when(sound).then("indicated").otherwise(pl.lit("undefined", Signal))
    regressed = pl.col("outcome") == "regression"
    fine = (pl.col("outcome") == "no_signal") | (pl.col("outcome") == "improvement")
    verdict = (
        pl.when(regressed)
        .then(pl.lit("block", Verdict))
        .when(fine)
        .then(pl.lit("pass", Verdict))
        .otherwise(pl.lit("refused", Verdict))
    )
    regression = (
        pl.when(regressed).then(pl.lit(reasons.bit("regression"), pl.UInt32)).otherwise(pl.lit(0, pl.UInt32))
    )
    return (
        pl.concat([figures, incomparable], how="horizontal")
        .with_columns(outcome=outcome)
        .with_columns(verdict=verdict, _mask=pl.col("_faults") | pl.col("_incomparable") | regression)
        # Null, not NaN: Polars orders NaN above all numbers, and JSON has none.
        .with_columns(pl.when(cs.float().is_finite()).then(cs.float()))
    )


def _verdicts(suites: pl.DataFrame) -> pl.DataFrame:
    """The verdict of each candidate: that of its worst suite."""
    counts = {"regressions": "regression", "no_signal": "no_signal", "improvements": "improvement"}
    candidates = suites.group_by("candidate", maintain_order=True).agg(
        pl.col("verdict").max(),
        pl.len().alias("suites"),
        *((pl.col("outcome") == outcome).sum().alias(name) for name, outcome in counts.items()),
        (pl.col("outcome") == "undefined").sum().alias("refused"),
        pl.col("_mask").bitwise_or(),
    )
    bad = suites.filter(pl.col("verdict") != "pass").select(
        "candidate", pl.col("suite").cast(pl.String), verdict_of_suite="verdict"
    )
    worst = (
        bad.join(candidates.select("candidate", "verdict"), on="candidate", maintain_order="left")
        .filter(pl.col("verdict_of_suite") == pl.col("verdict"))
        .group_by("candidate", maintain_order=True)
        .agg(pl.col("suite").alias("worst_suites"))
    )
    return (
        candidates.with_columns(listed(candidates["_mask"], reasons.CODES))
        .join(worst, on="candidate", how="left", maintain_order="left")
        .with_columns(pl.col("worst_suites").fill_null([]))
        .select(*TABLES["verdicts"])
    )


def _finished(suites: pl.DataFrame) -> pl.DataFrame:
    return suites.with_columns(listed(suites["_mask"], reasons.CODES)).select(*TABLES["suites"])
