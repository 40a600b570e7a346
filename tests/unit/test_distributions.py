"""Student's t: closed forms, scipy where it is right, edges, shapes, errors, and the kernels' own shortcuts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from fastgate.errors import ArgumentError
from fastgate.kernels import student_t as kernels
from fastgate.kernels.special import erfcx, exp_minus, fma, hedges_correction, normal_isf, normal_sf
from fastgate.kernels.student_t import t_isf, t_ppf, t_sf, t_two_sided
from fastgate.stats.distributions import student_t_isf, student_t_ppf, student_t_sf, student_t_two_sided

FUNCTIONS = [student_t_sf, student_t_two_sided, student_t_isf, student_t_ppf]
INFINITY = math.inf


# ---------------------------------------------------------------- values


@pytest.mark.parametrize("t", [0.0, 1e-12, 0.3, 1.0, 7.0, 1e5, 1e100, 1e200])
def test_one_and_two_degrees_of_freedom_have_closed_forms(t: float) -> None:
    assert student_t_two_sided(t, 1) == pytest.approx(2.0 / math.pi * math.atan2(1.0, t), rel=3e-15)
    root = math.hypot(math.sqrt(2.0), t)
    assert student_t_two_sided(t, 2) == pytest.approx(2.0 / (root * (root + t)), rel=3e-15)


def test_cauchy_quantile() -> None:
    q = np.array([1e-300, 1e-20, 0.001, 0.1])
    np.testing.assert_allclose(student_t_isf(q, 1), 1.0 / np.tan(math.pi * q), rtol=4e-15)
    q = np.array([0.3, 0.45, 0.499, 0.5 - 2.0**-50])
    np.testing.assert_allclose(student_t_isf(q, 1), np.tan(math.pi * (0.5 - q)), rtol=4e-15)


def test_agrees_with_scipy_in_practice() -> None:
    generator = np.random.default_rng(1)
    df = generator.uniform(1.0, 400.0, 5_000)
    t = generator.uniform(0.05, 10.0, df.size)
    # scipy's own error reaches 7e-14 here.
    np.testing.assert_allclose(student_t_two_sided(t, df), 2.0 * special.stdtr(df, -t), rtol=1e-12)
    q = generator.uniform(1e-6, 0.49, df.size)
    np.testing.assert_allclose(student_t_isf(q, df), stats.t.isf(q, df), rtol=1e-10)


@pytest.mark.parametrize("df", [10.25, 20.5, 1e7, 1e25])
def test_formulas_meet(df: float) -> None:
    # On either side of the df where the formula changes, and of t² = 7/4 df, the tail is the same to the last digits.
    t = np.concatenate(
        (np.linspace(0.0, 8.0, 41), math.sqrt(1.75 * df) * np.array([1.0 - 1e-14, 1.0 + 1e-14]))
    )
    below = student_t_two_sided(t, df * (1.0 - 2.0**-52))
    np.testing.assert_allclose(below, student_t_two_sided(t, df * (1.0 + 2.0**-52)), rtol=5e-15)
    beside = student_t_two_sided(t[-2:], df)
    # d ln p / d ln t is at most df.
    assert beside[0] == pytest.approx(beside[1], rel=5e-15 + 4e-14 * df)


@pytest.mark.parametrize("q", [0.249999999999, 0.25, 0.250000000001, 0.4, 1e-5])
def test_quantile_formulas_meet(q: float) -> None:
    df = np.array([0.5, 2.5 - 1e-12, 2.5, 20.5 - 1e-12, 20.5, 1e7, 1e7 * (1.0 + 1e-12)])
    back = student_t_sf(student_t_isf(q, df), df)
    np.testing.assert_allclose(back, q, rtol=5e-15 * (1.0 + math.log(1.0 / q)))


@pytest.mark.parametrize(
    ("t", "df", "two_sided", "upper"),
    [
        (38.0, INFINITY, 116803440, 58401720),
        (38.25, 3e7, 8570, 4285),
        (1e160, 2.0, 2024, 1012),
        (3e107, 3.0, 17, 8),
    ],
)
def test_subnormal_results_are_rounded_once(t: float, df: float, two_sided: int, upper: int) -> None:
    # In units of the smallest float64; by 30-digit arithmetic 116803440.37, 8570.37, 2024.02 and 16.53.
    assert student_t_two_sided(t, df) * 2.0**537 * 2.0**537 == two_sided
    assert student_t_sf(t, df) * 2.0**537 * 2.0**537 == upper


def test_far_lower_tail_is_one_and_upper_keeps_its_digits() -> None:
    assert student_t_sf(-40.0, 100) == 1.0
    assert 0.0 < student_t_sf(40.0, 100) < 1e-60


@pytest.mark.parametrize("df", [1e-300, 1e-30, 1e-3, 0.1])
def test_tiny_df(df: float) -> None:
    # P is x^a Γ(a + 1/2) / (√π Γ(a + 1)) and more of order x a, where a = df / 2 and x = df / (df + t²).
    expected = 1.0 + 0.5 * df * math.log(0.25 * df / (df + 1.0))
    assert student_t_two_sided(1.0, df) == pytest.approx(expected, abs=(3.0 * df * math.log(df)) ** 2 + 3e-15)
    assert student_t_isf(0.49, 1e-30) == INFINITY


# ---------------------------------------------------------------- edges, shapes, errors


@pytest.mark.parametrize("df", [0.5, 3.0, 1e6, INFINITY])
def test_infinite_t(df: float) -> None:
    assert student_t_sf([INFINITY, -INFINITY], df).tolist() == [0.0, 1.0]
    assert student_t_two_sided([INFINITY, -INFINITY], df).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("df", [0.5, 3.0, 1e6, INFINITY])
def test_ends_of_the_quantile(df: float) -> None:
    assert student_t_isf([0.0, 0.5, 1.0], df).tolist() == [INFINITY, 0.0, -INFINITY]
    assert student_t_ppf([0.0, 0.5, 1.0], df).tolist() == [-INFINITY, 0.0, INFINITY]
    assert math.copysign(1.0, student_t_ppf(0.5, df)) == 1.0
    for outside in (-1e-300, 1.0 + 2.0**-52, -INFINITY, INFINITY):
        assert math.isnan(student_t_isf(outside, df))
        assert math.isnan(student_t_ppf(outside, df))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("df", [0.0, -0.0, -1.0, -INFINITY, math.nan])
def test_df_that_is_none_gives_nan(function: object, df: float) -> None:
    assert np.isnan(function([0.0, 0.1, 0.5, 1.0, math.nan], df)).all()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_nan_gives_nan_and_only_there(function: object) -> None:
    result = function([0.1, math.nan, 0.3], 5)
    assert np.isnan(result).tolist() == [False, True, False]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_shapes(function: object) -> None:
    assert isinstance(function(0.1, 5), float)
    assert isinstance(function(np.float64(0.1), np.int64(5)), float)
    assert function([0.1, 0.2], 5).shape == (2,)
    assert function(0.1, [[5.0], [6.0]]).shape == (2, 1)
    grid = function(np.full((3, 1), 0.1), np.arange(1.0, 5.0))
    assert grid.shape == (3, 4)
    assert grid.dtype == np.float64
    assert grid[2, 3] == function(0.1, 4)
    assert function([], 5).shape == (0,)
    assert function(np.empty((0, 3)), 5).shape == (0, 3)


def test_layouts_and_types_do_not_matter() -> None:
    t = np.linspace(-3.0, 3.0, 24).reshape(4, 6)
    whole = student_t_sf(t, 7)
    np.testing.assert_array_equal(student_t_sf(np.asfortranarray(t), 7), whole)
    np.testing.assert_array_equal(student_t_sf(t[::-1, ::2], 7), whole[::-1, ::2])
    frozen = t.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(student_t_sf(frozen, 7), whole)
    np.testing.assert_array_equal(student_t_sf(np.float32([0.5, 1.5]), 7), student_t_sf([0.5, 1.5], 7))
    np.testing.assert_array_equal(student_t_sf([1, 2], np.int8(7)), student_t_sf([1.0, 2.0], 7.0))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("wrong", ["one", ["1", "2"], [None], [1j], [[1.0], [1.0, 2.0]], object()])
def test_what_is_no_number(function: object, wrong: object) -> None:
    with pytest.raises(ArgumentError, match="does not hold numbers"):
        function(wrong, 5)
    with pytest.raises(ArgumentError, match="argument df"):
        function(0.1, wrong)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_shapes_that_do_not_broadcast(function: object) -> None:
    with pytest.raises(ArgumentError, match=r"of shape \(2,\) and df of shape \(3,\)"):
        function([0.1, 0.2], [1.0, 2.0, 3.0])


# ---------------------------------------------------------------- kernels


def test_simd_and_scalar_formulas_have_the_same_bits() -> None:
    generator = np.random.default_rng(2)
    n = 4_000
    t = np.concatenate(
        (generator.uniform(-10.0, 10.0, n), 10.0 ** generator.uniform(-20.0, 20.0, n), [0.0, -0.0])
    )
    for df in (
        np.exp(generator.uniform(-1.0, 10.0, t.size)),
        generator.uniform(0.5, 20.5, t.size),  # mostly the second loop's
        np.where(generator.random(t.size) < 0.1, 5.0, 1e3),  # too few for it
    ):
        out = np.empty(t.size)
        kernels.student_t_two_sided(0, t.size, t, df, out)
        assert out.tolist() == [t_two_sided(*pair) for pair in zip(t, df, strict=True)]
        kernels.student_t_sf(0, t.size, t, df, out)
        assert out.tolist() == [t_sf(*pair) for pair in zip(t, df, strict=True)]


@pytest.mark.parametrize(
    "kernel",
    [kernels.student_t_sf, kernels.student_t_two_sided, kernels.student_t_isf, kernels.student_t_ppf],
)
def test_kernels_write_their_range_only(kernel: object) -> None:
    out = np.full(6, -7.0)
    kernel(2, 4, np.full(6, 0.25), np.full(6, 3.0), out)
    assert (out == -7.0).tolist() == [True, True, False, False, True, True]


@pytest.mark.parametrize("q", [0.4, 0.25, 0.05, 0.025, 0.005, 0.0005, 0.975])
def test_series_of_one_level(q: float) -> None:
    generator = np.random.default_rng(3)
    df = np.concatenate(
        (4.0 / generator.uniform(0.0, 1.0, 800), [4.0, 1.5, 3.999, 0.0, -2.0, math.nan, INFINITY])
    )
    series = np.empty(kernels.N_SERIES)
    kernels.student_t_isf_series(q, series)
    assert not math.isnan(series[0])
    out = np.full(df.size + 1, -7.0)
    kernels.student_t_isf_along(0, df.size, q, series, df, out)
    np.testing.assert_allclose(out[:-1], student_t_isf(q, df), rtol=5e-15)
    assert out[-1] == -7.0
    single = np.array([kernels.t_isf_along(q, one, series) for one in df])
    np.testing.assert_array_equal(out[:-1], single)


@pytest.mark.parametrize("q", [1e-7, 1e-300, 0.0, 1.0, math.nan, -1.0])
def test_series_that_would_be_too_short_is_not_used(q: float) -> None:
    series = np.empty(kernels.N_SERIES)
    kernels.student_t_isf_series(q, series)
    assert math.isnan(series[0])
    df = np.array([1.0, 4.0, 30.0, INFINITY])
    out = np.empty(4)
    kernels.student_t_isf_along(0, 4, q, series, df, out)
    np.testing.assert_array_equal(out, student_t_isf(q, df))


def test_scalar_quantiles() -> None:
    assert t_isf(0.025, 10.0) == student_t_isf(0.025, 10)
    assert t_ppf(0.025, 10.0) == -t_isf(0.025, 10.0)


# ---------------------------------------------------------------- shared scalar functions


def test_fma_rounds_once() -> None:
    a = 1.0 + 2.0**-30
    assert fma(a, a, -1.0) == 2.0**-29 + 2.0**-60
    assert a * a - 1.0 == 2.0**-29
    assert fma(2.0, 3.0, INFINITY) == INFINITY
    assert math.isnan(fma(math.nan, 1.0, 1.0))


def test_exp_minus_and_erfcx() -> None:
    generator = np.random.default_rng(4)
    for x in generator.uniform(0.0, 700.0, 500):
        assert exp_minus(x, 0.0) == pytest.approx(math.exp(-x), rel=3e-16)
    for x in np.concatenate(
        (generator.uniform(0.0, 5.0, 300), 10.0 ** generator.uniform(0.7, 6.0, 200), [0.0])
    ):
        assert erfcx(x) == pytest.approx(special.erfcx(x), rel=2e-15)


def test_normal_tail_and_quantile_agree() -> None:
    for q in (5e-324, 1e-310, 1e-100, 1e-8, 0.01, 0.2499, 0.25, 0.2501, 0.4999, 0.5, 0.7, 1.0 - 2.0**-53):
        x = normal_isf(q)
        # The density over the tail, about x, carries the rounding of x into q.
        assert normal_sf(x) == pytest.approx(q, rel=4e-16 * (2.0 + x * x), abs=2.0**-1074)
    assert normal_isf(0.0) == INFINITY
    assert normal_isf(1.0) == -INFINITY
    assert math.isnan(normal_isf(-0.1))
    assert math.isnan(normal_sf(math.nan))
    assert normal_sf(INFINITY) == 0.0
    assert normal_sf(-INFINITY) == 1.0


@pytest.mark.parametrize(
    ("m", "j"),
    [(2.0, 1.0 / math.sqrt(math.pi)), (3.0, math.sqrt(math.pi / 6.0)), (4.0, math.sqrt(2.0 / math.pi))],
)
def test_hedges_correction_of_small_whole_numbers(m: float, j: float) -> None:
    # Γ(1)/Γ(1/2), Γ(3/2)/(√(3/2) Γ(1)) and Γ(2)/(√2 Γ(3/2)).
    assert hedges_correction(m) == pytest.approx(j, rel=2e-15)


def test_hedges_correction_of_any_number() -> None:
    for m in np.exp(np.linspace(0.02, 9.0, 200)):
        log_ratio = special.gammaln(0.5 * m) - special.gammaln(0.5 * (m - 1.0)) - 0.5 * math.log(0.5 * m)
        assert hedges_correction(m) == pytest.approx(math.exp(log_ratio), rel=1e-11)
    assert hedges_correction(1e9) == pytest.approx(1.0 - 0.75e-9, abs=3e-16)
    assert hedges_correction(INFINITY) == 1.0
    for m in (1.0, 0.5, -1.0, math.nan):
        assert math.isnan(hedges_correction(m))
