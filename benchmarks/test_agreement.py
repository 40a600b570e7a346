"""Agreement of many probes, beside the time Polars takes to read them: 10 million with FASTGATE_BENCH=full, else 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from benchmarks.workloads import FULL
from fastgate.stats.choices import compare_arrays
from fastgate.stats.probes import agreement_arrays, observation_weight, stability_flags_arrays

PROBES = 10_000_000 if FULL else 2_000_000
BUILDS = [f"build-{number:03}" for number in range(200)]
KINDS = ["paraphrase", "template", "model_version", "order_swap", "adversarial_framing"]
CHOICES = ["A", "B", "tie", "abstain"]
REASONS = ["policy", "parse", "uncertain"]
GROUP = f"agreement of {PROBES:,} probes"


@pytest.fixture(scope="module")
def probes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(42)
    pair = np.arange(PROBES) // len(KINDS)
    primary = rng.choice(4, PROBES // len(KINDS), p=[0.45, 0.4, 0.1, 0.05])[pair]
    probe = np.where(rng.random(PROBES) < 0.85, primary, rng.integers(0, 4, PROBES))
    kind = np.arange(PROBES) % len(KINDS)

    def words(codes: np.ndarray[Any, Any], names: list[str]) -> pl.Series:
        return pl.Series(np.array(names)[codes]).cast(pl.Categorical)

    reason = words(rng.integers(0, 3, PROBES), REASONS)
    frame = pl.DataFrame(
        {
            "build": words(np.arange(PROBES) * len(BUILDS) // PROBES, BUILDS),
            "pair": pair,
            "kind": words(kind, KINDS),
            "primary_choice": words(primary, CHOICES),
            "probe_choice": words(probe, CHOICES),
            "primary_reason": reason,
            "probe_reason": reason,
        }
    ).with_columns(
        pl.when(pl.col("primary_choice") == "abstain").then("primary_reason").alias("primary_reason"),
        pl.when(pl.col("probe_choice") == "abstain").then("probe_reason").alias("probe_reason"),
    )
    path = tmp_path_factory.mktemp("probes") / "probes.parquet"
    frame.write_parquet(path)
    return path


def coded(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """The columns as the codes that the statistics work on."""

    def by_name(column: pl.Series, names: list[str]) -> np.ndarray[Any, Any]:
        physical = column.cast(pl.Enum(names)).to_physical().cast(pl.Int64)
        return physical.fill_null(-1).to_numpy()

    frame = pl.read_parquet(path)
    kind = by_name(frame["kind"], KINDS)
    return {
        "cell": by_name(frame["build"], BUILDS) * len(KINDS) + kind,
        "pair": frame["pair"].to_numpy(),
        "kind": kind.astype(np.int8),
        "primary": by_name(frame["primary_choice"], CHOICES).astype(np.int8),
        "probe": by_name(frame["probe_choice"], CHOICES).astype(np.int8),
        "primary_reason": by_name(frame["primary_reason"], REASONS),
        "probe_reason": by_name(frame["probe_reason"], REASONS),
        "probe_swapped": (kind == KINDS.index("order_swap")).astype(np.int8),
    }


def measure(columns: dict[str, np.ndarray[Any, Any]]) -> tuple[Any, ...]:
    reasons = {name: columns[name] for name in ("primary_reason", "probe_reason")}
    compared = compare_arrays(
        columns["primary"], columns["probe"], probe_swapped=columns["probe_swapped"], **reasons
    )
    n_cells = len(BUILDS) * len(KINDS)
    cells = agreement_arrays(columns["cell"], n_cells, compared, **reasons)
    flags = stability_flags_arrays(
        columns["pair"], int(columns["pair"][-1]) + 1, columns["kind"], compared.match
    )
    return *cells, observation_weight(*flags)


@pytest.mark.benchmark(group=GROUP)
def test_fastgate(benchmark: Any, probes: Path) -> None:
    columns = coded(probes)
    agreed = (
        pl.scan_parquet(probes)
        .with_columns(pl.col("build", "kind", "primary_choice", "probe_choice").cast(pl.String))
        .filter(pl.col("kind") == "template", ~pl.col("primary_choice").eq("abstain"))
        .group_by("build", maintain_order=True)
        .agg((pl.col("primary_choice") == pl.col("probe_choice")).sum().alias("agree"), pl.len().alias("n"))
        .with_columns(pl.col("agree") / pl.col("n"))
        .collect()
    )
    template = {**columns, "primary": np.where(columns["primary"] == 3, np.int8(-1), columns["primary"])}
    shares = measure(template)[0][KINDS.index("template") :: len(KINDS)]
    assert np.allclose(shares, agreed["agree"].to_numpy(), rtol=1e-12, atol=0)
    benchmark.pedantic(measure, (columns,), rounds=15, warmup_rounds=1)


@pytest.mark.benchmark(group=GROUP)
def test_polars_reading_the_file_alone(benchmark: Any, probes: Path) -> None:
    benchmark.pedantic(pl.read_parquet, (probes,), rounds=15, warmup_rounds=1)
