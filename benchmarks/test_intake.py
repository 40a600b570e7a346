"""Intake of whole files to samples, beside the time Polars takes to read them and to group the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from benchmarks.workloads import FULL
from fastgate.frames import Samples, read_samples

BUILDS, SUITES, KPIS, CASES = (250, 8, 5, 1000) if FULL else (50, 8, 5, 200)
CELLS, VALUES = (100_000, 100) if FULL else (10_000, 100)
KEYS = ["build", "suite", "kpi"]
TIMES: dict[str, int] = {"rounds": 7, "warmup_rounds": 2}


def names(kind: str, n: int, rows: np.ndarray[Any, np.dtype[np.int64]]) -> pl.Series:
    return pl.Series([f"{kind}-{number:04d}" for number in range(n)]).gather(rows)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A measurement a row, ordered by its keys and in random order."""
    rows = np.arange(BUILDS * SUITES * KPIS * CASES)
    frame = pl.DataFrame(
        {
            "build": names("build", BUILDS, rows // (SUITES * KPIS * CASES)),
            "suite": names("suite", SUITES, rows // (KPIS * CASES) % SUITES),
            "kpi": names("kpi", KPIS, rows // CASES % KPIS),
            "case": names("case", CASES, rows % CASES),
            "value": np.random.default_rng(11).normal(size=rows.size),
        }
    )
    folder = tmp_path_factory.mktemp("long")
    paths = {"ordered": folder / "ordered.parquet", "shuffled": folder / "shuffled.parquet"}
    frame.write_parquet(paths["ordered"])
    frame.sample(fraction=1, shuffle=True, seed=12).write_parquet(paths["shuffled"])
    return paths


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A cell a row, its values in a list: of builds, and of candidates with their baselines."""
    rng = np.random.default_rng(13)
    rows = np.arange(CELLS)
    builds = names("build", CELLS // 40, rows // 40)
    keys = {"suite": names("suite", 8, rows // 5 % 8), "kpi": names("kpi", 5, rows % 5)}
    folder = tmp_path_factory.mktemp("packed")
    paths = {"runs": folder / "runs.parquet", "pairs": folder / "pairs.parquet"}
    pl.DataFrame({"build": builds, **keys, "values": lists(rng)}).write_parquet(paths["runs"])
    sides = {"candidate_values": lists(rng), "baseline_values": lists(rng)}
    pl.DataFrame({"candidate": builds, "baseline": "base", **keys, **sides}).write_parquet(paths["pairs"])
    return paths


def lists(rng: np.random.Generator) -> pl.Series:
    offsets = pa.array(np.arange(0, CELLS * VALUES + 1, VALUES))
    column = pl.from_arrow(pa.LargeListArray.from_arrays(offsets, pa.array(rng.normal(size=CELLS * VALUES))))
    assert isinstance(column, pl.Series)
    return column


def grouped(path: Path) -> pl.DataFrame:
    """The same cells by Polars: sorted, and the cases of each in order."""
    entries = pl.col("value").sort_by("case"), pl.col("case").sort()
    return pl.scan_parquet(path).group_by(KEYS).agg(*entries).sort(KEYS).collect()


def agree(samples: Samples, frame: pl.DataFrame) -> bool:
    assert samples.values is not None
    flat = frame["value"].explode().to_numpy()
    return bool(np.array_equal(samples.values.values, flat)) and samples.index.height == frame.height


@pytest.mark.parametrize("order", ["ordered", "shuffled"])
@pytest.mark.parametrize("side", ["fastgate", "Polars group_by and sort", "Polars reading the file alone"])
def test_long(benchmark: Any, long: dict[str, Path], side: str, order: str) -> None:
    benchmark.group = f"long Parquet of {BUILDS * SUITES * KPIS * CASES:,} {order} rows to cells"
    benchmark.extra_info["side"] = side
    if side == "fastgate":
        samples = benchmark.pedantic(read_samples, (long[order],), **TIMES)
        assert agree(samples, grouped(long[order]))
    else:
        benchmark.pedantic(grouped if "group" in side else pl.read_parquet, (long[order],), **TIMES)


@pytest.mark.parametrize("shape", ["runs", "pairs"])
@pytest.mark.parametrize("side", ["fastgate", "Polars reading the file alone"])
def test_packed(benchmark: Any, packed: dict[str, Path], side: str, shape: str) -> None:
    benchmark.group = f"packed Parquet of {CELLS:,} {shape} of {VALUES} values to cells"
    benchmark.extra_info["side"] = side
    if side == "fastgate":
        samples = benchmark.pedantic(read_samples, (packed[shape],), **TIMES)
        frame = pl.read_parquet(packed[shape])
        for part, column in zip(samples.parts, frame.columns[-len(samples.parts) :], strict=True):
            assert np.array_equal(part.values, frame[column].explode().to_numpy())
    else:
        benchmark.pedantic(pl.read_parquet, (packed[shape],), **TIMES)
