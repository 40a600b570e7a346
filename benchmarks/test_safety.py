"""Outcomes in Parquet to verdicts of the safety gate, beside the time Polars takes to read the file.

A workload of 10 000 candidates, 5 suites, 500 cases with FASTGATE_BENCH=full, else of a tenth of the candidates; as
programs write them, build by build, and in random order. Candidates replay the baseline: most cases come out alike.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from benchmarks.workloads import FULL
from fastgate.gates.safety import safety_gate

BUILDS, SUITES, CASES = (10_001 if FULL else 1_001), 5, 500
TIMES: dict[str, int] = {"rounds": 5, "warmup_rounds": 2}
ORDERS = ("ordered", "shuffled")

CONDITIONS = {
    "suite_hash": "ab12",
    "seed_list_hash": "77",
    "temperature": 0.0,
    "top_p": 1.0,
    "max_tokens": 512,
    "grader_version": "3",
    "harness_version": "1.4",
}


def names(kind: str, n: int, rows: np.ndarray[Any, np.dtype[np.int64]]) -> pl.Series:
    return pl.Series([f"{kind}-{number:05d}" for number in range(n)]).gather(rows)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    rng = np.random.default_rng(21)
    rows = np.arange(BUILDS * SUITES * CASES)
    usual = rng.random(SUITES * CASES) < 0.92
    flipped = rng.random((BUILDS, SUITES * CASES), dtype=np.float32) < 0.03
    flipped[rng.choice(BUILDS, BUILDS // 20)] |= rng.random(SUITES * CASES) < 0.05
    frame = pl.DataFrame(
        {
            "build": names("build", BUILDS, rows // (SUITES * CASES)),
            "suite": names("suite", SUITES, rows // CASES % SUITES),
            "case": names("case", CASES, rows % CASES),
            "passed": (usual ^ flipped).ravel(),
        }
    )
    folder = tmp_path_factory.mktemp("outcomes")
    paths = {order: folder / f"{order}.parquet" for order in ORDERS}
    frame.write_parquet(paths["ordered"])
    frame.sample(fraction=1, shuffle=True, seed=22).write_parquet(paths["shuffled"])
    paths["manifests"] = folder / "manifests.parquet"
    builds = frame["build"].unique(maintain_order=True)
    conditions = (pl.lit(value).alias(name) for name, value in CONDITIONS.items())
    pl.DataFrame({"build": builds}).with_columns(*conditions).write_parquet(paths["manifests"])
    return paths


def tallied(path: Path) -> pl.DataFrame:
    """The four counts of every comparison, by Polars."""
    frame = pl.scan_parquet(path)
    base = frame.filter(pl.col("build") == "build-00000").drop("build")
    both, now, then = pl.col("passed") & pl.col("before"), pl.col("passed"), pl.col("before")
    return (
        frame.filter(pl.col("build") != "build-00000")
        .join(base.rename({"passed": "before"}), on=["suite", "case"])
        .group_by("build", "suite")
        .agg(
            both.sum().alias("both"),
            (~now & then).sum().alias("regressed"),
            (now & ~then).sum().alias("fixed"),
        )
        .sort("build", "suite")
        .collect()
    )


def label(benchmark: Any, order: str, side: str) -> None:
    benchmark.group = f"safety gate, Parquet of {BUILDS * SUITES * CASES:,} outcomes, rows {order}"
    benchmark.extra_info["side"] = side


@pytest.mark.parametrize("order", ORDERS)
def test_files_to_verdicts(benchmark: Any, files: dict[str, Path], order: str) -> None:
    def judge() -> Any:
        return safety_gate(files[order], files["manifests"], "litmus", baseline="build-00000")

    result = judge()
    wanted = tallied(files[order])
    assert result.suites["regressed"].to_list() == wanted["regressed"].to_list()
    assert result.suites["fixed"].to_list() == wanted["fixed"].to_list()
    assert result.verdicts["verdict"].value_counts().height > 1
    label(benchmark, order, "fastgate")
    benchmark.pedantic(judge, **TIMES)


@pytest.mark.parametrize("order", ORDERS)
def test_polars_tallies_the_comparisons(benchmark: Any, files: dict[str, Path], order: str) -> None:
    label(benchmark, order, "Polars counting the comparisons")
    benchmark.pedantic(tallied, args=(files[order],), **TIMES)


@pytest.mark.parametrize("order", ORDERS)
def test_polars_reads_the_file(benchmark: Any, files: dict[str, Path], order: str) -> None:
    label(benchmark, order, "Polars reading the file alone")
    frame = benchmark.pedantic(pl.read_parquet, args=(files[order],), **TIMES)
    assert frame.height == BUILDS * SUITES * CASES


def test_flipped_cases_are_listed(benchmark: Any, files: dict[str, Path]) -> None:
    result = safety_gate(files["ordered"], files["manifests"], "litmus", baseline="build-00000")
    benchmark.group = "safety gate, its flipped cases listed"
    benchmark.extra_info["side"] = "fastgate"
    flips = benchmark.pedantic(result.list_flips, **TIMES)
    assert flips.height == result.suites["regressed"].sum() + result.suites["fixed"].sum()
