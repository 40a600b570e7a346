"""The benchmark gate on whole files, beside the time Polars takes to read them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import fastgate

CANDIDATES = 3_125 if os.environ.get("FASTGATE_BENCH") == "full" else 313
BASELINES, SUITES, CASES = 4, 8, 100
COMPARISONS = CANDIDATES * BASELINES * SUITES
POLICY = {
    "gate": "benchmark",
    "name": "benchmark",
    "baselines": [f"base{i}" for i in range(BASELINES)],
    "kpis": {"score": {"direction": "higher"}},
    "suites": [f"suite{i}" for i in range(SUITES)],
}


def lists(rng: np.random.Generator, n: int, mean: float) -> pl.Series:
    values = pa.array(rng.normal(mean, 0.1, n * CASES))
    offsets = pa.array(np.arange(0, n * CASES + 1, CASES))
    column = pl.from_arrow(pa.LargeListArray.from_arrays(offsets, values))
    assert isinstance(column, pl.Series)
    return column


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A packed file of pairs: a comparison a row, its two samples as lists."""
    rng = np.random.default_rng(7)
    names = [f"candidate{i:05d}" for i in range(CANDIDATES)]
    frame = pl.DataFrame(
        {
            "candidate": np.repeat(names, BASELINES * SUITES),
            "baseline": np.tile(np.repeat(POLICY["baselines"], SUITES), CANDIDATES),
            "suite": np.tile(POLICY["suites"], CANDIDATES * BASELINES),
            "kpi": ["score"] * COMPARISONS,
        }
    ).with_columns(
        candidate_values=lists(rng, COMPARISONS, 0.52), baseline_values=lists(rng, COMPARISONS, 0.5)
    )
    path = tmp_path_factory.mktemp("gate") / "packed.parquet"
    frame.write_parquet(path)
    return path


GROUP = f"packed Parquet of {COMPARISONS:,} comparisons of {CASES} + {CASES} values to verdicts"


@pytest.mark.benchmark(group=GROUP)
def test_fastgate(benchmark: Any, packed: Path) -> None:
    result = benchmark.pedantic(fastgate.benchmark_gate, (packed, POLICY), rounds=7, warmup_rounds=2)
    cells = result.cells.head(100)
    frame = pl.read_parquet(packed, n_rows=100)
    means = frame.select(pl.col("candidate_values").list.mean() - pl.col("baseline_values").list.mean())
    assert np.allclose(cells["delta"], means.to_series(), rtol=1e-9, atol=1e-12)
    assert result.cells.height == COMPARISONS


@pytest.mark.benchmark(group=GROUP)
def test_polars_reading_the_file_alone(benchmark: Any, packed: Path) -> None:
    benchmark.pedantic(pl.read_parquet, (packed,), rounds=7, warmup_rounds=2)
