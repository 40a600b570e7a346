"""Every candidate against every baseline on every suite and KPI: the statistics, before any rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate.cells import Cells
from fastgate.gates import reasons
from fastgate.gates.benchmark.bootstrap_rules import least_cases
from fastgate.gates.benchmark.intervals import CommonCases, bootstrap_intervals
from fastgate.gates.verdict import STATUSES, Direction, Engine, Role, named
from fastgate.kernels.status import INVALID, NONFINITE, OK

if TYPE_CHECKING:
    from fastgate.frames.samples import Samples
    from fastgate.gates.benchmark.policy import BenchmarkRules
    from fastgate.kernels.records import MomentArrays, PairedArrays, WelchArrays

__all__ = ["compare", "rule_table"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def rule_table(rules: BenchmarkRules) -> pl.DataFrame:
    """One row per (suite, KPI), in the policy's order.

    Returns
    -------
    DataFrame
        suite, kpi, direction, role, margin (null where the guard has none), not_worse, min_cases, measure (what of the
        KPI is compared).
    """
    rows = [
        (
            suite.name,
            kpi,
            suite.directions[kpi],
            "guard" if kpi in suite.guards else "decides" if kpi in suite.deciding_kpis else "shown",
            suite.guards.get(kpi),
            kpi in suite.not_worse,
            max(suite.min_cases, least_cases(measure)) if rules.bootstrap else suite.min_cases,
            measure,
        )
        for suite in rules.suites.values()
        for kpi in suite.kpis
        for measure in (suite.statistics.get(kpi, "mean"),)
    ]
    schema: dict[str, Any] = {
        "suite": pl.Enum(list(rules.suites)),
        "kpi": pl.Enum(list(dict.fromkeys(row[1] for row in rows))),
        "direction": Direction,
        "role": Role,
        "margin": pl.Float64,
        "not_worse": pl.Boolean,
        "min_cases": pl.Int64,
        "measure": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _cell_numbers(
    samples: Samples, table: pl.DataFrame, candidates: Sequence[str], baselines: Sequence[str]
) -> tuple[Integers, Integers]:
    """The cells of each comparison, in the order candidate, baseline, (suite, KPI); −1 where there is none."""
    number = table.select(pl.col("suite", "kpi").cast(pl.String)).with_row_index("rule")
    index = (
        samples.index.with_row_index("cell")
        .with_columns(pl.col("suite", "kpi").cast(pl.String))
        .join(number, on=["suite", "kpi"])
    )

    def positions(column: str, names: Sequence[str]) -> pl.Expr:
        numbers = range(len(names))
        return (
            pl.col(column)
            .cast(pl.String)
            .replace_strict(list(names), list(numbers), default=None, return_dtype=pl.Int64)
        )

    shape = (len(candidates), len(baselines), table.height)
    if samples.shape == "pairs":
        found = index.with_columns(
            c=positions("candidate", candidates), b=positions("baseline", baselines)
        ).drop_nulls(["c", "b"])
        where = tuple(found[name].to_numpy() for name in ("c", "b", "rule"))
        sides = []
        for column in ("candidate_cell", "baseline_cell"):
            cells = np.full(shape, -1, np.int64)
            cells[where] = found[column].to_numpy()
            sides.append(cells.ravel())
        return sides[0], sides[1]

    def lookup(names: Sequence[str]) -> Integers:
        found = index.with_columns(position=positions("build", names)).drop_nulls("position")
        cells = np.full((len(names), table.height), -1, np.int64)
        cells[found["position"].to_numpy(), found["rule"].to_numpy()] = found["cell"].to_numpy()
        return cells

    candidate_cell = np.broadcast_to(lookup(candidates)[:, None, :], shape)
    baseline_cell = np.broadcast_to(lookup(baselines)[None, :, :], shape)
    return candidate_cell.ravel(), baseline_cell.ravel()


def _moments(samples: Samples) -> MomentArrays:
    """The moments of every cell, in the order of their numbers."""
    from fastgate.stats.summary import cell_moments, moments_arrays, moments_from_summary

    if samples.moments is not None:
        given = samples.moments
        extremes = np.where(given.constant, 0.0, np.nan)
        summary = moments_from_summary(
            given.n, given.mean, m2=given.m2, n_missing=given.n_missing, minimum=extremes, maximum=extremes
        )
        return cell_moments(summary, "samples")[0]
    parts = [moments_arrays(part.values, part.offsets) for part in samples.parts]
    return parts[0] if len(parts) == 1 else type(parts[0])(*map(np.concatenate, zip(*parts, strict=True)))


def _of(cells: npt.NDArray[Any], numbers: Integers) -> Any:
    """A figure of the cells with these numbers; 0 where there is no cell (−1)."""
    return np.where(numbers < 0, np.zeros(1, cells.dtype), cells[numbers])


def compare(samples: Samples, rules: BenchmarkRules, candidates: Sequence[str]) -> pl.DataFrame:
    """The statistics of every comparison that the policy asks for.

    Parameters
    ----------
    samples : Samples
        The measurements.
    rules : BenchmarkRules
        The policy as applied.
    candidates : sequence of str
        The builds to judge, in the order shown.

    Returns
    -------
    DataFrame
        One row per candidate, baseline, suite and KPI, in this order. Columns: the keys, `rule_table`'s, sizes,
        means, the deciding test (statistic, df, pvalue, delta and its interval, effect sizes, status), the
        p-values of both t tests and the correlation, ``faults`` (a mask of reasons), ``_suite_row`` (which row of the
        suites' table it belongs to). Undefined figures are NaN.
    """
    from fastgate.stats.ttest import welch_arrays

    table = rule_table(rules)
    candidate_cell, baseline_cell = _cell_numbers(samples, table, candidates, rules.baselines)
    moments = _moments(samples)
    missing = (candidate_cell < 0) | (baseline_cell < 0)
    sides = _Sides(samples, moments, candidate_cell, baseline_cell, missing)

    # An interval costs a quantile of t per comparison: only the deciding test's is shown.
    level = rules.confidence_level
    welch = welch_arrays(moments, candidate_cell, baseline_cell, "two-sided", level, rules.test == "welch")
    aligned = _aligned(sides)
    common = _common(sides, aligned, rules)
    paired = _paired(sides, aligned, common, rules)
    test: WelchArrays | PairedArrays = paired if rules.pairs_cases else welch
    names = _key_columns(table, candidates, rules.baselines)
    if rules.bootstrap is None:
        status, figures = test.status, _figures(test, level)
    else:
        both = (candidate_cell, baseline_cell)
        status, figures = bootstrap_intervals(samples, names, *both, aligned, common, rules)
    shown = np.where(missing, STATUSES.index("missing_cell"), status).astype(np.uint8)
    return pl.DataFrame(
        {
            **names,
            **_sizes(sides, paired if rules.pairs_cases else None),
            "n_missing_candidate": _of(moments.n_missing, candidate_cell),
            "n_missing_baseline": _of(moments.n_missing, baseline_cell),
            **figures,
            "welch_pvalue": welch.pvalue,
            "paired_pvalue": paired.pvalue,
            "correlation": paired.correlation,
            "cohens_d": test.cohens_d,
            "hedges_g": test.hedges_g,
            "cohens_dz": paired.cohens_dz,
            "status": named(STATUSES, shown),
            "faults": _faults(sides, aligned, test, status, paired, rules, names["min_cases"].to_numpy()),
        }
    )


def _sizes(sides: _Sides, paired: PairedArrays | None) -> dict[str, Any]:
    """How many values the decision rests on, and their means: of the whole cells, or of the pairs."""
    from fastgate.stats.summary import mean_arrays

    if paired is not None:
        return {
            "n_candidate": paired.n,
            "n_baseline": paired.n,
            "mean_candidate": paired.mean_candidate,
            "mean_baseline": paired.mean_baseline,
        }
    mean = mean_arrays(sides.moments)
    return {
        "n_candidate": _of(sides.moments.n, sides.candidate),
        "n_baseline": _of(sides.moments.n, sides.baseline),
        "mean_candidate": np.where(sides.candidate < 0, np.nan, mean[sides.candidate]),
        "mean_baseline": np.where(sides.baseline < 0, np.nan, mean[sides.baseline]),
    }


def _figures(test: WelchArrays | PairedArrays, level: float) -> dict[str, Any]:
    """The difference of means and its interval, from a t test."""
    n = test.delta.size
    with np.errstate(invalid="ignore", over="ignore"):
        half_width = test.ci_high / 2 - test.ci_low / 2
    return {
        "delta": test.delta,
        "ci_low": test.ci_low,
        "ci_high": test.ci_high,
        "half_width": half_width,
        "confidence_level": np.full(n, level),
        "engine": pl.Series([None], dtype=Engine).new_from_index(0, n),
        "standard_error": test.standard_error,
        "statistic": test.statistic,
        "df": test.df,
        "pvalue": test.pvalue,
    }


class _Sides(NamedTuple):
    """The two cells of each comparison; the last cell is empty and stands for one that is missing."""

    samples: Samples
    moments: MomentArrays
    candidate: Integers
    baseline: Integers
    missing: Flags


def _key_columns(
    table: pl.DataFrame, candidates: Sequence[str], baselines: Sequence[str]
) -> dict[str, pl.Series]:
    pairs = len(candidates) * len(baselines)
    pair = np.repeat(np.arange(pairs), table.height)
    rule = np.tile(np.arange(table.height), pairs)
    suite = np.tile(table["suite"].to_physical().to_numpy(), pairs)
    n_suites = table["suite"].n_unique()
    return {
        "candidate": named(candidates, pair // len(baselines)),
        "baseline": named(baselines, pair % len(baselines)),
        **{name: table[name].gather(rule) for name in table.columns},
        "_suite_row": pl.Series(pair * n_suites + suite).set_sorted(),
    }


def _per_cell(samples: Samples, column: str) -> npt.NDArray[Any]:
    """A column of the index by cell number. Both cells of a pair have the same cases."""
    array = samples.index[column].fill_null(0).to_numpy()
    return np.concatenate([array] * len(samples.parts)) if len(samples.parts) > 1 else array


def _aligned(sides: _Sides) -> Flags:
    """Whether both cells are known to hold the same cases in the same order."""
    samples = sides.samples
    total = sides.moments.n + sides.moments.n_missing
    same_size = (_of(total, sides.candidate) == _of(total, sides.baseline)) & ~sides.missing
    if samples.shape == "pairs":
        # The two lists of a row belong together, whether their cases have ids or not.
        return np.asarray(same_size)
    fingerprint = _per_cell(samples, "case_fingerprint")
    known = samples.index["case_fingerprint"].is_not_null().to_numpy()
    both_known = _of(known, sides.candidate) & _of(known, sides.baseline)
    same = _of(fingerprint, sides.candidate) == _of(fingerprint, sides.baseline)
    return np.asarray(same_size & both_known & same)


def _common(sides: _Sides, aligned: Flags, rules: BenchmarkRules) -> CommonCases | None:
    """The cases in common where they do not align, unless the policy requires the same ones."""
    from fastgate.frames.matching import common_cases

    others = np.flatnonzero(~aligned & ~sides.missing)
    if rules.require_same_cases or sides.samples.cases is None or not others.size:
        return None
    return CommonCases(others, common_cases(sides.samples, sides.candidate[others], sides.baseline[others]))


def _paired(sides: _Sides, aligned: Flags, common: CommonCases | None, rules: BenchmarkRules) -> PairedArrays:
    """The paired test where cases align, and of the cases in common elsewhere."""
    from fastgate.stats.paired_ttest import paired_arrays

    how = "two-sided", rules.confidence_level, rules.test == "paired"
    parts = sides.samples.parts or (Cells(np.empty(0), np.zeros(1, np.int64)),)
    # Of pairs each side has cells of its own, numbered through both.
    first = len(parts[0]) if len(parts) > 1 else 0
    usable = aligned & (len(parts[0]) > 0)
    candidate = np.where(usable, sides.candidate, -1)
    baseline = np.where(usable, sides.baseline - first, -1)
    pools = [(part.values, part.offsets) for part in (parts[0], parts[-1])]
    result = paired_arrays(pools[0], pools[1], candidate, baseline, *how)
    if common is None:
        return result
    even = np.arange(0, 2 * common.rows.size, 2)
    shared = common.cells.values, common.cells.offsets
    partial = paired_arrays(shared, shared, even, even + 1, *how)
    columns: list[npt.NDArray[Any]] = [*result]
    for column, part in zip(columns, partial, strict=True):
        column[common.rows] = part
    return result


def _faults(
    sides: _Sides,
    aligned: Flags,
    test: WelchArrays | PairedArrays,
    status: npt.NDArray[np.int8],
    paired: PairedArrays,
    rules: BenchmarkRules,
    min_cases: Integers,
) -> npt.NDArray[np.uint32]:
    """The faults of each comparison, as a mask of reasons."""
    moments = sides.moments
    present = ~sides.missing

    def either(flags: Flags) -> Flags:
        return np.asarray(present & (_of(flags, sides.candidate) | _of(flags, sides.baseline)))

    total = moments.n + moments.n_missing
    if rules.pairs_cases:
        smaller = paired.n
        share = paired.n_missing / np.maximum(paired.n + paired.n_missing, 1)
    else:
        lost = moments.n_missing / np.maximum(total, 1)
        share = np.maximum(_of(lost, sides.candidate), _of(lost, sides.baseline))
        smaller = np.minimum(_of(moments.n, sides.candidate), _of(moments.n, sides.baseline))
    duplicated = either(_per_cell(sides.samples, "n_duplicates") > 0)
    # A repeated case makes any two sets differ: it is named alone. Without `require_same_cases` Welch's test
    # takes all values, as does the unpaired bootstrap, and a paired test the cases in common.
    unpaired = ~aligned & ~duplicated & rules.require_same_cases
    nonfinite = either(moments.status == NONFINITE)
    # Values near the largest float64 are finite, and their difference is not.
    nonfinite |= present & (test.status == OK) & ~np.isfinite(test.delta)
    countable = present & ~nonfinite & ~unpaired
    found = {
        "missing_cell": sides.missing,
        "duplicate_case": duplicated,
        "unpaired_cases": present & unpaired,
        "missing_values": present & (share > rules.max_missing_share),
        "nonfinite": nonfinite,
        "too_few": countable & (smaller < 2),
        "n_lt_min": countable & (smaller >= 2) & (smaller < min_cases),
        "invalid_values": countable & (status == INVALID),
    }
    mask = np.zeros(sides.missing.size, np.uint32)
    for fault, flags in found.items():
        mask |= flags * np.uint32(reasons.bit(fault))
    return mask
