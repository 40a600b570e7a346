"""Differences of proportions: status, symmetry, published values, arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from fastgate.errors import ArgumentError
from fastgate.stats.binomial import binomial_interval
from fastgate.stats.proportions import (
    DIFFERENCE_METHODS,
    PAIRED_DIFFERENCE_METHODS,
    paired_proportion_difference,
    paired_proportion_difference_arrays,
    proportion_difference,
    proportion_difference_arrays,
)

# Newcombe (1998), independent proportions, Table II: x1, n1, x2, n2 and the limits of x1/n1 − x2/n2 by method 10.
NEWCOMBE_TABLE = [
    (56, 70, 48, 80, 0.0524, 0.3339),
    (9, 10, 3, 10, 0.1705, 0.8090),
    (6, 7, 2, 7, 0.0582, 0.8062),
    (5, 56, 0, 29, -0.0381, 0.1926),
    (0, 10, 0, 20, -0.1611, 0.2775),
    (10, 10, 0, 20, 0.6791, 1.0000),
]


@pytest.mark.parametrize(("x1", "n1", "x2", "n2", "low", "high"), NEWCOMBE_TABLE)
def test_newcombes_published_table(x1: int, n1: int, x2: int, n2: int, low: float, high: float) -> None:
    result = proportion_difference(x1, n1, x2, n2)
    assert (result.ci_low, result.ci_high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_the_example_of_240_cases() -> None:
    wanted = {"newcombe": (-0.0975, 0.0136), "agresti-caffo": (-0.0964, 0.0137), "wald": (-0.0962, 0.0129)}
    for method, (low, high) in wanted.items():
        result = proportion_difference(210, 240, 220, 240, method=method)
        assert (result.ci_low, result.ci_high) == (
            pytest.approx(low, abs=5e-5),
            pytest.approx(high, abs=5e-5),
        )
        assert result.pvalue == pytest.approx(0.135, abs=5e-4)
        less = proportion_difference(210, 240, 220, 240, method=method, alternative="less")
        assert less.pvalue == pytest.approx(0.068, abs=5e-4)


@pytest.mark.parametrize("method", DIFFERENCE_METHODS)
def test_without_trials_on_a_side(method: str) -> None:
    result = proportion_difference([0, 3, 0], [0, 5, 0], [3, 0, 0], [5, 0, 0], method=method)
    assert list(result.status) == ["too_few"] * 3
    assert all(np.isnan(np.asarray(field)).all() for field in result[:-1])


def test_runs_that_are_constant() -> None:
    for method in ("newcombe", "agresti-caffo"):
        same = proportion_difference(240, 240, 240, 240, method=method)
        assert same.status == "ok"
        assert same.half_width > 0.01
        assert math.isnan(same.statistic)
        assert math.isnan(same.pvalue)
    wald = proportion_difference([240, 240], 240, [240, 0], 240, method="wald")
    assert list(wald.status) == ["degenerate", "degenerate"]
    assert np.asarray(wald.half_width).tolist() == [0.0, 0.0]


def test_a_small_difference_of_large_samples_keeps_its_digits() -> None:
    n = 3_000_000_000
    result = proportion_difference(n // 3 + 1, n, n // 3, n)
    assert result.delta == 1.0 / n
    wider = proportion_difference(n // 3, n, n // 3 - 1, n - 3)
    assert wider.delta == 0.0  # (10⁹ − 1)/(3·10⁹ − 3) is 1/3 too


@pytest.mark.parametrize("method", DIFFERENCE_METHODS)
def test_swapping_the_arms_mirrors_everything(method: str) -> None:
    generator = np.random.default_rng(5)
    nc, nb = generator.integers(1, 500, (2, 1000))
    kc, kb = generator.binomial(nc, 0.9), generator.binomial(nb, 0.8)
    one = proportion_difference(kc, nc, kb, nb, method=method, alternative="less")
    two = proportion_difference(kb, nb, kc, nc, method=method, alternative="greater")
    np.testing.assert_array_equal(one.delta, -np.asarray(two.delta))
    np.testing.assert_array_equal(one.ci_low, -np.asarray(two.ci_high))
    np.testing.assert_array_equal(one.half_width, two.half_width)
    np.testing.assert_array_equal(one.pvalue, two.pvalue)


@pytest.mark.parametrize("n", [1, 10, 54, 240, 10**9])
def test_tango_without_discordant_cases_is_a_wilson_bound(n: int) -> None:
    z = 1.959963984540054
    for both, neither in ((n, 0), (0, n)):
        result = paired_proportion_difference(both, 0, 0, neither)
        assert result.status == "ok"
        assert result.delta == 0.0
        assert result.ci_high == -result.ci_low == pytest.approx(z * z / (n + z * z), rel=1e-14)
        assert result.ci_high == pytest.approx(binomial_interval(0, n).ci_high, rel=1e-14)


def test_tango_when_every_case_flips() -> None:
    up = paired_proportion_difference(0, 0, 10, 0)
    down = paired_proportion_difference(0, 10, 0, 0)
    assert (up.delta, up.ci_high, down.delta, down.ci_low) == (1.0, 1.0, -1.0, -1.0)
    assert up.ci_low == -down.ci_high
    assert 0.4 < up.ci_low < 1.0


def score(delta: float, b: int, c: int, n: int) -> float:
    """Tango's statistic straight from his formula."""
    linear = -b - c + (2 * n - b + c) * delta
    constant = -c * delta * (1.0 - delta)
    q = (math.sqrt(linear * linear - 8 * n * constant) - linear) / (4 * n)
    return (b - c - n * delta) / math.sqrt(n * (2 * q + delta * (1 - delta)))


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999999])
def test_tango_limits_hold_the_score(level: float) -> None:
    z = {0.5: 0.6744897501960817, 0.95: 1.959963984540054, 0.999999: 4.891638475698998}[level]
    generator = np.random.default_rng(11)
    tables = generator.multinomial(generator.integers(1, 400, 300), [0.6, 0.1, 0.05, 0.25])
    result = paired_proportion_difference(*tables.T, confidence_level=level)
    assert set(result.status) == {"ok"}
    for cell, (_, c, b, _) in enumerate(tables.tolist()):
        n = int(tables[cell].sum())
        low, high = float(result.ci_low[cell]), float(result.ci_high[cell])
        assert -1.0 <= low <= float(result.delta[cell]) <= high <= 1.0
        if c < n:
            assert score(low, b, c, n) == pytest.approx(z, rel=1e-8)
        if b < n:
            assert score(high, b, c, n) == pytest.approx(-z, rel=1e-8)


@pytest.mark.parametrize("method", PAIRED_DIFFERENCE_METHODS)
def test_swapping_the_runs_mirrors_the_interval(method: str) -> None:
    generator = np.random.default_rng(7)
    both, regressions, fixes, neither = generator.multinomial(60, [0.6, 0.1, 0.05, 0.25], 1000).T
    one = paired_proportion_difference(both, regressions, fixes, neither, method=method)
    two = paired_proportion_difference(both, fixes, regressions, neither, method=method)
    np.testing.assert_allclose(one.ci_low, -np.asarray(two.ci_high), rtol=1e-15, atol=3e-16)
    np.testing.assert_allclose(one.half_width, two.half_width, rtol=1e-14)


@pytest.mark.parametrize("method", PAIRED_DIFFERENCE_METHODS)
def test_without_pairs(method: str) -> None:
    result = paired_proportion_difference(0, 0, 0, 0, method=method)
    assert (result.status, result.n) == ("too_few", 0)
    assert all(math.isnan(value) for value in result[:4])


def test_agreement_throughout_leaves_walds_interval_without_a_width() -> None:
    assert paired_proportion_difference(10, 0, 0, 10, method="wald").status == "degenerate"
    # Square and add with φ = 1 at rates of one half is no better; the correction of φ is what keeps a width.
    assert paired_proportion_difference(10, 0, 0, 10, method="newcombe-uncorrected").status == "degenerate"
    assert paired_proportion_difference(10, 0, 0, 10, method="newcombe").half_width > 0.05


def test_newcombe_keeps_its_digits_where_the_runs_agree() -> None:
    # φ is 1 − 2e-9 here: from φ itself, six digits of the half-width would be left.
    result = paired_proportion_difference(500_000_000, 1, 0, 499_999_999, method="newcombe-uncorrected")
    assert result.half_width == pytest.approx(1.959963984540054e-9, rel=2e-9)


def test_shapes_and_scalars() -> None:
    one = proportion_difference(3, 10, 4, 10)
    assert all(type(value) is float for value in one[:-1])
    many = proportion_difference(np.arange(4).reshape(2, 2), 10, 4, [10, 20])
    assert np.shape(many.pvalue) == np.shape(many.status) == (2, 2)
    pair = paired_proportion_difference(3, 1, 2, 4)
    assert (type(pair.n), type(pair.delta), pair.status) == (int, float, "ok")
    assert np.shape(paired_proportion_difference([], [], [], []).n) == (0,)


def test_results_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(13)
    tables = np.ascontiguousarray(generator.multinomial(240, [0.8, 0.06, 0.04, 0.1], 20_000).T)
    runs = []
    for threads in ("1", "3"):
        monkeypatch.setenv("FASTGATE_NUM_THREADS", threads)
        paired = paired_proportion_difference_arrays(*tables, 0.95, PAIRED_DIFFERENCE_METHODS["tango"])
        sizes = tables.sum(axis=0)
        independent = proportion_difference_arrays(tables[0], sizes, tables[3], sizes, 0.95, 0)
        runs.append((*paired, *independent))
    for first, second in zip(*runs, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ((11, 10, 5, 10), "successes_candidate 11, trials_candidate 10"),
        ((5, 10, 5, -1), "trials_baseline -1"),
        ((5, 10, [1, 12], 10), "element 1"),
        ((1, 2**32, 1, 2), "3037000499"),
        ((0.5, 1, 1, 1), "received: 0.5"),
        ((True, 1, 1, 1), "booleans"),
        (([1, 2], [3, 3, 3], 1, 1), "broadcast"),
    ],
)
def test_counts_that_are_none(counts: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        proportion_difference(*counts)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "counts", [(-1, 2, 3, 4), (1, 2, 3, -4), (2**31, 2**31, 2**31, 2**31), (2**62, 2**62, 2**62, 2**62)]
)
def test_tables_that_are_none(counts: tuple[int, ...]) -> None:
    with pytest.raises(ArgumentError, match="table"):
        paired_proportion_difference(*counts)


def test_names_that_are_none() -> None:
    with pytest.raises(ArgumentError, match="method"):
        proportion_difference(1, 2, 1, 2, method="tango")
    with pytest.raises(ArgumentError, match="alternative"):
        proportion_difference(1, 2, 1, 2, alternative="worse")
    with pytest.raises(ArgumentError, match="method"):
        paired_proportion_difference(1, 2, 1, 2, method="agresti-caffo")
    with pytest.raises(ArgumentError, match="confidence_level"):
        paired_proportion_difference(1, 2, 1, 2, confidence_level=95)
