"""Named, seeded samples to time: small ones unless FASTGATE_BENCH=full asks for the sizes of the README's table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from fastgate.cells import Cells

FULL = os.environ.get("FASTGATE_BENCH") == "full"

Sides = tuple[Cells, Cells]
"""Candidate and baseline, each cell with as many values on both sides."""


def _scores(offsets: np.ndarray[tuple[int], np.dtype[np.int64]], seed: int) -> Sides:
    """Scores of cases of unequal difficulty, on both sides of which the same case weighs."""
    generator = np.random.default_rng(seed)
    case = generator.standard_normal(offsets[-1])
    sides = []
    for gain in (0.02, 0.0):
        values = generator.standard_normal(offsets[-1])
        values *= 0.1
        values += 0.2 * case + (0.8 + gain)
        sides.append(Cells(values, offsets))
    return sides[0], sides[1]


@cache
def equal() -> Sides:
    """Cells of 100 + 100 values: a million of them, or fifty thousand."""
    return _scores(np.arange((1_000_000 if FULL else 50_000) + 1) * 100, 1)


@cache
def ragged() -> Sides:
    """Cells of 5 … 2 000 values: a hundred thousand of them, or five thousand."""
    generator = np.random.default_rng(2)
    sizes = generator.integers(5, 2001, 100_000 if FULL else 5_000)
    return _scores(np.concatenate(([0], np.cumsum(sizes))), 3)


@cache
def small() -> Sides:
    """Cells of 5 … 30 values, as a gate on a few folds or repeats sees them."""
    generator = np.random.default_rng(4)
    sizes = generator.integers(5, 31, 1_000_000 if FULL else 100_000)
    return _scores(np.concatenate(([0], np.cumsum(sizes))), 5)


WORKLOADS: dict[str, Callable[[], Sides]] = {"equal": equal, "ragged": ragged, "small": small}


def title(name: str) -> str:
    """The workload in words."""
    cells = WORKLOADS[name]()[0]
    sizes = cells.sizes
    span = f"{sizes.min()}" if sizes.min() == sizes.max() else f"{sizes.min()}…{sizes.max()}"
    return f"{len(cells):,} cells of {span}"


def first(sides: Sides, n_cells: int) -> Sides:
    """The first cells of both sides, for peers that take too long over all."""
    candidate, baseline = (
        Cells(side.values[: side.offsets[min(n_cells, len(side))]], side.offsets[: n_cells + 1])
        for side in sides
    )
    return candidate, baseline


# ---- sweeps of builds, written to files piece by piece, so that making one needs little memory ------------------

BASELINES, SUITES, KPIS, CASES = 4, 8, 6, 100
BUILD_ROWS = SUITES * KPIS * CASES
SWEEP_POLICY: dict[str, Any] = {
    "gate": "benchmark",
    "name": "sweep",
    "baselines": [f"base-{number}" for number in range(BASELINES)],
    "kpis": {f"kpi-{number}": {"direction": "higher"} for number in range(KPIS)},
    "suites": {f"suite-{number}": {"decided_by": "kpi-0"} for number in range(SUITES)},
}
_PIECE = 500 * BUILD_ROWS
_GROUP_ROWS = 1_000_000  # of a row group of Parquet

Integers = np.ndarray[Any, np.dtype[np.int64]]


def _named(kind: str, n: int, rows: Integers, width: int = 1) -> pl.Series:
    return pl.Series([f"{kind}-{number:0{width}}" for number in range(n)]).gather(rows)


def _builds(candidates: int) -> pl.Series:
    names = [f"candidate-{number:05}" for number in range(candidates)]
    return pl.Series([*SWEEP_POLICY["baselines"], *names])


def _values(rng: np.random.Generator, build: Integers) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Scores around 0.5, every tenth candidate's a little higher: some pass, most do not."""
    values = rng.normal(0.5, 0.1, build.size)
    values += 0.06 * ((build >= BASELINES) & (build % 10 == 0))
    return values


def _lists(flat: np.ndarray[Any, Any]) -> pl.Series:
    offsets = np.arange(0, flat.size + 1, CASES)
    lists = pl.from_arrow(pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(flat)))
    assert isinstance(lists, pl.Series)
    return lists


def _write(path: Path, pieces: Iterator[pl.DataFrame]) -> Path:
    writer = None
    for piece in pieces:
        table = piece.to_arrow(compat_level=pl.CompatLevel.oldest())
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table, row_group_size=_GROUP_ROWS)
    assert writer is not None
    writer.close()
    return path


def write_sweep(path: Path, candidates: int, *, shuffled: bool = False) -> Path:
    """A long Parquet file, a measurement a row: candidates and four baselines × 8 suites × 6 KPIs × 100 cases.

    Clustered as programs write it, build by build, or in random order.
    """
    builds = _builds(candidates)
    n_rows = len(builds) * BUILD_ROWS
    rng = np.random.default_rng(5)
    order = rng.permutation(n_rows) if shuffled else None

    def pieces() -> Iterator[pl.DataFrame]:
        for first in range(0, n_rows, _PIECE):
            last = min(first + _PIECE, n_rows)
            rows = np.arange(first, last) if order is None else order[first:last]
            build = rows // BUILD_ROWS
            yield pl.DataFrame(
                {
                    "build": builds.gather(build),
                    "suite": _named("suite", SUITES, rows // (KPIS * CASES) % SUITES),
                    "kpi": _named("kpi", KPIS, rows // CASES % KPIS),
                    "case": _named("case", CASES, rows % CASES, width=4),
                    "value": _values(rng, build),
                }
            )

    return _write(path, pieces())


def write_sweep_policy(path: Path) -> Path:
    """The sweep's policy as a file."""
    kpis = "".join(
        f'[kpis.{name}]\ndirection = "{kpi["direction"]}"\n' for name, kpi in SWEEP_POLICY["kpis"].items()
    )
    suites = "".join(
        f'[suites.{name}]\ndecided_by = "{suite["decided_by"]}"\n'
        for name, suite in SWEEP_POLICY["suites"].items()
    )
    baselines = ", ".join(f'"{name}"' for name in SWEEP_POLICY["baselines"])
    path.write_text(f'gate = "benchmark"\nname = "sweep"\nbaselines = [{baselines}]\n{kpis}{suites}')
    return path


def write_packed_sweep(path: Path, candidates: int) -> Path:
    """The same sweep with a cell a row, its hundred values and their cases' numbers in lists."""
    builds = _builds(candidates)
    rng = np.random.default_rng(5)
    a_build = SUITES * KPIS

    def pieces() -> Iterator[pl.DataFrame]:
        for first in range(0, len(builds), 500):
            n_builds = min(500, len(builds) - first)
            cells = np.arange(first * a_build, (first + n_builds) * a_build)
            values = _values(rng, np.repeat(cells // a_build, CASES))
            cases = np.tile(np.arange(CASES, dtype=np.int32), cells.size)
            yield pl.DataFrame(
                {
                    "build": builds.gather(cells // a_build),
                    "suite": _named("suite", SUITES, cells // KPIS % SUITES),
                    "kpi": _named("kpi", KPIS, cells % KPIS),
                    "values": _lists(values),
                    "cases": _lists(cases),
                }
            )

    return _write(path, pieces())
