"""Studies of the bootstrap that take minutes: the saddlepoint's error against exact laws, and coverage."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.stats

from fastgate.stats.bootstrap_interval import bootstrap

pytestmark = pytest.mark.slow

Array = np.ndarray[Any, np.dtype[np.float64]]
Z = scipy.stats.norm.isf(0.025)
STEPS = 4096
# Medians over 40 samples (20 at n = 500) of the limits' error in percent of the interval's width: an independent
# computation's, of samples of the same shapes, in the order of `shapes`.
MEDIANS = {
    ("percentile", 20): (0.006, 0.02, 0.03, 0.42, 1.1),
    ("percentile", 50): (0.001, 0.007, 0.02, 0.006, 0.06),
    ("percentile", 100): (0.001, 0.003, 0.02, 0.001, 0.01),
    ("percentile", 500): (0.001, 0.001, 0.009, 0.001, 0.002),
    ("bca", 20): (0.008, 0.03, 0.1, 0.3, 0.9),
    ("bca", 100): (0.003, 0.004, 0.04, 0.001, 0.01),
}
# The largest error there within the engine's rule, by the smallest n. A maximum of 40 samples with a few large errors
# differs by up to twice from one set of samples to the next.
LARGEST = {
    "percentile": {20: 1.5, 50: 0.74, 100: 0.23, 500: 0.23},
    "bca": {20: 2.1, 50: 1.3, 100: 0.17, 500: 0.17},
}


def shapes(rng: np.random.Generator, n: int) -> Iterator[tuple[str, Array]]:
    yield "normal", rng.normal(size=n)
    yield "exponential", rng.exponential(size=n)
    yield "t2", rng.standard_t(2, size=n)
    yield "bimodal", np.where(rng.random(n) < 0.5, -3.0, 3.0) + 0.5 * rng.normal(size=n)
    zeros = np.where(rng.random(n) < 0.8, 0.0, rng.exponential(size=n))
    zeros[0] = 1.25
    yield "zeros", zeros


def on_grid(values: Array) -> tuple[Array, np.ndarray[Any, np.dtype[np.int64]], float]:
    """The values moved to 4 096 steps between the least and the greatest, so that their law can be convolved."""
    step = (values.max() - values.min()) / STEPS
    places = np.rint((values - values.min()) / step).astype(np.int64)
    return values.min() + places * step, places, step


def sum_law(places: np.ndarray[Any, np.dtype[np.int64]]) -> Array:
    """Cumulative law of the sum of n draws, by numpy's FFT."""
    n = places.size
    top = n * STEPS + 1
    size = 1 << math.ceil(math.log2(top))
    spectrum = np.fft.rfft(np.bincount(places, minlength=STEPS + 1) / n, size) ** n
    return np.cumsum(np.maximum(np.fft.irfft(spectrum, size)[:top], 0.0))


def exact_limits(
    values: Array, places: np.ndarray[Any, np.dtype[np.int64]], step: float, method: str
) -> Array:
    law, n = sum_law(places), places.size
    levels = np.array([0.025, 0.975])
    if method == "bca":
        total = places.sum()
        z0 = scipy.stats.norm.ppf(0.5 * (law[total - 1] + law[total]))
        d = values - values.mean()
        ends = z0 + np.array([-Z, Z])
        levels = scipy.stats.norm.cdf(z0 + ends / (1.0 - np.sum(d**3) / (6.0 * np.sum(d**2) ** 1.5) * ends))
    return np.asarray(values.min() + step * np.searchsorted(law, levels) / n)


@pytest.mark.parametrize("n", [20, 50, 100, 500])
@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_saddlepoint_is_no_worse_than_the_table(n: int, method: str) -> None:
    rng = np.random.default_rng(5)
    errors: dict[str, list[tuple[float, str]]] = {}
    for _ in range(40 if n < 500 else 20):
        for shape, sample in shapes(rng, n):
            values, places, step = on_grid(sample)
            exact = exact_limits(values, places, step, method)
            found = bootstrap(values, method=method, engine="saddlepoint")
            miss = np.abs([found.ci_low - exact[0], found.ci_high - exact[1]]).max() / np.diff(exact)[0]
            errors.setdefault(shape, []).append((100.0 * miss, str(found.status)))
    within = [error for of_shape in errors.values() for error, status in of_shape if status == "ok"]
    assert max(within) <= 2.0 * LARGEST[method][n]
    assert len(within) >= 0.6 * sum(map(len, errors.values()))
    for median, (shape, of_shape) in zip(MEDIANS.get((method, n), ()), errors.items(), strict=False):
        rooted = [error for error, status in of_shape if status != "no_root"]
        # The grid's own steps are up to 0.001 % of the width. Errors spread over decades (log sd 1.3): a median of 40
        # has a relative standard error of 1.25 · 1.3/√40 = 26 %, here taken twice and a half.
        assert np.median(rooted) <= 1.65 * median + 0.001, shape


@pytest.mark.parametrize("n", [20, 100])
def test_saddlepoint_agrees_with_brute_force(n: int) -> None:
    draws, rng = 2_000_000, np.random.default_rng(6)
    for _ in range(3):
        for shape, values in shapes(rng, n):
            found = bootstrap(values, method="percentile", engine="saddlepoint")
            if found.status != "ok":
                continue
            brute = bootstrap(values, method="percentile", engine="resample", n_resamples=draws)
            # 0.05 % of the width is a limit's simulation error at 2·10⁶ draws; five times that beside r*'s own error.
            allowed = 0.02 * LARGEST["percentile"][n] + 5.0 * 0.0005
            assert abs(found.ci_low - brute.ci_low) <= allowed * 2.0 * brute.half_width, shape
            assert abs(found.ci_high - brute.ci_high) <= allowed * 2.0 * brute.half_width, shape


def test_two_sample_saddlepoint_agrees_with_brute_force() -> None:
    draws, rng = 2_000_000, np.random.default_rng(7)
    for n, m in ((20, 20), (60, 60), (30, 100)):
        pairs = zip(shapes(rng, n), shapes(rng, m), strict=True)
        for (shape, first), (_, second) in pairs:
            found = bootstrap(first, second, method="percentile", engine="saddlepoint")
            if found.status != "ok":
                continue
            brute = bootstrap(first, second, method="percentile", engine="resample", n_resamples=draws)
            allowed = (0.0054 if min(n, m) < 50 else 0.0029) + 5.0 * 0.0005
            assert abs(found.ci_low - brute.ci_low) <= allowed * 2.0 * brute.half_width, shape
            assert abs(found.ci_high - brute.ci_high) <= allowed * 2.0 * brute.half_width, shape


def coverage(values: Array, truth: float, **options: Any) -> float:
    result = bootstrap(values, **options)
    # A constant sample's interval is a point with a status: it covers nothing.
    return float(np.mean((result.status == "ok") & (result.ci_low <= truth) & (truth <= result.ci_high)))


@pytest.mark.parametrize(
    ("shape", "n", "percentile", "bca"),
    [
        ("normal", 5, 0.84, 0.83),
        ("normal", 20, 0.93, 0.93),
        ("exponential", 20, 0.92, 0.93),
        ("zeros", 20, 0.81, 0.86),
    ],
)
def test_coverage_of_a_mean_is_the_published(shape: str, n: int, percentile: float, bca: float) -> None:
    cells, rng = 20_000, np.random.default_rng(8)
    truth = {"normal": 0.0, "exponential": 1.0, "zeros": 0.2}[shape]
    values = {
        "normal": lambda: rng.normal(size=(cells, n)),
        "exponential": lambda: rng.exponential(size=(cells, n)),
        "zeros": lambda: np.where(rng.random((cells, n)) < 0.8, 0.0, rng.exponential(size=(cells, n))),
    }[shape]()
    for method, nominal in (("percentile", percentile), ("bca", bca)):
        found = coverage(values, truth, method=method, n_resamples=1999)
        # Rounding of the published two digits on both sides, and four standard deviations of this simulation.
        assert abs(found - nominal) <= 0.01 + 4.0 * math.sqrt(nominal * (1.0 - nominal) / cells), (
            method,
            found,
        )


@pytest.mark.parametrize(("n", "q"), [(101, 0.5), (41, 0.9), (201, 0.95)])
def test_coverage_of_a_quantile_is_binomial(n: int, q: float) -> None:
    """The limits of a single order statistic are two order statistics, whatever the sample: coverage is exact."""
    cells, rng = 20_000, np.random.default_rng(9)
    rank = round((n - 1) * q) + 1
    law = scipy.stats.binom.sf(rank - 1, n, np.arange(n + 1) / n)
    low, high = np.searchsorted(law, 0.025), np.searchsorted(law, 0.975)
    # x_(low) <= true quantile <= x_(high), true share below it being q.
    expected = scipy.stats.binom.cdf(high - 1, n, q) - scipy.stats.binom.cdf(low - 1, n, q)
    values = rng.exponential(size=(cells, n))
    truth = -math.log1p(-q)
    found = coverage(values, truth, statistic=q, method="percentile")
    assert abs(found - expected) <= 4.0 * math.sqrt(expected * (1.0 - expected) / cells)
    assert expected > 0.85


def test_coverage_of_a_difference_of_quantiles() -> None:
    cells, rng = 4_000, np.random.default_rng(10)
    first, second = rng.exponential(size=(cells, 100)), 1.0 + rng.exponential(size=(cells, 80))
    result = bootstrap(first, second, statistic="p80", method="percentile")
    found = float(np.mean((result.ci_low <= -1.0) & (result.ci_high >= -1.0)))
    # Percentile intervals of quantiles are near nominal at such sizes; 3 % room, and the simulation's 4 deviations.
    assert abs(found - 0.95) <= 0.03 + 4.0 * math.sqrt(0.95 * 0.05 / cells)
    assert set(result.engine) == {"exact"}


def test_resampled_limits_scatter_as_order_statistics_do() -> None:
    """Over seeds, the exact law at a resampled limit has the mean and the variance of a binomial share."""
    values = np.random.default_rng(11).gamma(3.0, size=30)
    grid, places, step = on_grid(values)
    law, draws, seeds = sum_law(places), 1999, 400
    levels = []
    for seed in range(seeds):
        result = bootstrap(grid, method="percentile", engine="resample", n_resamples=draws, seed=seed)
        sums = (np.array([result.ci_low, result.ci_high]) - grid.min()) * grid.size / step
        levels.append(law[np.clip(np.rint(sums).astype(int), 0, law.size - 1)])
    shares = np.array(levels)
    for column, p in ((0, 0.025), (1, 0.975)):
        sd = math.sqrt(p * (1.0 - p) / draws)
        assert abs(shares[:, column].mean() - p) <= 4.0 * sd / math.sqrt(seeds) + 1.0 / draws
        # The sample variance of 400 near-normal values: 4 standard deviations of √(2/399).
        assert abs(shares[:, column].var(ddof=1) / sd**2 - 1.0) <= 4.0 * math.sqrt(2.0 / (seeds - 1)) * 1.3
