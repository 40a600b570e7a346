"""Binomial intervals: ends, extremes, status, shapes, arguments, and independence of cells and threads."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import special

from fastgate.errors import ArgumentError
from fastgate.stats.binomial import (
    BINOMIAL_METHODS,
    binomial_half_width,
    binomial_half_width_at,
    binomial_interval,
    binomial_interval_arrays,
)

METHODS = tuple(BINOMIAL_METHODS)
BOUNDED = ("wilson", "clopper-pearson", "jeffreys", "mid-p")


@pytest.mark.parametrize("method", BOUNDED)
@pytest.mark.parametrize("trials", [1, 2, 7, 240, 10**6, 10**9])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999999, 1.0 - 1e-12])
def test_ends_are_exact(method: str, trials: int, level: float) -> None:
    none = binomial_interval(0, trials, confidence_level=level, method=method)
    every = binomial_interval(trials, trials, confidence_level=level, method=method)
    assert (none.estimate, none.ci_low, every.estimate, every.ci_high) == (0.0, 0.0, 1.0, 1.0)
    assert none.status == every.status == "ok"
    assert 0.0 < none.ci_high <= 1.0
    assert none.half_width == every.half_width == pytest.approx(0.5 * none.ci_high, rel=1e-15)
    assert every.ci_low == pytest.approx(1.0 - none.ci_high, abs=4e-16)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999999])
def test_closed_forms_of_the_ends(level: float) -> None:
    trials = np.array([1, 3, 240, 10**4, 10**9])
    outside = 1.0 - level
    exact = binomial_interval(0, trials, confidence_level=level, method="clopper-pearson")
    np.testing.assert_allclose(exact.ci_high, -np.expm1(np.log(0.5 * outside) / trials), rtol=1e-15)
    half = binomial_interval(0, trials, confidence_level=level, method="mid-p")
    np.testing.assert_allclose(half.ci_high, -np.expm1(np.log(outside) / trials), rtol=1e-15)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.95, 0.999999, 1.0 - 1e-12])
@pytest.mark.parametrize("trials", [1, 2, 5, 17, 240, 1000])
def test_limits_hold_the_tails_they_are_defined_by(trials: int, level: float) -> None:
    successes = np.arange(1, trials + 1)
    lower = {
        method: np.asarray(binomial_interval(successes, trials, confidence_level=level, method=method).ci_low)
        for method in BOUNDED
    }
    at_least = special.betainc(successes, trials - successes + 1, lower["clopper-pearson"])
    np.testing.assert_allclose(at_least, 0.5 * (1.0 - level), rtol=1e-10)
    x = lower["mid-p"]
    inner = successes < trials
    more = np.where(inner, special.betainc(successes + 1, np.where(inner, trials - successes, 1), x), 0.0)
    mean = 0.5 * (special.betainc(successes, trials - successes + 1, x) + more)
    np.testing.assert_allclose(mean, 0.5 * (1.0 - level), rtol=1e-10)
    mass = special.betainc(successes + 0.5, trials - successes + 0.5, lower["jeffreys"])
    np.testing.assert_allclose(mass, 0.5 * (1.0 - level), rtol=1e-10)
    x = lower["wilson"]
    z = -special.ndtri(0.5 * (1.0 - level))
    np.testing.assert_allclose(
        successes - trials * x, z * np.sqrt(trials * x * (1.0 - x)), rtol=1e-9, atol=1e-12 * trials
    )


def test_half_width_outlives_the_digits_of_the_limits() -> None:
    # At 10¹⁵ trials the limits agree in eight digits; half their computed distance has eight left, this all.
    trials = 10**15
    successes = trials // 2
    z = 1.959963984540054
    for method in METHODS:
        result = binomial_interval(successes, trials, method=method)
        assert result.half_width == pytest.approx(0.5 * z / math.sqrt(trials), rel=1e-14)


def test_without_trials() -> None:
    for method in METHODS:
        result = binomial_interval([0, 1], [0, 2], method=method)
        assert list(result.status) == ["too_few", "ok"]
        for field in (result.estimate, result.ci_low, result.ci_high, result.half_width):
            assert np.isnan(np.asarray(field)).tolist() == [True, False]
        assert math.isnan(float(binomial_half_width_at(0.5, 0, method=method)))


def test_wald_without_a_width_is_degenerate() -> None:
    result = binomial_interval([0, 5, 10], 10, method="wald")
    assert list(result.status) == ["degenerate", "ok", "degenerate"]
    assert np.asarray(result.half_width)[[0, 2]].tolist() == [0.0, 0.0]


def test_wald_and_agresti_coull_are_not_clipped() -> None:
    for method in ("wald", "agresti-coull"):
        assert float(binomial_interval(1, 20, method=method).ci_low) < 0.0
        assert float(binomial_interval(19, 20, method=method).ci_high) > 1.0


def test_the_example_of_240_cases() -> None:
    # A rate of 91.7 % as given, and the 220 of 240 it stands for.
    assert binomial_half_width_at(0.917, 240, method="wald") == pytest.approx(0.0349, abs=5e-5)
    wanted = {
        "wilson": 0.0353,
        "agresti-coull": 0.0359,
        "clopper-pearson": 0.0371,
        "jeffreys": 0.0350,
        "mid-p": 0.0352,
    }
    for method, half in wanted.items():
        assert binomial_half_width(220, 240, method=method) == pytest.approx(half, abs=5e-5)


@pytest.mark.parametrize("method", METHODS)
def test_a_rate_between_counts_lies_between_their_half_widths(method: str) -> None:
    rates = np.linspace(0.5, 0.99, 401)
    half = np.asarray(binomial_half_width_at(rates, 240, method=method))
    assert (np.diff(half) < 0.0).all()
    # Smooth: second differences shrink with the square of the step; a jump at a count would stay.
    fine, coarse = (np.abs(np.diff(half[::step], 2)).max() for step in (1, 2))
    assert fine < 0.3 * coarse
    mirrored = binomial_half_width_at(1.0 - rates, 240, method=method)
    np.testing.assert_allclose(half, mirrored, rtol=1e-12)


def test_a_rate_that_is_missing_has_no_half_width() -> None:
    assert np.isnan(np.asarray(binomial_half_width_at([0.5, np.nan], 10))).tolist() == [False, True]


def test_scalars_arrays_and_broadcasting() -> None:
    one = binomial_interval(3, 10)
    assert all(type(value) is float for value in one[:4])
    assert one.status == "ok"
    assert type(binomial_half_width_at(0.3, 10)) is float
    grid = binomial_interval(np.arange(6).reshape(2, 3, 1), np.array([10, 20], np.uint16))
    assert np.shape(grid.ci_low) == np.shape(grid.status) == (2, 3, 2)
    assert np.asarray(grid.ci_low)[1, 0, 0] == one.ci_low
    empty = binomial_interval([], [])
    assert np.shape(empty.half_width) == np.shape(empty.status) == (0,)
    assert binomial_interval(np.float64(3.0), 10.0) == one


def test_columns_of_polars_are_taken() -> None:
    polars = pytest.importorskip("polars")
    column = polars.Series([3, 4], dtype=polars.UInt32)
    assert np.array_equal(binomial_interval(column, 10).ci_low, binomial_interval([3, 4], 10).ci_low)


@pytest.mark.parametrize("method", METHODS)
def test_a_cell_depends_on_nothing_but_itself(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(3)
    trials = generator.integers(1, 2000, 20_000)
    successes = generator.binomial(trials, generator.random(trials.size))
    arguments = (BINOMIAL_METHODS[method],)
    monkeypatch.setenv("FASTGATE_NUM_THREADS", "1")
    one = binomial_interval_arrays(successes, trials, 0.95, *arguments)
    monkeypatch.setenv("FASTGATE_NUM_THREADS", "3")
    three = binomial_interval_arrays(successes, trials, 0.95, *arguments)
    order = generator.permutation(trials.size)
    shuffled = binomial_interval_arrays(successes[order], trials[order], 0.95, *arguments)
    for first, second, third in zip(one, three, shuffled, strict=True):
        np.testing.assert_array_equal(first, second)
        np.testing.assert_array_equal(first[order], third)


@pytest.mark.parametrize(
    ("successes", "trials", "message"),
    [
        (-1, 5, "successes -1, trials 5"),
        (6, 5, "successes 6, trials 5"),
        ([1, 9, 2], 5, "element 1"),
        (3, -3, "trials -3"),
        (1.5, 5, "received: 1.5"),
        (math.nan, 5, "received: nan"),
        (math.inf, 5, "received: inf"),
        (True, 5, "booleans"),
        ([True, False], [5, 5], "passed.sum()"),
        ("3", 5, "dtype"),
        ([1, None], 5, "missing"),
        ([1, 2, 3], [4, 5], "broadcast"),
        ([[1], [2, 3]], 5, "no array"),
        (1, 2**60, "2^53"),
    ],
)
def test_counts_that_are_none(successes: Any, trials: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        binomial_interval(successes, trials)
    assert message in str(caught.value)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 95, math.nan, "0.95", None])
def test_levels_that_are_none(level: Any) -> None:
    with pytest.raises(ArgumentError, match="confidence_level"):
        binomial_interval(1, 2, confidence_level=level)


def test_an_unknown_method_lists_the_known_ones() -> None:
    with pytest.raises(ArgumentError) as caught:
        binomial_interval(1, 2, method="Wilson")
    assert all(repr(method) in str(caught.value) for method in METHODS)


@pytest.mark.parametrize("rate", [-0.1, 1.1, 91.7, "high"])
def test_rates_that_are_none(rate: Any) -> None:
    with pytest.raises(ArgumentError, match="rate"):
        binomial_half_width_at(rate, 240)


def test_too_many_trials_for_a_rate() -> None:
    with pytest.raises(ArgumentError, match="out of range"):
        binomial_half_width_at(0.5, 2**60)
