"""Bootstrap intervals of every comparison: of the KPI's statistic, at the level by which it is judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate.cells import Cells
from fastgate.errors import DataError
from fastgate.gates.benchmark.bootstrap_rules import levels
from fastgate.gates.verdict import Engine, named

if TYPE_CHECKING:
    from fastgate.frames.samples import Samples
    from fastgate.gates.benchmark.policy import BenchmarkRules

__all__ = ["CommonCases", "bootstrap_intervals"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]
Flags = npt.NDArray[np.bool_]


class CommonCases(NamedTuple):
    """The cases in common of the comparisons whose two cells hold different ones."""

    rows: Integers
    """The numbers of these comparisons."""
    cells: Cells
    """Two for each: the candidate's and the baseline's values of the cases that both have."""


class _Found(NamedTuple):
    """One number a comparison."""

    delta: Floats
    low: Floats
    high: Floats
    error: Floats
    status: Codes
    engine: Codes

    @classmethod
    def nothing(cls, n: int) -> _Found:
        """Of n comparisons, before any is computed."""
        delta, low, high, error = (np.full(n, np.nan) for _ in range(4))
        return cls(delta, low, high, error, np.zeros(n, np.int8), np.zeros(n, np.int8))


class _Task(NamedTuple):
    """What all calls of the bootstrap have in common."""

    rules: BenchmarkRules
    cells: Cells
    candidate: Integers
    baseline: Integers
    place: Integers
    """Of a comparison among those by common cases; -1 for all others."""
    common: Cells | None
    measure: pl.Series
    keys: npt.NDArray[np.uint64]


def bootstrap_intervals(
    samples: Samples,
    names: Mapping[str, pl.Series],
    candidate_cell: Integers,
    baseline_cell: Integers,
    aligned: Flags,
    common: CommonCases | None,
    rules: BenchmarkRules,
) -> tuple[Codes, dict[str, Any]]:
    """The bootstrap interval of every comparison.

    Parameters
    ----------
    samples : Samples
        With values.
    names : mapping of str to Series
        Of each comparison: candidate, baseline, suite, kpi, direction, role, margin, not_worse, measure.
    candidate_cell, baseline_cell : ndarray of int64, shape (n,)
        -1 where there is no such cell.
    aligned : ndarray of bool, shape (n,)
        Whether both cells hold the same cases in the same order: of the others, differences are taken for the
        cases in `common`.
    common : CommonCases or None
    rules : BenchmarkRules
        Of the test ``bootstrap``.

    Returns
    -------
    status : ndarray of int8, shape (n,)
        Codes.
    columns : dict of str to array
        delta, ci_low, ci_high, half_width, confidence_level, engine, standard_error; statistic, df and pvalue, which
        are NaN; and ``_worse_bound``, of guards that must not be worse: the upper end, in the KPI's better direction,
        at their level.

    Raises
    ------
    DataError
        When only moments are known.

    Notes
    -----
    A comparison's draws are keyed by the seed and the names of candidate, baseline, suite and KPI, so that its
    interval is the same whatever else is compared.
    """
    from fastgate.stats.bootstrap_request import key_numbers

    cells = samples.values
    if cells is None:
        raise DataError(
            "the bootstrap needs the values, and these samples are moments",
            expected="a row per case, or the values of each cell in a list",
            received="n, mean and variance of each cell",
            hint='give the values, or state test = "welch" in the policy',
        )
    assert rules.bootstrap is not None
    n = candidate_cell.size
    place = np.full(n, -1, np.int64)
    if rules.bootstrap.paired:
        candidate_cell, baseline_cell = (
            np.where(aligned, candidate_cell, -1),
            np.where(aligned, baseline_cell, -1),
        )
        if common is not None:
            place[common.rows] = np.arange(common.rows.size)
    keys = key_numbers(_key_texts(names), n)
    assert keys is not None
    task = _Task(
        rules, cells, candidate_cell, baseline_cell, place, None if common is None else common.cells,
        names["measure"], keys,
    )  # fmt: skip

    deciding, of_margin, of_worse = levels(rules)
    guard = (names["role"] == "guard").to_numpy()
    has_margin = names["margin"].is_not_null().to_numpy()
    level = np.where(guard, np.where(has_margin, of_margin, of_worse), deciding)
    found = _Found.nothing(n)
    _run(task, np.arange(n), level, found)
    with np.errstate(invalid="ignore", over="ignore"):
        half_width = found.high / 2 - found.low / 2
    columns = {
        "delta": found.delta,
        "ci_low": found.low,
        "ci_high": found.high,
        "half_width": half_width,
        "confidence_level": level,
        "engine": named(Engine.categories.to_list(), found.engine),
        "standard_error": found.error,
        "statistic": np.full(n, np.nan),
        "df": np.full(n, np.nan),
        "pvalue": np.full(n, np.nan),
        "_worse_bound": _worse_bound(task, names, guard, level, of_worse, found),
    }
    return found.status, columns


def _key_texts(names: Mapping[str, pl.Series]) -> list[str]:
    # Names from the policy hold no control characters, so no two comparisons share a text.
    parts = [names[name].cast(pl.String) for name in ("candidate", "baseline", "suite", "kpi")]
    return pl.select(pl.concat_str(parts, separator="\x1f")).to_series().to_list()


def _worse_bound(
    task: _Task, names: Mapping[str, pl.Series], guard: Flags, level: Floats, of_worse: float, found: _Found
) -> Floats:
    """The better end of the interval at the guards' own level; NaN of all that need not be "not worse"."""
    judged = guard & names["not_worse"].to_numpy()
    # Beside a margin, a tenant's smaller alpha gives the two requirements intervals of different levels.
    again = np.flatnonzero(judged & (level != of_worse))
    if again.size:
        found = _Found._make(column.copy() for column in found)
        _run(task, again, np.full(level.size, of_worse), found)
    higher = (names["direction"] == "higher").to_numpy()
    return np.where(judged, np.where(higher, found.high, -found.low), np.nan)


def _run(task: _Task, rows: Integers, level: Floats, out: _Found) -> None:
    """The bootstrap of some comparisons, those of one statistic and level together."""
    from fastgate.stats.bootstrap_arrays import bootstrap_arrays
    from fastgate.stats.bootstrap_request import bootstrap_request

    bootstrap = task.rules.bootstrap
    assert bootstrap is not None
    sources = [(rows[task.place[rows] < 0], task.cells, task.candidate, task.baseline)]
    if task.common is not None:
        sources.append((rows[task.place[rows] >= 0], task.common, 2 * task.place, 2 * task.place + 1))
    for statistic in task.measure.unique().sort().to_list():
        measured = (task.measure == statistic).to_numpy()
        for own in np.unique(level[rows]).tolist():
            request = bootstrap_request(
                statistic,
                samples=2,
                confidence_level=own,
                method=bootstrap.method,
                engine=bootstrap.engine,
                n_resamples=bootstrap.n_resamples,
                seed=bootstrap.seed,
            )
            for candidates, cells, first, second in sources:
                mine = candidates[measured[candidates] & (level[candidates] == own)]
                if not mine.size:
                    continue
                result = bootstrap_arrays(
                    cells.values,
                    cells.offsets,
                    first[mine],
                    second[mine],
                    request,
                    paired=bootstrap.paired,
                    keys=task.keys[mine],
                )
                out.delta[mine] = result.estimate
                out.low[mine] = result.ci_low
                out.high[mine] = result.ci_high
                out.error[mine] = result.standard_error
                out.status[mine] = result.status
                out.engine[mine] = result.engine
