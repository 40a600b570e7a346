"""McNemar's tests: exact sums, extremes, status, arguments."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fastgate.errors import ArgumentError
from fastgate.stats.discordance import MCNEMAR_METHODS, mcnemar, mcnemar_arrays

METHODS = tuple(MCNEMAR_METHODS)


def tail(k: int, m: int) -> Fraction:
    """P(K ≤ k) for K binomial (m, ½)."""
    return Fraction(sum(math.comb(m, j) for j in range(k + 1)), 2**m)


@pytest.mark.parametrize("m", [1, 2, 3, 10, 25, 60, 301])
def test_exact_sums(m: int) -> None:
    b = np.arange(m + 1)
    result = {
        (method, alternative): np.asarray(mcnemar(b, m - b, method=method, alternative=alternative).pvalue)
        for method in ("exact", "mid-p")
        for alternative in ("two-sided", "less", "greater")
    }
    for regressions in range(m + 1):
        at = Fraction(math.comb(m, regressions), 2**m)
        fewer = tail(min(regressions, m - regressions), m)
        worse = tail(m - regressions, m)
        better = tail(regressions, m)
        wanted = {
            ("exact", "two-sided"): min(Fraction(1), 2 * fewer),
            ("exact", "less"): worse,
            ("exact", "greater"): better,
            ("mid-p", "two-sided"): min(Fraction(1), 2 * fewer - at),
            ("mid-p", "less"): worse - at / 2,
            ("mid-p", "greater"): better - at / 2,
        }
        for key, value in wanted.items():
            assert result[key][regressions] == pytest.approx(float(value), rel=2e-14), (key, regressions)


def test_huge_and_tiny() -> None:
    # The mean of a billion, thirty standard deviations below it, and a tail that is no float64.
    m = 10**9
    for deviations in (0, 1, 5, 30):
        k = m // 2 - round(deviations * math.sqrt(m) / 2)
        exact = mcnemar(m - k, k, alternative="less")
        z = (m - 2 * k - 1) / math.sqrt(m)  # with the continuity correction, good to about 1/√m here
        assert exact.pvalue == pytest.approx(0.5 * math.erfc(z / math.sqrt(2)), rel=1e-4)
    assert mcnemar(m, 0).pvalue == 0.0
    assert mcnemar(1074, 0, alternative="less").pvalue == 5e-324
    assert mcnemar(900, 0, alternative="less").pvalue == pytest.approx(0.5**900, rel=1e-13)


def test_no_discordant_case() -> None:
    for method in METHODS:
        for alternative in ("two-sided", "less", "greater"):
            result = mcnemar([0, 1], [0, 1], method=method, alternative=alternative)
            assert list(result.status) == ["no_discordant", "ok"]
            assert np.isnan(np.asarray(result.statistic)).tolist() == [True, False]
            first = np.asarray(result.pvalue)[0]
            assert math.isnan(first) if method == "asymptotic" else first == 1.0


def test_the_example_of_240_cases() -> None:
    assert mcnemar(10, 0).pvalue == pytest.approx(0.002, abs=5e-5)
    assert mcnemar(15, 5).pvalue == pytest.approx(0.041, abs=5e-4)
    assert mcnemar(15, 5, method="mid-p").pvalue == pytest.approx(0.027, abs=5e-4)
    assert mcnemar(30, 20).pvalue == pytest.approx(0.20, abs=5e-3)


def test_the_direction_of_less_is_worse() -> None:
    for method in METHODS:
        worse = mcnemar(20, 5, method=method, alternative="less").pvalue
        better = mcnemar(20, 5, method=method, alternative="greater").pvalue
        assert worse < 0.01 < 0.99 < better
        assert mcnemar(5, 20, method=method, alternative="greater").pvalue == worse


def test_shapes_and_scalars() -> None:
    one = mcnemar(3, 1)
    assert [type(value) for value in one] == [float, float, int, str]
    many = mcnemar(np.arange(6).reshape(2, 3), 2)
    assert np.shape(many.pvalue) == np.shape(many.n_discordant) == np.shape(many.status) == (2, 3)
    assert np.shape(mcnemar([], []).pvalue) == (0,)


def test_results_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(17)
    b, c = generator.integers(0, 200, (2, 20_000))
    monkeypatch.setenv("FASTGATE_NUM_THREADS", "1")
    one = mcnemar_arrays(b, c, MCNEMAR_METHODS["mid-p"])
    monkeypatch.setenv("FASTGATE_NUM_THREADS", "3")
    for first, second in zip(one, mcnemar_arrays(b, c, MCNEMAR_METHODS["mid-p"]), strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("b", "c", "message"),
    [
        (-1, 2, "regressions -1"),
        (1, [2, -3], "element 1"),
        (2**40, 1, "3037000499"),
        (0.5, 1, "received: 0.5"),
        (False, 1, "booleans"),
        ([1, 2], [1, 2, 3], "broadcast"),
    ],
)
def test_counts_that_are_none(b: Any, c: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        mcnemar(b, c)
    assert message in str(caught.value)


def test_names_that_are_none() -> None:
    with pytest.raises(ArgumentError, match="method"):
        mcnemar(1, 2, method="edwards")
    with pytest.raises(ArgumentError, match="alternative"):
        mcnemar(1, 2, alternative="worse")
