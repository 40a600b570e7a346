"""Which cells of the samples each comparison is of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

if TYPE_CHECKING:
    from fastgate.frames.samples import Samples

__all__ = ["cell_grids", "cell_numbers"]

Integers = npt.NDArray[np.int64]


def cell_numbers(
    samples: Samples, table: pl.DataFrame, candidates: Sequence[str], baselines: Sequence[str]
) -> tuple[Integers, Integers]:
    """The cells of each comparison, in the order candidate, baseline, (suite, KPI); −1 where there is none."""
    shape = (len(candidates), len(baselines), table.height)
    grids = cell_grids(samples, table, candidates, baselines)
    flat = [np.array(np.broadcast_to(grid, shape), order="C").reshape(-1) for grid in grids]
    return flat[0], flat[1]


def cell_grids(
    samples: Samples, table: pl.DataFrame, candidates: Sequence[str], baselines: Sequence[str]
) -> tuple[Integers, Integers]:
    """`cell_numbers` over the axes candidates, baselines, (suite, KPI); of runs a side's other axis has length 1."""
    index, schema = samples.index, samples.index.schema
    n_suites, n_kpis = (_size(schema[key]) for key in ("suite", "kpi"))
    suite, kpi = _codes(table, {key: schema[key] for key in ("suite", "kpi")})
    known = (suite >= 0) & (kpi >= 0)
    rule = np.full(n_suites * n_kpis, -1, np.int64)
    rule[suite[known] * n_kpis + kpi[known]] = np.flatnonzero(known)
    columns = [index[key].to_physical().to_numpy().astype(np.int64) for key in ("suite", "kpi")]
    rules = rule[columns[0] * n_kpis + columns[1]]

    def positions(column: str, names: Sequence[str]) -> Integers:
        """Where in `names` each row's name stands."""
        (codes,) = _codes(pl.DataFrame({column: list(names)}), {column: schema[column]})
        place = np.full(_size(schema[column]), -1, np.int64)
        place[codes[codes >= 0]] = np.flatnonzero(codes >= 0)
        return np.asarray(place[index[column].to_physical().to_numpy()])

    def grid(cells: Integers, *axes: tuple[Integers, int]) -> Integers:
        """The cells by their places along the axes."""
        inside = np.flatnonzero(np.logical_and.reduce([place >= 0 for place, _ in axes]))
        found = np.full([length for _, length in axes], -1, np.int64)
        found[tuple(place[inside] for place, _ in axes)] = cells[inside]
        return found

    of_rules = (rules, table.height)
    if samples.shape == "pairs":
        pairs = [
            (positions(column, names), len(names))
            for column, names in (("candidate", candidates), ("baseline", baselines))
        ]
        both = [
            grid(index[name].to_numpy(), *pairs, of_rules) for name in ("candidate_cell", "baseline_cell")
        ]
        return both[0], both[1]
    cells = np.arange(index.height)
    sides = [
        grid(cells, (positions("build", names), len(names)), of_rules) for names in (candidates, baselines)
    ]
    return sides[0][:, None, :], sides[1][None, :, :]


def _size(dtype: pl.DataType) -> int:
    """How many names a column of the samples may hold."""
    assert isinstance(dtype, pl.Enum)
    return len(dtype.categories)


def _codes(names: pl.DataFrame, dtypes: Mapping[str, pl.DataType]) -> list[Integers]:
    """The codes of names in columns of the samples; −1 of a name that is not there."""
    found = names.select(
        pl.col(key).cast(pl.String).cast(dtype, strict=False).to_physical().cast(pl.Int64).fill_null(-1)
        for key, dtype in dtypes.items()
    )
    return [column.to_numpy() for column in found]
