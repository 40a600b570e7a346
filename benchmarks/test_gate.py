"""The benchmark gate on whole files, beside the time Polars takes to read them; and judging alone, beside a script."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import fastgate
from benchmarks.workloads import BASELINES as SWEEP_BASELINES
from benchmarks.workloads import CASES as SWEEP_CASES
from benchmarks.workloads import FULL, KPIS, SWEEP_POLICY, write_sweep
from benchmarks.workloads import SUITES as SWEEP_SUITES
from fastgate.frames import Samples, read_samples
from fastgate.gates.benchmark.judgement import judge
from fastgate.gates.benchmark.policy import BenchmarkRules
from fastgate.gates.policy import effective

CANDIDATES = 3_125 if FULL else 313
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


# ---- a portion of a sweep that is in memory already ------------------------------------------------------------

PORTION = 900 if FULL else 100
JUDGED = PORTION * SWEEP_BASELINES * SWEEP_SUITES * KPIS
JUDGING = f"judging {JUDGED:,} comparisons of a sweep in memory, {SWEEP_CASES} cases each"


@pytest.fixture(scope="module")
def portion(tmp_path_factory: pytest.TempPathFactory) -> Samples:
    """Some candidates of a sweep and the baselines that all of them share."""
    return read_samples(write_sweep(tmp_path_factory.mktemp("portion") / "sweep.parquet", PORTION))


def by_hand(samples: Samples) -> Callable[[], pl.DataFrame]:
    """Welch's test of every comparison and the suites won, as an expert writes them: numpy, scipy, Polars.

    The moments are there before the clock starts. Nothing else of what the gate says is computed: no intervals, effect
    sizes or paired tests, no check that both sides ran the same cases, and no reasons.
    """
    from scipy import special

    names = samples.index["build"].cast(pl.String).unique(maintain_order=True).to_list()
    values = samples.parts[0].values.reshape(len(names), SWEEP_SUITES, KPIS, SWEEP_CASES)
    mean, error = values.mean(axis=3), values.var(axis=3, ddof=1) / SWEEP_CASES
    is_baseline = np.isin(names, SWEEP_POLICY["baselines"])
    candidates = [name for name, baseline in zip(names, is_baseline, strict=True) if not baseline]

    def run() -> pl.DataFrame:
        (mean_b, error_b), (mean_c, error_c) = (
            (mean[side], error[side]) for side in (is_baseline, ~is_baseline)
        )
        delta = mean_c[:, None] - mean_b[None]
        squared = error_c[:, None] + error_b[None]
        df = squared**2 * (SWEEP_CASES - 1) / ((error_c**2)[:, None] + (error_b**2)[None])
        pvalue = 2.0 * special.stdtr(df, -np.abs(delta) / np.sqrt(squared))
        keys = (
            pl.DataFrame({"candidate": candidates})
            .join(
                pl.DataFrame({"baseline": SWEEP_POLICY["baselines"]}),
                how="cross",
                maintain_order="left_right",
            )
            .join(
                pl.DataFrame({"suite": list(SWEEP_POLICY["suites"])}),
                how="cross",
                maintain_order="left_right",
            )
            .join(pl.DataFrame({"kpi": list(SWEEP_POLICY["kpis"])}), how="cross", maintain_order="left_right")
        )
        cells = keys.with_columns(delta=pl.Series(delta.ravel()), pvalue=pl.Series(pvalue.ravel()))
        wins = (pl.col("kpi") == "kpi-0") & (pl.col("pvalue") < 0.05) & (pl.col("delta") > 0)
        return cells.group_by("candidate", "baseline", maintain_order=True).agg(wins.sum().alias("wins"))

    return run


@pytest.mark.benchmark(group=JUDGING)
def test_fastgate_judging(benchmark: Any, portion: Samples) -> None:
    rules = effective(SWEEP_POLICY, None, gate="benchmark")
    assert isinstance(rules, BenchmarkRules)
    builds = portion.index["build"].cast(pl.String).unique(maintain_order=True).to_list()
    candidates = [name for name in builds if name not in rules.baselines]
    tables = benchmark.pedantic(judge, (portion, rules, candidates), rounds=11, warmup_rounds=2)
    assert tables["cells"].height == JUDGED
    assert tables["baselines"]["wins"].to_list() == by_hand(portion)()["wins"].to_list()


@pytest.mark.benchmark(group=JUDGING)
def test_numpy_scipy_and_polars_by_hand(benchmark: Any, portion: Samples) -> None:
    benchmark.extra_info["side"] = "numpy, scipy and Polars: Welch's p and wins alone, of ready moments"
    benchmark.pedantic(by_hand(portion), rounds=11, warmup_rounds=2)


@pytest.mark.benchmark(group=JUDGING)
def test_a_sum_of_the_values(benchmark: Any, portion: Samples) -> None:
    benchmark.extra_info["side"] = "a sum of the values"
    benchmark.pedantic(portion.parts[0].values.sum, rounds=11, warmup_rounds=2)
