"""What else computes moments or Welch's test of many cells, each as fast as we know how to call it.

Frames and lists are made before the clock starts, sorted and marked as sorted by cell. Each function returns a
callable that does the timed part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from fastgate.cells import Cells

Floats = np.ndarray[Any, np.dtype[np.float64]]
Timed = Callable[[], Any]


def _long(candidate: Cells, baseline: Cells) -> pl.DataFrame:
    """A row for each case, sorted by cell."""
    cell = np.repeat(np.arange(len(candidate), dtype=np.uint32), candidate.sizes)
    frame = pl.DataFrame({"cell": cell, "candidate": candidate.values, "baseline": baseline.values})
    return frame.with_columns(pl.col("cell").set_sorted())


def _struct_pvalues(frame: pl.DataFrame) -> Floats:
    test = frame["test"].struct.unnest()
    return test[test.columns[1]].to_numpy()


def scipy_axis(candidate: Cells, baseline: Cells) -> Timed:
    """One call of scipy.stats.ttest_ind over the rows of two matrices; cells of equal size only."""
    from scipy import stats

    rows = [side.values.reshape(len(side), -1) for side in (candidate, baseline)]
    return lambda: stats.ttest_ind(*rows, axis=1, equal_var=False).pvalue


def scipy_loop(candidate: Cells, baseline: Cells) -> Timed:
    """A call of scipy.stats.ttest_ind for each cell."""
    from scipy import stats

    pairs = [(candidate[cell], baseline[cell]) for cell in range(len(candidate))]
    return lambda: np.array([stats.ttest_ind(one, two, equal_var=False).pvalue for one, two in pairs])


def polars_ds(candidate: Cells, baseline: Cells) -> Timed:
    """polars-ds' Welch test in a group_by."""
    import polars_ds as pds

    frame = _long(candidate, baseline).lazy()
    test = pds.ttest_ind("candidate", "baseline", equal_var=False).alias("test")
    query = frame.group_by("cell", maintain_order=True).agg(test)
    return lambda: _struct_pvalues(query.collect())


def polars_statistics(candidate: Cells, baseline: Cells) -> Timed:
    """polars-statistics' Welch test in a group_by."""
    import polars_statistics as ps

    frame = _long(candidate, baseline).lazy()
    test = ps.ttest_ind("candidate", "baseline", equal_var=False).alias("test")
    query = frame.group_by("cell", maintain_order=True).agg(test)
    return lambda: _struct_pvalues(query.collect())


def polars_expressions(candidate: Cells, baseline: Cells) -> Timed:
    """Means and variances by Polars, the formulas in numpy, p by scipy.special: what an expert writes by hand."""
    from scipy import special

    frame = _long(candidate, baseline).lazy()
    columns = ("candidate", "baseline")
    query = frame.group_by("cell", maintain_order=True).agg(
        pl.len().alias("n"),
        *(pl.col(name).mean().alias(f"{name}_mean") for name in columns),
        *(pl.col(name).var().alias(f"{name}_var") for name in columns),
    )

    def run() -> Floats:
        table = query.collect()
        n = table["n"].to_numpy().astype(np.float64)
        means = [table[f"{name}_mean"].to_numpy() for name in columns]
        errors = [table[f"{name}_var"].to_numpy() / n for name in columns]
        squared = errors[0] + errors[1]
        df = squared**2 / (errors[0] ** 2 / (n - 1) + errors[1] ** 2 / (n - 1))
        return 2.0 * special.stdtr(df, -np.abs((means[0] - means[1]) / np.sqrt(squared)))

    return run


WELCH: dict[str, tuple[Callable[[Cells, Cells], Timed], int]] = {
    "scipy ttest_ind(axis=1)": (scipy_axis, 1_000_000),
    "scipy ttest_ind, a call per cell": (scipy_loop, 200),
    "polars-ds in group_by": (polars_ds, 20_000),
    "polars-statistics in group_by": (polars_statistics, 20_000),
    "Polars means and variances, scipy stdtr": (polars_expressions, 1_000_000),
}
"""Name, function and the number of cells it is given at most: the slow ones are compared per cell."""


def numpy_moments(cells: Cells) -> Timed:
    """Mean and variance of the rows of a matrix; cells of equal size only."""
    rows = cells.values.reshape(len(cells), -1)
    return lambda: (rows.mean(axis=1), rows.var(axis=1, ddof=1))


def numpy_reduceat(cells: Cells) -> Timed:
    """Mean and variance by two passes of add.reduceat."""
    starts, sizes = cells.offsets[:-1], cells.sizes

    def run() -> tuple[Floats, Floats]:
        mean = np.add.reduceat(cells.values, starts) / sizes
        centred = cells.values - np.repeat(mean, sizes)
        centred *= centred
        return mean, np.add.reduceat(centred, starts) / (sizes - 1)

    return run


def polars_moments(cells: Cells) -> Timed:
    """Mean and variance in a group_by over sorted cells."""
    query = (
        _long(cells, cells)
        .lazy()
        .group_by("cell", maintain_order=True)
        .agg(pl.col("candidate").mean().alias("mean"), pl.col("candidate").var().alias("var"))
    )

    def run() -> tuple[Floats, Floats]:
        table = query.collect()
        return table["mean"].to_numpy(), table["var"].to_numpy()

    return run


MOMENTS: dict[str, Callable[[Cells], Timed]] = {
    "numpy mean and var": numpy_moments,
    "numpy reduceat": numpy_reduceat,
    "Polars mean and var in group_by": polars_moments,
}
"""Mean and sample variance of each cell."""
