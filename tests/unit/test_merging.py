"""Builds too large for memory are judged by moments, merged from parts of their cases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from fastgate.frames import read_samples
from fastgate.frames.portions import open_portions
from fastgate.gates.benchmark.gate import benchmark_gate
from fastgate.gates.benchmark.result import BenchmarkResult
from fastgate.gates.benchmark.sweep import benchmark_sweep
from fastgate.stats.summary import mean_arrays, moments_arrays

MIB = 1 << 20
POLICY: dict[str, Any] = {
    "gate": "benchmark",
    "name": "long",
    "baselines": ["old"],
    "min_suite_wins": 1,
    "kpis": {"score": {"direction": "higher"}, "cost": {"direction": "lower"}},
    "suites": {"s": {"decided_by": "score", "guards": {"cost": {"margin": 0.2}}}},
}


def runs(n_cases: int = 4000, seed: int = 1, **more: Any) -> pl.DataFrame:
    """Four builds of two cells; each build alone is more than fits into 1 MiB."""
    n = 4 * 2 * n_cases
    row = np.arange(n)
    build = row // (2 * n_cases)
    return pl.DataFrame(
        {
            "build": pl.Series(["old", "same", "better", "worse"]).gather(build),
            "suite": "s",
            "kpi": pl.Series(["score", "cost"]).gather(row // n_cases % 2),
            "case": row % n_cases,
            "value": np.random.default_rng(seed).normal(1e3, 1.0, size=n)
            + np.array([0, 0, 0.2, -0.2])[build] * (row // n_cases % 2 == 0),
            **more,
        }
    )


def assert_close(one: BenchmarkResult, whole: BenchmarkResult) -> None:
    assert one.verdicts.equals(whole.verdicts)
    assert one.suites.drop("tests_disagree").equals(whole.suites.drop("tests_disagree"))
    assert one.evidence["input"] == whole.evidence["input"]
    exact = ["candidate", "baseline", "suite", "kpi", "outcome", "guard", "status", "reasons"]
    exact += ["n_candidate", "n_baseline", "n_missing_candidate", "n_missing_baseline"]
    assert one.cells.select(exact).equals(whole.cells.select(exact))
    for name in ("mean_candidate", "delta", "ci_low", "ci_high", "statistic", "df", "pvalue", "hedges_g"):
        mine, theirs = one.cells[name].to_numpy(), whole.cells[name].to_numpy()
        # p magnifies what rounding does to t.
        assert np.allclose(mine, theirs, rtol=1e-11 if name == "pvalue" else 1e-12, equal_nan=True), name


@pytest.mark.parametrize("order", ["build by build", "any"])
def test_the_verdicts_are_those_of_the_values(tmp_path: Path, order: str) -> None:
    frame = runs()
    if order == "any":
        frame = frame.sample(fraction=1.0, shuffle=True, seed=3)
    frame.write_parquet(tmp_path / "runs.parquet")
    whole = benchmark_gate(frame, POLICY)
    assert dict(zip(whole, whole.verdicts["verdict"], strict=True)) == {
        "better": "pass",
        "same": "block",
        "worse": "block",
    }
    assert_close(benchmark_gate(tmp_path / "runs.parquet", POLICY, memory=MIB), whole)
    sweep = benchmark_sweep(tmp_path / "runs.parquet", POLICY, tmp_path / "out", memory=MIB)
    assert_close(sweep.load(), whole)


def test_moments_are_merged_to_all_digits(tmp_path: Path) -> None:
    frame = runs().with_columns(pl.col("value") + 1e9)
    frame.write_parquet(tmp_path / "runs.parquet")
    samples = open_portions(tmp_path / "runs.parquet", memory=MIB, beside=["old"], merge=True).whole
    assert samples is not None
    assert samples.merged is not None
    whole = read_samples(frame)
    (cells,) = whole.parts
    moments = moments_arrays(cells.values, cells.offsets)
    assert samples.index.equals(whole.index)
    assert np.array_equal(samples.merged.n, moments.n)
    assert np.allclose(samples.merged.m2, moments.m2, rtol=1e-13)
    assert np.allclose(mean_arrays(samples.merged), mean_arrays(moments), rtol=1e-15)
    # Differences of means keep what the means themselves lose.
    for other in (samples.merged, moments):
        assert not other.shift.flags.writeable
    exact = [float(np.mean(cells[c] - 1e9)) for c in range(len(cells))]
    merged = (samples.merged.shift - 1e9) + samples.merged.centre
    assert np.allclose(merged, exact, rtol=0, atol=1e-9)


def test_faults_are_found(tmp_path: Path) -> None:
    frame = runs()
    twice = frame.filter((pl.col("build") == "better") & (pl.col("case") == 7) & (pl.col("kpi") == "score"))
    lacking = (pl.col("build") == "same") & (pl.col("case") == 9)
    without = (pl.col("build") == "worse") & (pl.col("case").is_in([1, 2]))
    frame = pl.concat([frame.filter(~lacking), twice]).with_columns(
        value=pl.when(without).then(float("nan")).otherwise(pl.col("value"))
    )
    frame.write_parquet(tmp_path / "runs.parquet")
    merged = benchmark_gate(tmp_path / "runs.parquet", POLICY, memory=MIB)
    whole = benchmark_gate(frame, POLICY)
    assert_close(merged, whole)
    found = {row["candidate"]: row["reasons"] for row in merged.verdicts.to_dicts()}
    assert "duplicate_case" in found["better"]
    assert "unpaired_cases" in found["same"]
    assert "missing_values" in found["worse"]


def test_extreme_and_constant_values(tmp_path: Path) -> None:
    frame = runs()
    cell = (pl.col("build") == "same", pl.col("build") == "worse", pl.col("build") == "better")
    frame = frame.with_columns(
        value=pl.when(cell[0])
        .then(pl.lit(0.1))
        .when(cell[1] & (pl.col("case") == 5))
        .then(float("inf"))
        .when(cell[2])
        .then(pl.col("value") * 1e-200)
        .otherwise(pl.col("value"))
    )
    frame.write_parquet(tmp_path / "runs.parquet")
    merged = benchmark_gate(tmp_path / "runs.parquet", POLICY, memory=MIB)
    assert_close(merged, benchmark_gate(frame, POLICY))


def test_trials_are_averaged_first(tmp_path: Path) -> None:
    frame = runs(n_cases=6000).with_columns(trial=pl.col("case") % 3, case=pl.col("case") // 3)
    frame.write_parquet(tmp_path / "runs.parquet")
    merged = benchmark_gate(tmp_path / "runs.parquet", POLICY, memory=MIB)
    whole = benchmark_gate(frame, POLICY)
    assert whole.cells["n_candidate"].unique().to_list() == [2000]
    assert_close(merged, whole)


def test_a_cell_that_only_some_parts_have(tmp_path: Path) -> None:
    few = runs().filter((pl.col("build") != "same") | (pl.col("case") < 3))
    few.write_parquet(tmp_path / "runs.parquet")
    policy = {**POLICY, "require_same_cases": False}
    merged = benchmark_gate(tmp_path / "runs.parquet", policy, memory=MIB)
    assert_close(merged, benchmark_gate(few, policy))


@pytest.mark.parametrize("options", [{"test": "paired"}, {"replicates": 9}])
def test_what_goes_by_cases_takes_the_values(tmp_path: Path, options: dict[str, Any]) -> None:
    frame = runs()
    frame.write_parquet(tmp_path / "runs.parquet")
    policy = {**POLICY, "test": options.pop("test", "welch")}
    merged = benchmark_gate(tmp_path / "runs.parquet", policy, memory=MIB, **options)
    whole = benchmark_gate(frame, policy, **options)
    assert merged.to_dict()["cells"] == whole.to_dict()["cells"]
