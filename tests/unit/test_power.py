"""Power of t tests against closed forms, R's figures and independent integrals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from fastgate import ArgumentError
from fastgate.stats import ttest_cases, ttest_power


def paired_reference(effect, sd, other, r, n, tail):
    spread = math.sqrt(sd**2 + other**2 - 2 * r * sd * other)
    return stats.nct.sf(stats.t.isf(tail, n - 1), n - 1, effect * math.sqrt(n) / spread)


def given_ratio(share, effect, sd, other, r, n, tail, df):
    """The power where `share` of the two standardised sample variances is the candidate's."""
    ours, theirs = sd**2 * share, other**2 * (1 - share)
    c = ours / (ours + theirs)
    critical = stats.t.isf(tail, (n - 1) / (c * c + (1 - c) ** 2))
    spread = sd**2 + other**2 - 2 * r * sd * other
    scale = np.sqrt((ours + theirs) * (1 - r * r) * df / (n - 1) / spread)
    return stats.nct.sf(critical * scale, df, effect * math.sqrt(n / spread))


def welch_reference(effect, sd, other, n, tail):
    """Exactly, for independent samples: the ratio of their variances follows a beta law."""
    m = (n - 1) / 2
    step = 0.1 * min(1.0, 2.0 / math.sqrt(m))
    y = np.arange(-40 / m - 5, 40 / m + 5, step)
    y = y[np.abs(y) < 12 * math.sqrt(2 / m) + 60 / n]
    weights = step * np.exp(m * (special.log_expit(y) + special.log_expit(-y))) / special.beta(m, m)
    return np.sum(weights * given_ratio(special.expit(y), effect, sd, other, 0.0, n, tail, 4 * m))


def correlated_reference(effect, sd, other, r, n, tail):
    """As well, for pairs: correlated sums of squares are a negative binomial mixture of independent gammas."""
    m = (n - 1) / 2
    law = stats.nbinom(m, 1 - r * r)
    x, weights = np.polynomial.legendre.leggauss(60)
    total = 0.0
    for j in range(int(law.ppf(1e-7)), int(law.ppf(1 - 1e-7)) + 1):
        share = special.betaincinv(m + j, m + j, (x + 1) / 2)
        power = given_ratio(share, effect, sd, other, r, n, tail, 4 * (m + j))
        total += law.pmf(j) * np.sum(power * weights) / 2
    return total


@pytest.mark.parametrize("n", [2, 3, 5, 12, 100, 5000])
@pytest.mark.parametrize(
    ("sd", "other", "r"), [(1, 1, 0), (1, 2, 0.6), (0.5, 0, 0), (3, 2, -0.4), (1, 1, 0.99)]
)
def test_paired_is_the_noncentral_t(n, sd, other, r):
    for alternative, tail in (("two-sided", 0.01), ("one-sided", 0.02)):
        found = ttest_power(
            0.4, sd, n, baseline_sd=other, correlation=r, test="paired", alpha=0.02, alternative=alternative
        )
        assert found == pytest.approx(paired_reference(0.4, sd, other, r, n, tail), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("n", [2, 3, 5, 12, 60, 1000])
@pytest.mark.parametrize(("sd", "other"), [(1, 1), (1, 2), (2, 0.3)])
def test_welch_is_exact_without_correlation(n, sd, other):
    for effect in (0.0, 0.3, 3.0 / math.sqrt(n), 8.0 / math.sqrt(n)):
        found = ttest_power(effect, sd, n, baseline_sd=other)
        assert found == pytest.approx(
            welch_reference(effect, sd, other, n, 0.025), abs=5e-6 if n == 2 else 5e-7
        )


@pytest.mark.parametrize("r", [-0.5, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("other", [1.0, 3.0])
@pytest.mark.parametrize(("n", "error"), [(4, 0.01), (6, 0.004), (10, 0.002), (30, 5e-4)])
def test_welch_is_near_with_correlation(r, other, n, error):
    spread = math.sqrt(1 + other**2 - 2 * r * other)
    for size in (2.0, 3.0, 4.0):
        effect = (2.0 * math.sqrt(1 + other**2) + (size - 2.0) * spread) / math.sqrt(n)
        found = ttest_power(effect, 1.0, n, baseline_sd=other, correlation=r)
        assert found == pytest.approx(correlated_reference(effect, 1.0, other, r, n, 0.025), abs=error)


def test_figures_of_r():
    """R 4.3: power.t.test(n, delta = 1, sd = 1, type = "paired") and n for a power."""
    # power.t.test(delta=.5, sd=1, power=.8, type="paired")$n is 33.36713; type="one.sample" is the same test.
    root_half = math.sqrt(0.5)
    assert ttest_cases(0.5, root_half, test="paired").cases == 34
    # power.t.test(n=20, delta=1, sd=1)$power is 0.8689528 for the pooled test, whose df Welch's estimates.
    assert 0.8689528 - 0.0015 < ttest_power(1.0, 1.0, 20) < 0.8689528
    # power.t.test(power=.90, delta=1)$n is 22.02110, alternative="one.sided" 17.84713
    assert ttest_cases(1.0, 1.0, power=0.9).cases == 23
    assert ttest_cases(1.0, 1.0, power=0.9, alternative="one-sided").cases == 18


def test_no_effect_is_found_as_often_as_alpha_says():
    assert ttest_power(0.0, 1.0, 30, test="paired") == pytest.approx(0.025, rel=1e-10)
    assert ttest_power(0.0, 1.0, 30, alternative="one-sided", alpha=0.1, test="paired") == pytest.approx(0.1)
    # Welch's test holds its level without correlation, is timid with and bold against it.
    assert ttest_power(0.0, 1.0, 30) == pytest.approx(0.025, abs=1e-3)
    assert ttest_power(0.0, 1.0, 30, correlation=0.8) < 1e-4
    assert ttest_power(0.0, 1.0, 30, correlation=-0.8) > 0.05
    assert ttest_power(-1.0, 1.0, 30) < 1e-6


@pytest.mark.parametrize("test", ["welch", "paired"])
def test_the_cases_are_the_least(test):
    effect = np.array([0.05, 0.2, 0.5, 1.0, 2.0, 5.0])[:, None]
    r = np.array([-0.5, 0.0, 0.7, 0.95])
    for power in (0.3, 0.8, 0.99):
        found = ttest_cases(effect, 1.0, baseline_sd=1.3, correlation=r, test=test, power=power)
        assert (found.status == "ok").all()
        options = {"baseline_sd": 1.3, "correlation": r, "test": test}
        assert (ttest_power(effect, 1.0, found.cases, **options) == found.power).all()
        assert (found.power >= power).all()
        fewer = ttest_power(effect, 1.0, np.maximum(found.cases - 1, 0), **options)
        assert (np.isnan(fewer) == (found.cases == 2)).all()
        assert (fewer[found.cases > 2] < power).all()


def test_what_no_number_of_cases_finds():
    found = ttest_cases([0.0, -1.0, math.nan, 1e-9, 1.0], [1.0, 1.0, 1.0, 1.0, 0.0])
    assert found.status.tolist() == ["no_root"] * 5
    assert found.cases.tolist() == [0] * 5
    assert np.isnan(found.power).all()


def test_what_has_no_power():
    assert math.isnan(ttest_power(1.0, 1.0, 1))
    assert math.isnan(ttest_power(1.0, 0.0, 10))
    assert math.isnan(ttest_power(1.0, 1.0, 10, correlation=1.0, test="paired"))
    assert math.isnan(ttest_power(math.nan, 1.0, 10))
    assert ttest_power(1.0, 1.0, 10, baseline_sd=0.0) == pytest.approx(
        paired_reference(1.0, 1.0, 0.0, 0.0, 10, 0.025), abs=1e-6
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"test": "wilcoxon"}, "test is unknown"),
        ({"alternative": "greater"}, "alternative is unknown"),
        ({"alpha": 0.0}, "alpha is out of range"),
        ({"correlation": 1.2}, "correlation is out of range"),
        ({"baseline_sd": -1.0}, "baseline_sd is out of range"),
    ],
)
def test_bad_arguments(options, words):
    with pytest.raises(ArgumentError, match=words):
        ttest_power(1.0, 1.0, 10, **options)
    with pytest.raises(ArgumentError, match=words):
        ttest_cases(1.0, 1.0, **options)
    with pytest.raises(ArgumentError, match="power is out of range"):
        ttest_cases(1.0, 1.0, power=1.0)
    with pytest.raises(ArgumentError, match="no count"):
        ttest_power(1.0, 1.0, 2.5)
