"""Student's t on one thread beside scipy.special: two-sided p, one-sided p, quantiles, quantiles of one level."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import special

from fastgate.stats.distributions import student_t_ppf, student_t_sf, student_t_two_sided

N = 200_000
Floats = np.ndarray[Any, np.dtype[np.float64]]


class Workload(NamedTuple):
    """Statistics, degrees of freedom, and lower tails for the quantiles."""

    t: Floats
    df: Floats
    p: Floats


def workload(df_low: float, df_high: float, t_high: float) -> Workload:
    generator = np.random.default_rng(1)
    return Workload(
        generator.uniform(0.0, t_high, N) * generator.choice([-1.0, 1.0], N),
        generator.uniform(df_low, df_high, N),
        generator.uniform(0.0, 1.0, N),
    )


WORKLOADS = {
    "Welch: df 5-400, t within ±10": workload(5.0, 400.0, 10.0),
    "small samples: df 5-20, t within ±5": workload(5.0, 20.0, 5.0),
    "large samples: df 400-40 000, t within ±5": workload(400.0, 40_000.0, 5.0),
    "far tails: df 2-40, t 5-50": workload(2.0, 40.0, 45.0)._replace(
        t=5.0 + np.random.default_rng(2).uniform(0.0, 45.0, N)
    ),
}


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTGATE_NUM_THREADS", "1")


def timed(benchmark: Any, group: str, side: str, function: Any, *arguments: Any) -> Any:
    benchmark.group = f"{group}, one thread"
    benchmark.extra_info |= {"cells": N, "side": side}
    return benchmark.pedantic(function, arguments, rounds=7, warmup_rounds=1)


def scipy_two_sided(t: Floats, df: Floats) -> Floats:
    return 2.0 * special.stdtr(df, -np.abs(t))


@pytest.mark.parametrize("name", WORKLOADS)
def test_two_sided(name: str, benchmark: Any) -> None:
    t, df, _ = WORKLOADS[name]
    np.testing.assert_allclose(student_t_two_sided(t, df), scipy_two_sided(t, df), rtol=1e-11)
    timed(benchmark, f"two-sided p, {name}", "fastgate", student_t_two_sided, t, df)


@pytest.mark.parametrize("name", WORKLOADS)
def test_two_sided_scipy(name: str, benchmark: Any) -> None:
    t, df, _ = WORKLOADS[name]
    timed(benchmark, f"two-sided p, {name}", "scipy.special.stdtr", scipy_two_sided, t, df)


def test_upper_tail(benchmark: Any) -> None:
    t, df, _ = WORKLOADS["Welch: df 5-400, t within ±10"]
    np.testing.assert_allclose(student_t_sf(t, df), special.stdtr(df, -t), rtol=1e-11)
    timed(benchmark, "one-sided p, df 5-400", "fastgate", student_t_sf, t, df)


def test_upper_tail_scipy(benchmark: Any) -> None:
    t, df, _ = WORKLOADS["Welch: df 5-400, t within ±10"]
    timed(benchmark, "one-sided p, df 5-400", "scipy.special.stdtr", special.stdtr, df, -t)


@pytest.mark.parametrize("name", WORKLOADS)
def test_quantile(name: str, benchmark: Any) -> None:
    _, df, p = WORKLOADS[name]
    np.testing.assert_allclose(student_t_ppf(p, df), special.stdtrit(df, p), rtol=1e-9, atol=1e-12)
    timed(benchmark, f"quantile, any p, {name}", "fastgate", student_t_ppf, p, df)


@pytest.mark.parametrize("name", WORKLOADS)
def test_quantile_scipy(name: str, benchmark: Any) -> None:
    _, df, p = WORKLOADS[name]
    timed(benchmark, f"quantile, any p, {name}", "scipy.special.stdtrit", special.stdtrit, df, p)


def one_level(q: float, df: Floats) -> Floats:
    from fastgate.kernels.student_t import N_SERIES, student_t_isf_along, student_t_isf_series

    series, out = np.empty(N_SERIES), np.empty(df.size)
    student_t_isf_series(q, series)
    student_t_isf_along(0, df.size, q, series, df, out)
    return out


def test_quantile_of_one_level(benchmark: Any) -> None:
    df = WORKLOADS["Welch: df 5-400, t within ±10"].df
    np.testing.assert_allclose(one_level(0.025, df), special.stdtrit(df, 0.975), rtol=1e-10)
    timed(benchmark, "quantile, p = 0.975, df 5-400", "fastgate", one_level, 0.025, df)


def test_quantile_of_one_level_scipy(benchmark: Any) -> None:
    df = WORKLOADS["Welch: df 5-400, t within ±10"].df
    timed(benchmark, "quantile, p = 0.975, df 5-400", "scipy.special.stdtrit", special.stdtrit, df, 0.975)
