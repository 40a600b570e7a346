"""What must hold for any t, df and q: order, symmetry, inverses, the normal limit, threads."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastgate.kernels.special import normal_sf
from fastgate.stats.distributions import student_t_isf, student_t_ppf, student_t_sf, student_t_two_sided

unhurried = settings(deadline=None, max_examples=300)  # the first call of a kernel compiles it

any_df = st.one_of(st.floats(0.5, 1e3), st.floats(-0.3, 18.0).map(lambda e: 10.0**e), st.just(math.inf))
any_t = st.one_of(st.floats(-12.0, 12.0), st.floats(-300.0, 300.0).map(lambda e: 10.0**e))
any_q = st.one_of(st.floats(1e-6, 1.0 - 1e-6), st.floats(-320.0, -0.3).map(lambda e: 10.0**e))
# Where a result may be off by its last bits, so may an order of two of them.
LAST = 1.0 + 1e-14


@unhurried
@given(any_t, any_t, any_df)
def test_a_larger_t_has_no_larger_tail(one: float, other: float, df: float) -> None:
    low, high = sorted((one, other))
    assert student_t_sf(high, df) <= student_t_sf(low, df) * LAST
    assert student_t_two_sided(max(abs(one), abs(other)), df) <= student_t_two_sided(
        min(abs(one), abs(other)), df
    ) * (LAST)


@unhurried
@given(any_t, any_df)
def test_both_sides_make_one(t: float, df: float) -> None:
    assert student_t_sf(t, df) + student_t_sf(-t, df) == pytest.approx(1.0, abs=3e-16)
    assert student_t_two_sided(t, df) == student_t_two_sided(-t, df)


@unhurried
@given(any_t, any_df)
def test_two_sided_is_twice_the_tail(t: float, df: float) -> None:
    assert student_t_two_sided(t, df) == pytest.approx(
        2.0 * student_t_sf(abs(t), df), rel=1e-15, abs=2.0**-1073
    )
    assert 0.0 <= student_t_two_sided(t, df) <= LAST


@unhurried
@given(any_q, any_df)
def test_quantile_inverts_the_tail(q: float, df: float) -> None:
    t = student_t_isf(q, df)
    if not math.isfinite(t):
        # Only where the tail is still heavier at the largest float64.
        assert student_t_sf(math.copysign(1.7e308, t), df) >= q if t > 0.0 else q > 0.5
        return
    # d ln P / d ln t, which carries the rounding of t into q.
    slope = min(df, t * t) + 2.0
    assert student_t_sf(t, df) == pytest.approx(q, rel=3e-15 + 4e-16 * slope, abs=2.0**-1073)


@unhurried
@given(any_q, any_q, any_df)
def test_a_larger_q_has_no_larger_quantile(one: float, other: float, df: float) -> None:
    low, high = sorted((one, other))
    upper, lower = student_t_isf(low, df), student_t_isf(high, df)
    assert lower <= upper + 1e-14 * min(abs(upper), 1e300)


@unhurried
@given(any_q, any_df)
def test_lower_quantile_is_the_upper_one_turned(q: float, df: float) -> None:
    assert student_t_ppf(q, df) == 0.0 - student_t_isf(q, df)


@unhurried
@given(st.floats(-38.0, 38.0), st.floats(6.0, 20.0))
def test_many_degrees_of_freedom_tend_to_the_normal(t: float, exponent: float) -> None:
    df = 10.0**exponent
    normal = normal_sf(t)
    # The first term of the expansion: φ(t) (t³ + t) / (4 df), less than the tail times (t⁴ + 2 t² + 1) / (4 df).
    apart = (t**4 + 2.0 * t * t + 1.0) / (4.0 * df)
    assert student_t_sf(t, df) == pytest.approx(
        normal, rel=2.0 * apart * math.exp(apart) + 1e-14, abs=2.0**-1073
    )


@unhurried
@given(any_t, st.floats(0.5, 1e6))
def test_fewer_degrees_of_freedom_have_heavier_tails(t: float, df: float) -> None:
    assert student_t_two_sided(t, 1.5 * df) <= student_t_two_sided(t, df) * LAST


@pytest.mark.parametrize("function", [student_t_sf, student_t_two_sided, student_t_isf, student_t_ppf])
def test_bits_do_not_depend_on_threads_or_neighbours(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(5)
    n = 12_001
    df = np.exp(generator.uniform(-0.7, 12.0, n))
    first = (
        generator.uniform(0.0, 1.0, n)
        if function in (student_t_isf, student_t_ppf)
        else generator.normal(0, 5, n)
    )
    first[::1000] = math.nan
    results = []
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("FASTGATE_NUM_THREADS", threads)
        results.append(function(first, df))
    order = generator.permutation(n)
    shuffled = np.empty(n)
    shuffled[order] = function(first[order], df[order])
    for other in (*results[1:], shuffled):
        np.testing.assert_array_equal(results[0].view(np.int64), other.view(np.int64))
    for index in range(0, n, 997):
        assert results[0][index] == function(first[index], df[index]) or math.isnan(first[index])
