"""Sweeps in files to verdicts, beside reading the files and beside the group-by of other engines.

10 000 candidates (48 million values) and files of 10 million rows with FASTGATE_BENCH=full, else a twentieth.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import fastgate
from benchmarks.workloads import (
    BASELINES,
    BUILD_ROWS,
    FULL,
    KPIS,
    SUITES,
    SWEEP_POLICY,
    write_packed_sweep,
    write_sweep,
)
from fastgate.gates.benchmark.sweep import benchmark_sweep
from fastgate.threads import thread_count

CANDIDATES = 10_000 if FULL else 500
LONG_CANDIDATES = 2_080 if FULL else 104  # with the baselines 10 million rows, or half a million
TIMES: dict[str, int] = {"rounds": 3 if FULL else 7, "warmup_rounds": 1}
KEYS = ("build", "suite", "kpi")


def rows_of(candidates: int) -> int:
    return (candidates + BASELINES) * BUILD_ROWS


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("sweep")
    return {
        "sweep": write_sweep(folder / "sweep.parquet", CANDIDATES),
        "packed": write_packed_sweep(folder / "packed.parquet", CANDIDATES),
        "clustered": write_sweep(folder / "clustered.parquet", LONG_CANDIDATES),
        "shuffled": write_sweep(folder / "shuffled.parquet", LONG_CANDIDATES, shuffled=True),
    }


def reading(path: Path) -> Any:
    return pl.read_parquet(path)


def polars_streaming(path: Path) -> pl.DataFrame:
    value = pl.col("value")
    query = pl.scan_parquet(path).group_by(KEYS).agg(value.mean().alias("mean"), value.var().alias("var"))
    return query.collect(engine="streaming")


def duckdb_grouping(path: Path) -> pl.DataFrame:
    query = f"SELECT build, suite, kpi, avg(value) AS mean, var_samp(value) AS var FROM '{path}' GROUP BY ALL"
    duckdb.execute(f"SET threads = {thread_count()}")
    relation = duckdb.sql(query)
    assert relation is not None
    return pl.DataFrame(relation.to_arrow_table())


def judging(path: Path) -> Any:
    return fastgate.benchmark_gate(path, SWEEP_POLICY)


def judging_in_parts(path: Path) -> Any:
    """As ``fastgate benchmark … -o folder/``: portion by portion, the result written to Parquet as it comes."""
    return benchmark_sweep(path, SWEEP_POLICY, path.with_suffix(".result"))


SIDES: dict[str, Callable[[Path], Any]] = {
    "fastgate": judging,
    "fastgate, the result written in parts": judging_in_parts,
    "Polars reading the file alone": reading,
    "Polars streaming group_by of mean and var": polars_streaming,
    "DuckDB group by of mean and var": duckdb_grouping,
}
GROUPS = {
    "sweep": f"sweep of {CANDIDATES:,} candidates, long Parquet of {rows_of(CANDIDATES):,} rows to a result in files",
    "packed": f"sweep of {CANDIDATES:,} candidates, packed Parquet of {rows_of(CANDIDATES):,} values "
    "to a result in files",
    "clustered": f"long Parquet of {rows_of(LONG_CANDIDATES):,} clustered rows to verdicts",
    "shuffled": f"long Parquet of {rows_of(LONG_CANDIDATES):,} shuffled rows to verdicts",
}


def agrees(cells: pl.DataFrame, moments: pl.DataFrame) -> bool:
    """Whether every comparison has the difference of the means that another engine found."""
    names = {name: pl.col(name).cast(pl.String) for name in ("candidate", "baseline", "suite", "kpi")}
    ours = cells.select(*names.values(), "delta")
    means = moments.select(*KEYS, "mean")
    joined = ours.join(means, left_on=["candidate", "suite", "kpi"], right_on=KEYS).join(
        means, left_on=["baseline", "suite", "kpi"], right_on=KEYS, suffix="_baseline"
    )
    differences = (joined["mean"] - joined["mean_baseline"]).to_numpy()
    return joined.height == ours.height and np.allclose(joined["delta"], differences, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("file", GROUPS)
def test_files_to_verdicts(benchmark: Any, files: dict[str, Path], file: str, side: str) -> None:
    path = files[file]
    if file == "packed" and "group" in side:
        pytest.skip("the values lie in lists")
    in_parts = file in ("sweep", "packed")  # whole, they take more memory than a sweep should
    if side == "fastgate, the result written in parts" and in_parts:
        pytest.skip("that is what fastgate's side does here")
    benchmark.group = GROUPS[file]
    benchmark.extra_info["side"] = side
    work = judging_in_parts if side == "fastgate" and in_parts else SIDES[side]
    result = benchmark.pedantic(work, (path,), **TIMES)
    if side.startswith("fastgate"):
        cells = result.cells if work is judging else result.scan("cells").collect()
        candidates = LONG_CANDIDATES if file in ("clustered", "shuffled") else CANDIDATES
        assert cells.height == candidates * BASELINES * SUITES * KPIS
        assert result.verdicts["verdict"].n_unique() > 1
        assert agrees(cells, polars_streaming(files["sweep" if file == "packed" else file]))
    elif "group" in side:
        assert result.height == rows_of(LONG_CANDIDATES if file != "sweep" else CANDIDATES) // 100
