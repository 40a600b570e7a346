"""Credible intervals of many posteriors of 4 000 draws, beside numpy, Polars and ArviZ.

20 000 posteriors with FASTGATE_BENCH=full, else 2 000.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from benchmarks.workloads import FULL
from fastgate.stats.draws import credible_interval_arrays
from fastgate.stats.posterior import beta_width_arrays

POSTERIORS = 20_000 if FULL else 2_000
DRAWS = 4_000
MASS = 0.95
TAILS = ((1 - MASS) / 2, (1 + MASS) / 2)


@pytest.fixture(scope="module")
def draws() -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(42)
    return rng.normal(
        rng.normal(size=(POSTERIORS, 1)), rng.uniform(0.1, 2, (POSTERIORS, 1)), (POSTERIORS, DRAWS)
    )


def measure(draws: np.ndarray[Any, Any], kind: str) -> tuple[Any, ...]:
    offsets = np.arange(draws.shape[0] + 1, dtype=np.int64) * draws.shape[1]
    return credible_interval_arrays(draws.reshape(-1), offsets, mass=MASS, kind=kind)


def polars_quantiles(frame: pl.DataFrame) -> pl.DataFrame:
    """The quickest of list.agg, list.sort, group_by over long rows and one column a posterior."""
    quantiles = [pl.element().quantile(q, interpolation="linear") for q in TAILS]
    return frame.select(
        low=pl.col("draws").list.agg(quantiles[0]), high=pl.col("draws").list.agg(quantiles[1])
    )


CENTRAL = pytest.mark.benchmark(group=f"central width of {POSTERIORS:,} posteriors of {DRAWS:,} draws")
SHORTEST = pytest.mark.benchmark(group=f"HDI of {POSTERIORS:,} posteriors of {DRAWS:,} draws")
BETA = pytest.mark.benchmark(group="width of 100,000 beta posteriors")


@CENTRAL
def test_central_fastgate(benchmark: Any, draws: np.ndarray[Any, Any]) -> None:
    low, high, width, status = measure(draws, "central")
    expected = np.quantile(draws[:50], TAILS, axis=1)
    assert not status.any()
    assert np.allclose(low[:50], expected[0], rtol=1e-12, atol=1e-12)
    assert np.allclose(high[:50], expected[1], rtol=1e-12, atol=1e-12)
    assert np.allclose(width, high - low, rtol=1e-12, atol=1e-12)
    benchmark(measure, draws, "central")


@CENTRAL
def test_central_numpy(benchmark: Any, draws: np.ndarray[Any, Any]) -> None:
    benchmark.extra_info["side"] = "numpy quantile"
    benchmark(np.quantile, draws, TAILS, axis=1)


@CENTRAL
def test_central_polars(benchmark: Any, draws: np.ndarray[Any, Any]) -> None:
    benchmark.extra_info["side"] = "Polars list quantiles"
    frame = pl.DataFrame({"draws": pl.Series(draws).cast(pl.List(pl.Float64))})
    found = polars_quantiles(frame)
    low, high, _, _ = measure(draws, "central")
    assert np.allclose(found["low"], low, rtol=1e-12, atol=1e-12)
    assert np.allclose(found["high"], high, rtol=1e-12, atol=1e-12)
    benchmark(polars_quantiles, frame)


@SHORTEST
def test_hdi_fastgate(benchmark: Any, draws: np.ndarray[Any, Any]) -> None:
    ordered = np.sort(draws[:50], axis=1)
    inside = round(MASS * DRAWS)
    spans = ordered[:, inside - 1 :] - ordered[:, : DRAWS - inside + 1]
    assert np.array_equal(measure(draws[:50], "hdi")[2], spans.min(axis=1))
    benchmark(measure, draws, "hdi")


@SHORTEST
def test_hdi_arviz(benchmark: Any, draws: np.ndarray[Any, Any]) -> None:
    benchmark.extra_info["side"] = "arviz-stats hdi"
    base = pytest.importorskip("arviz_stats.base")
    found = base.array_stats.hdi(draws[:50], MASS, axis=1)
    # ArviZ counts one draw more, so the two agree at masses one draw apart.
    offsets = np.arange(51, dtype=np.int64) * DRAWS
    inside = (np.floor(MASS * DRAWS) + 1) / DRAWS
    low, high, _, _ = credible_interval_arrays(draws[:50].reshape(-1), offsets, mass=inside, kind="hdi")
    assert np.array_equal(found, np.column_stack([low, high]))
    benchmark(base.array_stats.hdi, draws, MASS, axis=1)


@BETA
def test_beta_fastgate(benchmark: Any) -> None:
    shapes = np.random.default_rng(0).uniform(1, 300, (2, 100_000))
    benchmark(beta_width_arrays, shapes[0], shapes[1])


@BETA
def test_beta_scipy(benchmark: Any) -> None:
    benchmark.extra_info["side"] = "scipy.special.betaincinv"
    special = pytest.importorskip("scipy.special")
    shapes = np.random.default_rng(0).uniform(1, 300, (2, 100_000))
    found = special.betaincinv(*shapes, np.array(TAILS)[:, None])
    assert np.allclose(found[1] - found[0], beta_width_arrays(*shapes)[4], rtol=1e-9, atol=0)
    benchmark(lambda: special.betaincinv(*shapes, np.array(TAILS)[:, None]))
