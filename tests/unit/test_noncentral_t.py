"""The noncentral t against 30-digit records, an independent integral, and scipy where scipy is right."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from reference import number, records
from scipy import integrate, special, stats

from fastgate import ArgumentError
from fastgate.stats import noncentral_t_sf


@pytest.mark.parametrize("record", records("design", "power_welch"), ids=lambda record: record["id"])
def test_power_of_the_records(record):
    given, expected = record["in"], record["out"]
    df, shift = float(expected["df"]), float(expected["ncp"])
    alpha = number(given["alpha"])
    one = noncentral_t_sf(stats.t.isf(alpha, df), df, shift)
    assert one == pytest.approx(float(expected["power_one"]), rel=1e-11)
    critical = stats.t.isf(alpha / 2, df)
    two = noncentral_t_sf(critical, df, shift) + 1 - noncentral_t_sf(-critical, df, shift)
    assert two == pytest.approx(float(expected["power_two"]), rel=1e-11)
    if "mde_one_80" in expected:
        se = math.hypot(number(given["sd1"]) / given["n1"] ** 0.5, number(given["sd2"]) / given["n2"] ** 0.5)
        found = noncentral_t_sf(stats.t.isf(alpha, df), df, float(expected["mde_one_80"]) / se)
        assert found == pytest.approx(0.8, rel=1e-11)


@pytest.mark.parametrize("df", [0.5, 1, 2, 3.7, 10, 50, 400, 1e5])
def test_agrees_with_an_integral_over_the_normal(df):
    """P(Z + nc > t S) = E P(S < (Z + nc) / t): another integral, of the incomplete gamma function."""
    for t in (0.3, 1.9, 4.0, 30.0):
        for shift in (-1.0, 0.0, 0.7, 2.8, 12.0, 40.0):
            low, high = max(-shift, -12.0), 12.0

            def inner(z, t=t, shift=shift):
                return stats.norm.pdf(z) * special.gammainc(df / 2, 0.5 * df * ((z + shift) / t) ** 2)

            middle = min(max(t - shift, low), high)  # where a large df makes a step
            width = 8 * t / math.sqrt(2 * df)
            points = sorted({low, max(low, middle - width), middle, min(high, middle + width), high})
            expected = sum(
                integrate.quad(inner, a, b, epsabs=1e-14, epsrel=1e-12, limit=200)[0]
                for a, b in itertools.pairwise(points)
            )
            assert noncentral_t_sf(t, df, shift) == pytest.approx(expected, rel=1e-9, abs=2e-13), (t, shift)


def test_small_tails_keep_their_digits():
    t = np.array([50.0, 8.0, 20.0, 4.0])
    df = np.array([100.0, 30.0, 5.0, 12.0])
    shift = np.array([0.0, 0.0, 1.0, -2.0])
    found = noncentral_t_sf(t, df, shift)
    assert found[:2] == pytest.approx(stats.t.sf(t[:2], df[:2]), rel=1e-13)
    assert found[2:] == pytest.approx(stats.nct.sf(t[2:], df[2:], shift[2:]), rel=1e-6)


def test_extremes():
    # Of a huge t with as large a shift only S < 1 counts: for df 2, P(chi² < 2) = 1 - 1/e.
    assert noncentral_t_sf(1e8, 2, 1e8) == pytest.approx(-math.expm1(-1.0), rel=1e-8)
    assert noncentral_t_sf(1e3, 1e6, 1e3) == pytest.approx(0.500090481942, abs=1e-11)
    assert noncentral_t_sf(2.0, math.inf, 5.0) == pytest.approx(stats.norm.sf(-3.0), rel=1e-14)
    assert noncentral_t_sf(2.0, 1e16, 5.0) == pytest.approx(stats.norm.sf(-3.0), rel=1e-14)
    assert noncentral_t_sf(0.0, 3.0, 1.5) == pytest.approx(stats.norm.sf(-1.5), rel=1e-14)
    assert noncentral_t_sf(5.0, 5.0, -1e8) == 0.0
    assert noncentral_t_sf(1e3, 5.0, 1e8) == pytest.approx(1.0, abs=1e-14)
    assert noncentral_t_sf([math.inf, -math.inf, 1.0, 1.0], 3, [1.0, 1.0, math.inf, -math.inf]).tolist() == [
        *(0.0, 1.0, 1.0, 0.0)
    ]
    for arguments in ((math.nan, 3, 1), (1, math.nan, 1), (1, 3, math.nan), (1, 0, 1), (1, -2, 1)):
        assert math.isnan(noncentral_t_sf(*arguments))
    assert math.isnan(noncentral_t_sf(math.inf, 3, math.inf))


def test_falls_in_t_and_rises_with_the_shift():
    shift = np.linspace(-5, 60, 400)
    for df in (1.0, 4.0, 300.0):
        assert (np.diff(noncentral_t_sf(3.0, df, shift)) >= -1e-14).all()
        assert (np.diff(noncentral_t_sf(np.linspace(-20, 40, 400), df, 3.0)) <= 1e-14).all()


def test_shapes_and_bad_arguments():
    assert noncentral_t_sf(np.ones((2, 1)), 4, [1.0, 2.0, 3.0]).shape == (2, 3)
    assert isinstance(noncentral_t_sf(1, 4, 2), float)
    with pytest.raises(ArgumentError, match="do not fit"):
        noncentral_t_sf([1.0, 2.0], 4, [1.0, 2.0, 3.0])
    with pytest.raises(ArgumentError, match="does not hold numbers"):
        noncentral_t_sf("x", 4, 1)
