"""The stability gate on a whole file of probes, beside the time Polars takes to read it.

Ten million probes with FASTGATE_BENCH=full, else one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from benchmarks.workloads import FULL
from fastgate.gates.stability.gate import stability_gate

BUILDS, KINDS, VARIANTS = (
    20,
    ("paraphrase", "template", "model_version", "order_swap", "adversarial_framing"),
    4,
)
PAIRS = 25_000 if FULL else 2_500
PROBES = BUILDS * PAIRS * len(KINDS) * VARIANTS
POLICY = {"gate": "stability", "name": "benchmark", "letters": "raw"}
GROUP = f"Parquet of {PROBES:,} probes to verdicts"


@pytest.fixture(scope="module")
def probes(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    rng = np.random.default_rng(11)
    shape = (BUILDS, PAIRS, len(KINDS), VARIANTS)
    build, pair, kind, variant = (codes.reshape(-1) for codes in np.indices(shape, np.int32))
    primary = rng.integers(0, 2, shape[:2])[build, pair]
    probe = primary ^ (rng.random(PROBES) < 0.08) ^ (kind == KINDS.index("order_swap"))

    def words(codes: np.ndarray[Any, Any], names: list[str]) -> pl.Series:
        return pl.Series(names).gather(codes)

    return pl.DataFrame(
        {
            "build": words(build, [f"judge-{number:02}" for number in range(BUILDS)]),
            "pair": words(pair, [f"case-{number:06}" for number in range(PAIRS)]),
            "kind": words(kind, list(KINDS)),
            "variant": words(variant, [f"v{number}" for number in range(VARIANTS)]),
            "primary_choice": words(primary, ["A", "B"]),
            "probe_choice": words(probe, ["A", "B"]),
        }
    )


@pytest.fixture(scope="module", params=["in order", "shuffled"])
def path(
    request: pytest.FixtureRequest, probes: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    frame = probes if request.param == "in order" else probes.sample(fraction=1.0, shuffle=True, seed=1)
    file = tmp_path_factory.mktemp("stability") / f"{request.param}.parquet"
    frame.write_parquet(file)
    return file


def test_fastgate(benchmark: Any, path: Path, probes: pl.DataFrame) -> None:
    benchmark.group = f"{GROUP}, rows {path.stem}"
    result = stability_gate(path, POLICY)
    swapped = pl.col("probe_choice").replace({"A": "B", "B": "A"})
    choice = pl.when(kind="order_swap").then(swapped).otherwise("probe_choice")
    expected = probes.group_by("build", "kind").agg((choice == pl.col("primary_choice")).sum().alias("agree"))
    found = result.kinds.select(pl.col("build", "kind").cast(pl.String), "agree")
    joined = found.join(expected, on=["build", "kind"])
    assert joined.height == BUILDS * len(KINDS)
    assert joined["agree"].to_list() == joined["agree_right"].to_list()
    benchmark.pedantic(stability_gate, (path, POLICY), rounds=7, warmup_rounds=1)


def test_polars_reading_the_file_alone(benchmark: Any, path: Path) -> None:
    benchmark.extra_info["side"] = "Polars reading the file alone"
    benchmark.group = f"{GROUP}, rows {path.stem}"
    benchmark.pedantic(pl.read_parquet, (path,), rounds=7, warmup_rounds=1)


def test_polars_counting_the_agreeing_probes(benchmark: Any, path: Path) -> None:
    """Reading and counting: no order of alternatives, duplicates, flips or verdicts."""
    benchmark.group = f"{GROUP}, rows {path.stem}"
    benchmark.extra_info["side"] = "Polars counting the agreeing probes"

    def agreement() -> pl.DataFrame:
        agrees = (pl.col("primary_choice") == pl.col("probe_choice")).sum()
        return pl.read_parquet(path).group_by("build", "kind").agg(agrees, pl.len())

    benchmark.pedantic(agreement, rounds=7, warmup_rounds=1)
