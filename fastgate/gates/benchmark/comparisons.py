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
from fastgate.gates.benchmark.cell_grids import cell_grids, cell_numbers
from fastgate.gates.benchmark.intervals import CommonCases, bootstrap_intervals
from fastgate.gates.verdict import STATUSES, Direction, Engine, Role, named
from fastgate.kernels.records import MomentArrays, PairedArrays, PairedShownArrays, WelchArrays
from fastgate.kernels.status import INVALID, NONFINITE, OK

if TYPE_CHECKING:
    from fastgate.frames.samples import Samples
    from fastgate.gates.benchmark.policy import BenchmarkRules

__all__ = ["cell_numbers", "compare", "rule_table"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Values = tuple[Floats, Integers]


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


def _moments(samples: Samples) -> MomentArrays:
    """The moments of every cell, in the order of their numbers."""
    from fastgate.stats.summary import cell_moments, moments_arrays, moments_from_summary

    if samples.merged is not None:
        return samples.merged
    if samples.moments is not None:
        given = samples.moments
        extremes = np.where(given.constant, 0.0, np.nan)
        summary = moments_from_summary(
            given.n, given.mean, m2=given.m2, n_missing=given.n_missing, minimum=extremes, maximum=extremes
        )
        return cell_moments(summary, "samples")[0]
    parts = [moments_arrays(part.values, part.offsets) for part in samples.parts]
    return parts[0] if len(parts) == 1 else type(parts[0])(*map(np.concatenate, zip(*parts, strict=True)))


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
    grids = cell_grids(samples, table, candidates, rules.baselines)
    sides = _Sides(samples, _moments(samples), *grids, (grids[0] < 0) | (grids[1] < 0))
    both = sides.spread(sides.candidate), sides.spread(sides.baseline)

    # An interval costs a quantile of t per comparison: only the deciding test's is shown.
    level = rules.confidence_level
    welch = welch_arrays(sides.moments, *both, "two-sided", level, rules.test == "welch")
    aligned = _aligned(sides)
    common = _common(sides, both, aligned, rules)
    paired = _paired(sides, both, aligned, common, rules)
    test: WelchArrays | PairedArrays = paired if isinstance(paired, PairedArrays) else welch
    keys = _keys(table, candidates, rules.baselines)
    if rules.bootstrap is None:
        status, figures = test.status, _figures(test, level)
    else:
        names = {column.name: column for column in keys}
        status, figures = bootstrap_intervals(samples, names, *both, aligned.reshape(-1), common, rules)
    shown = np.where(sides.missing.reshape(-1), STATUSES.index("missing_cell"), status).astype(np.uint8)
    return keys.with_columns(
        **_sizes(sides, welch, paired),
        **figures,
        welch_pvalue=pl.Series(welch.pvalue),
        paired_pvalue=pl.Series(paired.pvalue),
        correlation=pl.Series(paired.correlation),
        cohens_d=pl.Series(test.cohens_d),
        hedges_g=pl.Series(test.hedges_g),
        cohens_dz=pl.Series(paired.cohens_dz),
        status=named(STATUSES, shown),
        faults=pl.Series(_faults(sides, aligned, test, status, paired, rules, table["min_cases"].to_numpy())),
    )


class _Sides(NamedTuple):
    """The two cells of each comparison: arrays over candidates, baselines and rows of the rule table.

    Where each build was measured once, the candidates' have length 1 along the baselines, and the baselines' along
    the candidates: what is known of a cell is looked up once, not once for every comparison.
    """

    samples: Samples
    moments: MomentArrays
    candidate: Integers
    baseline: Integers
    missing: Flags
    """Of the whole shape."""

    def spread(self, figure: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A figure of each cell of a side, one for each comparison."""
        return np.ascontiguousarray(np.broadcast_to(figure, self.missing.shape)).reshape(-1)

    def of_both(self, column: npt.NDArray[Any]) -> tuple[Any, Any]:
        """A figure of the cells of each side; 0 where there is no cell."""
        nothing = np.zeros(1, column.dtype)
        first, second = (
            np.where(cells < 0, nothing, column[cells]) for cells in (self.candidate, self.baseline)
        )
        return first, second

    def of_either(self, flags: Flags) -> Flags:
        """Whether something holds of either cell of a comparison that has both."""
        first, second = self.of_both(flags)
        return np.asarray((first | second) & ~self.missing)


def _sizes(
    sides: _Sides, welch: WelchArrays, paired: PairedArrays | PairedShownArrays
) -> dict[str, pl.Series | pl.Expr]:
    """How many values the decision rests on, and their means: of the whole cells, or of the pairs."""
    from fastgate.stats.summary import mean_arrays

    if isinstance(paired, PairedArrays):
        n, means = (paired.n, paired.n), (paired.mean_candidate, paired.mean_baseline)
    else:
        n = welch.n_candidate, welch.n_baseline
        of_cells = np.append(
            mean_arrays(sides.moments), np.nan
        )  # the last one, number −1, is that of no cell
        means = sides.spread(of_cells[sides.candidate]), sides.spread(of_cells[sides.baseline])
    missing = [
        pl.Series(sides.spread(figure)) if figure.any() else pl.lit(0, pl.Int64)
        for figure in sides.of_both(sides.moments.n_missing)
    ]
    return {
        "n_candidate": pl.Series(n[0]),
        "n_baseline": pl.Series(n[1]),
        "n_missing_candidate": missing[0],
        "n_missing_baseline": missing[1],
        "mean_candidate": pl.Series(means[0]),
        "mean_baseline": pl.Series(means[1]),
    }


def _figures(test: WelchArrays | PairedArrays, level: float) -> dict[str, Any]:
    """The difference of means and its interval, from a t test."""
    with np.errstate(invalid="ignore", over="ignore"):
        half_width = test.ci_high / 2
        half_width -= test.ci_low / 2
    return {
        "delta": pl.Series(test.delta),
        "ci_low": pl.Series(test.ci_low),
        "ci_high": pl.Series(test.ci_high),
        "half_width": pl.Series(half_width),
        "confidence_level": pl.lit(level),
        "engine": pl.lit(None, Engine),
        "standard_error": pl.Series(test.standard_error),
        "statistic": pl.Series(test.statistic),
        "df": pl.Series(test.df),
        "pvalue": pl.Series(test.pvalue),
    }


def _keys(table: pl.DataFrame, candidates: Sequence[str], baselines: Sequence[str]) -> pl.DataFrame:
    """Every candidate with every baseline with every row of the rule table."""
    n_pairs, n_rules = len(candidates) * len(baselines), table.height
    # A cross join that keeps the order takes twice as long.
    candidate = pl.Series(np.repeat(np.arange(len(candidates), dtype=np.uint32), len(baselines) * n_rules))
    baseline = pl.Series(
        np.tile(np.repeat(np.arange(len(baselines), dtype=np.uint32), n_rules), len(candidates))
    )
    rule = pl.Series(np.tile(np.arange(n_rules, dtype=np.uint32), n_pairs))
    suite_row = (
        np.arange(n_pairs)[:, None] * table["suite"].n_unique() + table["suite"].to_physical().to_numpy()
    )
    # What all rows of the table share is a literal, which takes no memory.
    shared = [column.name for column in table if column.n_unique() == 1]
    return table.drop(shared)[rule].select(
        _enumerated(candidates)[candidate].alias("candidate"),
        _enumerated(baselines)[baseline].alias("baseline"),
        *(
            pl.lit(table[name].first(), table.schema[name]).alias(name) if name in shared else pl.col(name)
            for name in table.columns
        ),
        pl.Series("_suite_row", suite_row.reshape(-1)).set_sorted(),
    )


def _enumerated(names: Sequence[str]) -> pl.Series:
    return pl.Series(names, dtype=pl.Enum(names))


def _per_cell(samples: Samples, column: str) -> npt.NDArray[Any]:
    """A column of the index by cell number. Both cells of a pair have the same cases."""
    known = samples.index[column]
    array = (known.fill_null(0) if known.null_count() else known).to_numpy()
    return np.concatenate([array] * len(samples.parts)) if len(samples.parts) > 1 else array


def _aligned(sides: _Sides) -> Flags:
    """Whether both cells are known to hold the same cases in the same order."""
    samples = sides.samples

    def same(column: npt.NDArray[Any]) -> Any:
        first, second = sides.of_both(column)
        return first == second

    same_size = same(sides.moments.n + sides.moments.n_missing) & ~sides.missing
    if samples.shape == "pairs":
        # The two lists of a row belong together, whether their cases have ids or not.
        return np.asarray(same_size)
    known = sides.of_both(samples.index["case_fingerprint"].is_not_null().to_numpy())
    return np.asarray(same_size & known[0] & known[1] & same(_per_cell(samples, "case_fingerprint")))


def _common(
    sides: _Sides, both: tuple[Integers, Integers], aligned: Flags, rules: BenchmarkRules
) -> CommonCases | None:
    """The cells in common where they do not align, unless the policy requires the same ones."""
    from fastgate.frames.matching import common_cases

    if rules.require_same_cases or sides.samples.cases is None:
        return None
    others = np.flatnonzero(~aligned & ~sides.missing)
    if not others.size:
        return None
    return CommonCases(others, common_cases(sides.samples, both[0][others], both[1][others]))


def _paired(
    sides: _Sides,
    both: tuple[Integers, Integers],
    aligned: Flags,
    common: CommonCases | None,
    rules: BenchmarkRules,
) -> PairedArrays | PairedShownArrays:
    """The paired test where cases align, and of the cases in common elsewhere; if it decides, with all its figures."""
    from fastgate.stats.paired_ttest import paired_arrays, paired_shown

    def test(
        candidates: Values,
        baselines: Values,
        candidate: Integers,
        baseline: Integers,
        moments: tuple[MomentArrays, MomentArrays] | None = None,
    ) -> PairedArrays | PairedShownArrays:
        cells = candidates, baselines, candidate, baseline
        if not rules.pairs_cases:
            return paired_shown(*cells, moments)
        return paired_arrays(
            *cells, "two-sided", rules.confidence_level, rules.test == "paired", moments=moments
        )

    parts = sides.samples.parts or (Cells(np.empty(0), np.zeros(1, np.int64)),)
    # Of pairs each side has cells of its own, numbered through both.
    first = len(parts[0]) if len(parts) > 1 else 0
    candidate, baseline = both[0], both[1] - first if first else both[1]
    usable = aligned.reshape(-1) & (len(parts[0]) > 0)
    if not usable.all():
        candidate, baseline = np.where(usable, candidate, -1), np.where(usable, baseline, -1)
    moments = tuple(MomentArrays._make(column[start:] for column in sides.moments) for start in (0, first))
    result = test(
        (parts[0].values, parts[0].offsets),
        (parts[-1].values, parts[-1].offsets),
        candidate,
        baseline,
        (moments[0], moments[1]),
    )
    if common is None:
        return result
    even = np.arange(0, 2 * common.rows.size, 2)
    shared = common.cells.values, common.cells.offsets
    partial = test(shared, shared, even, even + 1)
    columns: list[npt.NDArray[Any]] = [*result]
    for column, part in zip(columns, partial, strict=True):
        column[common.rows] = part
    return result


def _faults(
    sides: _Sides,
    aligned: Flags,
    test: WelchArrays | PairedArrays,
    status: npt.NDArray[np.int8],
    paired: PairedArrays | PairedShownArrays,
    rules: BenchmarkRules,
    min_cases: Integers,
) -> npt.NDArray[np.uint32]:
    """The faults of each comparison, as a mask of reasons."""
    moments = sides.moments
    present = ~sides.missing
    shape = present.shape
    if isinstance(paired, PairedArrays):
        smaller = paired.n.reshape(shape)
        share = (paired.n_missing / np.maximum(paired.n + paired.n_missing, 1)).reshape(shape)
    else:
        smaller = np.minimum(*sides.of_both(moments.n))
        share = np.maximum(*sides.of_both(moments.n_missing / np.maximum(moments.n + moments.n_missing, 1)))
    duplicated = sides.of_either(_per_cell(sides.samples, "n_duplicates") > 0)
    # A repeated case makes any two sets differ: it is named alone. Without `require_same_cases` Welch's test
    # takes all values, as does the unpaired bootstrap, and a paired test the cases in common.
    unpaired = ~aligned & ~duplicated & rules.require_same_cases
    nonfinite = sides.of_either(moments.status == NONFINITE)
    # Values near the largest float64 are finite, and their difference is not.
    nonfinite |= present & ((test.status == OK) & ~np.isfinite(test.delta)).reshape(shape)
    countable = present & ~nonfinite & ~unpaired
    found = {
        "missing_cell": sides.missing,
        "duplicate_case": duplicated,
        "unpaired_cases": present & unpaired,
        "missing_values": present & (share > rules.max_missing_share),
        "nonfinite": nonfinite,
        "too_few": countable & (smaller < 2),
        "n_lt_min": countable & (smaller >= 2) & (smaller < min_cases),
        "invalid_values": countable & (status == INVALID).reshape(shape),
    }
    mask = np.zeros(shape, np.uint32)
    for fault, flags in found.items():
        if flags.any():
            mask |= flags * np.uint32(reasons.bit(fault))
    return mask.reshape(-1)
