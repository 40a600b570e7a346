"""What must hold for any counts: order, nesting, symmetry, coverage, and agreement with the definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fastgate.kernels.beta import beta_tails, lower_quantile
from fastgate.kernels.special import normal_isf
from fastgate.stats.binomial import BINOMIAL_METHODS, binomial_interval
from fastgate.stats.discordance import mcnemar
from fastgate.stats.proportions import (
    DIFFERENCE_METHODS,
    PAIRED_DIFFERENCE_METHODS,
    paired_proportion_difference,
    proportion_difference,
)

METHODS = st.sampled_from(tuple(BINOMIAL_METHODS))
LEVELS = st.sampled_from([0.01, 0.5, 0.8, 0.95, 0.999, 0.999999])
SIZES = st.one_of(st.integers(1, 50), st.integers(1, 5000), st.integers(1, 10**9))

unhurried = settings(deadline=None)  # the first call of each compiles its kernels


@st.composite
def counts(draw: st.DrawFn) -> tuple[int, int]:
    trials = draw(SIZES)
    return draw(st.integers(0, trials) | st.sampled_from([0, min(1, trials), trials - 1, trials])), trials


@unhurried
@given(counts(), METHODS, LEVELS)
def test_the_interval_surrounds_its_estimate(cell: tuple[int, int], method: str, level: float) -> None:
    # Agresti-Coull's centre is not the rate, and at a level near 0 its interval may miss it.
    result = binomial_interval(*cell, confidence_level=level, method=method)
    centre = 0.5 * (result.ci_low + result.ci_high)
    assert result.ci_low <= centre <= result.ci_high
    if method in ("wald", "wilson", "clopper-pearson"):
        assert result.ci_low <= result.estimate <= result.ci_high
    if method not in ("wald", "agresti-coull"):
        assert 0.0 <= result.ci_low < result.ci_high <= 1.0
        assert (result.ci_low == 0.0) == (cell[0] == 0)
    scale = max(abs(result.ci_low), abs(result.ci_high))
    assert result.half_width == pytest.approx(
        0.5 * (result.ci_high - result.ci_low), rel=1e-13, abs=4e-16 * scale
    )


@unhurried
@given(counts(), METHODS, LEVELS)
def test_failures_mirror_successes(cell: tuple[int, int], method: str, level: float) -> None:
    k, n = cell
    one = binomial_interval(k, n, confidence_level=level, method=method)
    two = binomial_interval(n - k, n, confidence_level=level, method=method)
    assert one.half_width == pytest.approx(two.half_width, rel=2e-14)
    assert one.ci_low == pytest.approx(1.0 - two.ci_high, rel=1e-13, abs=1e-15)


@unhurried
@given(counts(), METHODS)
def test_a_higher_level_is_wider(cell: tuple[int, int], method: str) -> None:
    halves = [
        binomial_interval(*cell, confidence_level=level, method=method).half_width
        for level in (0.5, 0.9, 0.999)
    ]
    if method == "wald" and cell[0] in (0, cell[1]):
        assert halves == [0.0, 0.0, 0.0]
    else:
        assert halves[0] < halves[1] < halves[2]


@unhurried
@given(st.integers(2, 3000), METHODS, LEVELS)
def test_limits_grow_with_the_successes(trials: int, method: str, level: float) -> None:
    first = max(0, trials // 2 - 20)
    successes = np.arange(first, min(trials, first + 40) + 1)
    result = binomial_interval(successes, trials, confidence_level=level, method=method)
    assert (np.diff(0.5 * (np.asarray(result.ci_low) + np.asarray(result.ci_high))) > 0.0).all()
    if method not in ("wald", "agresti-coull"):
        assert (np.diff(result.ci_low) > 0.0).all()
        assert (np.diff(result.ci_high) > 0.0).all()


@unhurried
@given(counts(), st.sampled_from([0.8, 0.95, 0.999999]))
def test_clopper_pearson_contains_mid_p(cell: tuple[int, int], level: float) -> None:
    exact = binomial_interval(*cell, confidence_level=level, method="clopper-pearson")
    mid = binomial_interval(*cell, confidence_level=level, method="mid-p")
    assert exact.ci_low <= mid.ci_low < mid.ci_high <= exact.ci_high
    assert mid.half_width < exact.half_width


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("trials", [1, 5, 20, 97])
def test_clopper_pearson_covers_every_rate(trials: int, level: float) -> None:
    successes = np.arange(trials + 1)
    result = binomial_interval(successes, trials, confidence_level=level, method="clopper-pearson")
    low, high = np.asarray(result.ci_low), np.asarray(result.ci_high)
    # Coverage is least beside a limit, where one more count drops out.
    rates = np.unique(np.clip(np.concatenate((low, high))[:, None] + [-1e-9, 1e-9], 0.0, 1.0))
    mass = stats.binom.pmf(successes, trials, rates[:, None])
    covered = (low <= rates[:, None]) & (rates[:, None] <= high)
    assert (mass * covered).sum(axis=1).min() >= level - 1e-7


@settings(max_examples=300, deadline=None)
@given(
    st.floats(-3.0, 9.0),
    st.floats(-3.0, 9.0),
    st.sampled_from([0.5, 0.45, 0.1, 0.025, 5e-4, 5e-7, 1e-9, 1e-12]),
)
def test_beta_quantile_is_where_the_tail_is(log_a: float, log_b: float, p: float) -> None:
    a, b = 10.0**log_a, 10.0**log_b
    x, y, d = lower_quantile(a, b, p, -normal_isf(p))
    assert 0.0 <= x <= 1.0
    assert x + y == pytest.approx(1.0, rel=1e-15)
    assert d == pytest.approx(x - a / (a + b), rel=1e-9, abs=1e-15)
    if x > 1e-290 and y > 1e-290:
        # A quantile rounded to x(1 ± ε) moves the tail by ε·a·y in its logarithm and more.
        tail, _ = beta_tails(a, b, x, y)
        assert tail == pytest.approx(p, rel=2e-13 + 4e-16 * (a * b / (a + b)) ** 0.5 * 8.0)


@unhurried
@given(counts(), counts(), st.sampled_from(tuple(DIFFERENCE_METHODS)), LEVELS)
def test_difference_is_mirrored_and_in_bounds(
    candidate: tuple[int, int], baseline: tuple[int, int], method: str, level: float
) -> None:
    one = proportion_difference(*candidate, *baseline, confidence_level=level, method=method)
    two = proportion_difference(*baseline, *candidate, confidence_level=level, method=method)
    assert (one.delta, one.ci_low, one.ci_high) == (-two.delta, -two.ci_high, -two.ci_low)
    assert one.pvalue == two.pvalue or (math.isnan(one.pvalue) and math.isnan(two.pvalue))
    if method == "newcombe":
        assert -1.0 - 4e-16 <= one.ci_low <= one.delta <= one.ci_high <= 1.0 + 4e-16
        assert one.half_width > 0.0


@unhurried
@given(
    st.lists(st.integers(0, 3) | st.integers(0, 300) | st.integers(0, 10**8), min_size=4, max_size=4).filter(
        any
    ),
    st.sampled_from(tuple(PAIRED_DIFFERENCE_METHODS)),
    LEVELS,
)
def test_paired_difference_is_mirrored_and_in_bounds(table: list[int], method: str, level: float) -> None:
    both, regressions, fixes, neither = table
    one = paired_proportion_difference(
        both, regressions, fixes, neither, confidence_level=level, method=method
    )
    two = paired_proportion_difference(
        both, fixes, regressions, neither, confidence_level=level, method=method
    )
    scale = abs(one.delta) + one.half_width
    assert one.delta == -two.delta
    assert one.ci_low == pytest.approx(-two.ci_high, rel=0.0, abs=2e-15 * scale)
    assert one.ci_high == pytest.approx(-two.ci_low, rel=0.0, abs=2e-15 * scale)
    if method == "tango":
        assert -1.0 <= one.ci_low <= one.delta <= one.ci_high <= 1.0
        assert one.half_width > 0.0


@unhurried
@given(st.integers(0, 2000), st.integers(0, 2000))
def test_mcnemar_sides_add_up(b: int, c: int) -> None:
    less = mcnemar(b, c, alternative="less").pvalue
    greater = mcnemar(b, c, alternative="greater").pvalue
    two_sided = mcnemar(b, c).pvalue
    at = stats.binom.pmf(b, b + c, 0.5)
    assert less + greater == pytest.approx(1.0 + at, rel=1e-12)
    assert two_sided == pytest.approx(min(1.0, 2.0 * min(less, greater)), rel=1e-15)
    mid = mcnemar(b, c, method="mid-p")
    assert 0.0 <= mid.pvalue <= two_sided <= 1.0
    sides = [mcnemar(b, c, method="mid-p", alternative=side).pvalue for side in ("less", "greater")]
    assert sum(sides) == pytest.approx(2.0 if b + c == 0 else 1.0, rel=1e-12)
