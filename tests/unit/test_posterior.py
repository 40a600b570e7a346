"""Credible intervals of draws, normal and beta posteriors, and their mean widths."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

from fastgate.cells import Cells
from fastgate.errors import ArgumentError
from fastgate.kernels import tails
from fastgate.stats.draws import credible_interval_arrays
from fastgate.stats.posterior import (
    beta_width,
    credible_interval,
    mean_width,
    normal_width,
)

SHAPES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "ascending": lambda rng, n: np.sort(rng.normal(size=n)),
    "descending": lambda rng, n: np.sort(rng.normal(size=n))[::-1].copy(),
    "five values": lambda rng, n: rng.integers(0, 5, n).astype(float),
    "mostly one value": lambda rng, n: np.where(rng.random(n) < 0.9, 0.25, rng.normal(size=n)),
    "heavy tails": lambda rng, n: rng.standard_cauchy(n),
    "sawtooth": lambda rng, n: np.arange(n) % 7 + rng.random(n) / 100,
    "far from zero": lambda rng, n: 1e12 + rng.normal(size=n),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [2, 3, 24, 25, 191, 192, 193, 255, 256, 257, 1_000, 4_001])
def test_intervals_equal_those_of_sorted_draws(shape: str, n: int) -> None:
    rng = np.random.default_rng(n)
    draws = np.array([SHAPES[shape](rng, n) for _ in range(8)])
    ordered = np.sort(draws, axis=1)
    # numpy rounds the position q (n − 1); times the gap between two draws that is the larger error.
    tolerance = 1e-15 * (n + 10) * np.abs(draws).max()
    for mass in (0.02, 0.5, 0.8, 0.95, 0.999):
        central = credible_interval(draws, mass=mass)
        low, high = np.quantile(draws, [(1 - mass) / 2, (1 + mass) / 2], axis=1)
        assert np.abs(central.ci_low - low).max() <= tolerance
        assert np.abs(central.ci_high - high).max() <= tolerance
        shortest = credible_interval(draws, mass=mass, kind="hdi")
        k = min(max(math.ceil(mass * n - 1e-9), 1), n)
        spans = ordered[:, k - 1 :] - ordered[:, : n - k + 1]
        first = spans.argmin(axis=1)
        rows = np.arange(8)
        assert np.array_equal(shortest.ci_low, ordered[rows, first])
        assert np.array_equal(shortest.ci_high, ordered[rows, first + k - 1])
        assert np.array_equal(shortest.width, spans[rows, first])


@pytest.mark.parametrize("n", [1, 2, 3, 17, 100, 1_001])
def test_heap_sort_which_bounds_the_worst_case(n: int) -> None:
    rng = np.random.default_rng(n)
    for values in (rng.normal(size=n), rng.integers(0, 3, n).astype(float), np.arange(n)[::-1].astype(float)):
        expected = np.sort(values)
        tails._heap_sort(values)
        assert np.array_equal(values, expected)


def killer(n: int) -> np.ndarray:
    """Values of which each pivot is next to the smallest of its part: partitions alone would be quadratic."""
    values = np.full(n, np.inf)
    part = list(range(n))
    for rank in range(0, 2 * n, 2):
        m = len(part)
        sampled = [part[m // 4], part[m // 2], part[3 * m // 4]]
        for place, value in zip(
            [x for x in sampled if np.isinf(values[x])][:2], (rank, rank + 1), strict=False
        ):
            values[place] = value
        pivot = sorted(values[sampled])[1]
        part = [x for x in part if values[x] >= pivot]
        if m <= 30:
            break
    values[np.isinf(values)] = 10 * n - np.arange(np.isinf(values).sum())
    return values


def test_ordering_survives_an_adversary_of_its_pivot(monkeypatch: pytest.MonkeyPatch) -> None:
    values = killer(120)
    expected = np.sort(values)
    compiled, interpreted = values.copy(), values.copy()
    scratch, todo = np.empty(120), np.empty(tails.TODO, np.int64)
    tails.order(compiled, 0, 119, 0, 119, scratch, todo)
    assert np.array_equal(compiled, expected)
    heaped = []

    def heap_sort(part: np.ndarray) -> None:
        heaped.append(part.size)
        part.sort()

    monkeypatch.setattr(tails, "_heap_sort", heap_sort)
    getattr(tails.order, "py_func", tails.order)(interpreted, 0, 119, 0, 119, scratch, todo)
    assert np.array_equal(interpreted, expected)
    assert heaped


@pytest.mark.parametrize("kind", ["central", "hdi"])
@pytest.mark.parametrize("n", [3, 200, 300, 5_000])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_bad_draw_undoes_its_own_posterior_only(kind: str, n: int, bad: float) -> None:
    draws = np.random.default_rng(0).normal(size=(5, n))
    clean = credible_interval(draws, kind=kind)
    for place in (0, n // 2, n - 1):
        spoilt = draws.copy()
        spoilt[2, place] = bad
        result = credible_interval(spoilt, kind=kind)
        assert result.status.tolist() == ["ok", "ok", "nonfinite", "ok", "ok"]
        assert np.isnan([result.ci_low[2], result.ci_high[2], result.width[2]]).all()
        others = [0, 1, 3, 4]
        assert np.array_equal(result.ci_low[others], clean.ci_low[others])
        assert np.array_equal(result.width[others], clean.width[others])


@pytest.mark.parametrize("kind", ["central", "hdi"])
def test_posteriors_without_information_are_never_ok(kind: str) -> None:
    result = credible_interval([[], [2.5], [0.3] * 400, [-1.7e308, 1.7e308, 0.0]], kind=kind)
    assert result.status.tolist() == ["too_few", "too_few", "degenerate", "nonfinite"]
    assert np.isnan(result.width[[0, 3]]).all()
    assert result.width[[1, 2]].tolist() == [0.0, 0.0]
    assert result.ci_low[[1, 2]].tolist() == [2.5, 0.3]
    assert result.n.tolist() == [0, 1, 400, 3]


def test_inputs_of_every_kind_give_the_same_interval() -> None:
    draws = [[0.1, 0.4, 0.2, 0.8], [0.5, 0.6]]
    expected = credible_interval(draws)
    flat = np.array([9.9, *draws[0], *draws[1], 9.9])
    flat.flags.writeable = False
    for same in (
        Cells.from_samples(draws),
        Cells(flat, np.array([1, 5, 7])),
        pl.Series(draws),
        pa.array(draws),
    ):
        assert credible_interval(same).width.tolist() == expected.width.tolist()
        assert credible_interval(same, kind="hdi").ci_low.tolist() == [0.1, 0.5]
    single = credible_interval(draws[0])
    assert isinstance(single.width, float)
    assert single.status == "ok"


@pytest.mark.parametrize("kind", ["central", "hdi"])
def test_same_bits_on_any_number_of_threads(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    sizes = rng.integers(0, 3_000, 400)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    values = rng.normal(size=offsets[-1])
    values.flags.writeable = False
    results = []
    for threads in ("1", "4"):
        monkeypatch.setenv("FASTGATE_NUM_THREADS", threads)
        results.append(credible_interval_arrays(values, offsets, kind=kind))
    for one, other in zip(*results, strict=True):
        assert np.array_equal(one, other, equal_nan=True)
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(credible_interval_arrays, values, offsets, kind=kind) for _ in range(4)]
        assert all(np.array_equal(job.result()[2], results[0][2], equal_nan=True) for job in jobs)


@pytest.mark.parametrize(
    "options",
    [{"mass": 0.0}, {"mass": 1.0}, {"mass": math.nan}, {"mass": "0.9"}, {"mass": 95}, {"kind": "hpd"}],
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match="expected"):
        credible_interval([0.1, 0.2], **options)


def test_draws_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ArgumentError):
        credible_interval(["a", "b"])
    with pytest.raises(ArgumentError):
        credible_interval(np.zeros((2, 2, 2)))


def test_normal_width_against_scipy_and_its_statuses() -> None:
    sd = np.array([1e-9, 0.05, 1.0, 40.0])
    for mass in (0.5, 0.9, 0.95, 1 - 1e-12):
        result = normal_width(sd, mass, mean=[0.0, 1.0, -2.0, 3.0])
        z = stats.norm.isf((1 - mass) / 2)
        assert np.allclose(result.width, 2 * z * sd, rtol=1e-13, atol=0)
        assert np.allclose(result.ci_low, np.array([0.0, 1.0, -2.0, 3.0]) - z * sd, rtol=1e-13, atol=0)
    result = normal_width([1.0, 0.0, -1.0, np.nan, np.inf, 1e308])
    assert result.status.tolist() == ["ok", "degenerate", "invalid", "nonfinite", "nonfinite", "nonfinite"]
    assert np.isnan(result.width[2:]).all()
    assert normal_width(1.0, mean=np.nan).status == "nonfinite"
    assert normal_width([], 0.9).width.size == 0


def test_beta_width_against_scipy_and_its_statuses() -> None:
    rng = np.random.default_rng(3)
    alpha, beta = rng.uniform(0.5, 200, (2, 50))
    result = beta_width(alpha, beta, 0.9)
    assert np.allclose(result.ci_low, stats.beta.ppf(0.05, alpha, beta), rtol=1e-10, atol=0)
    assert np.allclose(result.ci_high, stats.beta.ppf(0.95, alpha, beta), rtol=1e-10, atol=0)
    assert np.allclose(result.width, result.ci_high - result.ci_low, rtol=1e-10, atol=0)
    mirrored = beta_width(beta, alpha, 0.9)
    assert np.array_equal(mirrored.one_minus_high, result.ci_low)
    assert np.array_equal(mirrored.width, result.width)
    odd = beta_width([0.0, -1.0, np.nan, np.inf, 2.0, 2.0], [1.0, 1.0, 1.0, 1.0, 0.0, 3.0])
    assert odd.status.tolist() == ["invalid", "invalid", "nonfinite", "nonfinite", "invalid", "ok"]
    assert np.isnan(odd.width[:5]).all()


@pytest.mark.parametrize("call", [normal_width, lambda x, mass=0.95: beta_width(x, 2.0, mass)])
def test_parameters_are_checked(call: Any) -> None:
    for mass in (0.0, 1.0, -0.5, math.nan):
        with pytest.raises(ArgumentError):
            call([0.1], mass)
    with pytest.raises(ArgumentError):
        call(["wide"])
    with pytest.raises(ArgumentError):
        call([[0.1], [0.2]])
    assert call(0.5).status == "ok"


def test_lengths_of_parameters_have_to_match() -> None:
    with pytest.raises(ArgumentError):
        normal_width([0.1, 0.2], mean=[0.0, 1.0, 2.0])
    with pytest.raises(ArgumentError):
        beta_width([1.0, 2.0], [1.0])
    assert beta_width([1.0, 2.0], 3.0).width.size == 2
    assert beta_width([], 3.0).width.size == 0


def test_mean_width_per_group_in_any_order() -> None:
    width = np.array([0.1, 0.4, 0.2, 0.6, 0.3])
    status = np.array(["ok", "ok", "ok", "degenerate", "too_few"], object)
    result = mean_width(width, status, [2, 0, 2, 0, 3], n_groups=5)
    assert result.width[[0, 2, 3]].tolist() == pytest.approx([0.5, 0.15, 0.3])
    assert np.isnan(result.width[[1, 4]]).all()
    assert result.n.tolist() == [2, 0, 2, 1, 0]
    assert result.status.tolist() == ["degenerate", "too_few", "ok", "too_few", "too_few"]


def test_mean_width_takes_the_first_status_that_is_not_ok() -> None:
    assert mean_width([0.1, 0.2, 0.3], ["ok", "nonfinite", "degenerate"]).status == "nonfinite"
    assert mean_width([0.1, math.nan], ["ok", "ok"]).status == "nonfinite"
    assert mean_width([0.1, 0.3], np.array([0, 0], np.int8)).width == pytest.approx(0.2)
    assert mean_width([], []).status == "too_few"


@pytest.mark.parametrize(
    ("width", "status", "group"),
    [([0.1], ["fine"], None), ([0.1], ["ok", "ok"], None), ([0.1], ["ok"], [0, 1]), ([0.1], ["ok"], [-1])],
)
def test_mean_width_checks_what_it_gets(width: Any, status: Any, group: Any) -> None:
    with pytest.raises(ArgumentError):
        mean_width(width, status, group)
