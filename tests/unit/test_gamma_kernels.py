"""The parts of the gamma function behind the beta distribution, against exact factorials and identities."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from scipy import special

from fastgate.kernels.gamma import excess, log_rising, stirling


@pytest.mark.parametrize("a", [0.5, 0.7, 1.0, 1.5, 2.3, 3.0, 7.5, 11.9, 15.5, 15.9, 16.0, 40.0, 1e3, 1e9])
def test_stirling_steps_down_as_the_factorial_does(a: float) -> None:
    # stirling(a) − stirling(a + 1) = (a + ½) ln(1 + 1/a) − 1, summed as a series without cancellation.
    r = Fraction(1) / (2 * Fraction(a) + 1)
    step = float(sum(r ** (2 * k) / (2 * k + 1) for k in range(1, 60)))
    assert stirling(a) - stirling(a + 1.0) == pytest.approx(step, rel=1e-12, abs=5e-16)
    assert stirling(a) == pytest.approx(1.0 / (12.0 * a + 0.1), rel=0.25)


@pytest.mark.parametrize("n", [1, 2, 5, 10, 15, 16, 20, 100, 170])
def test_stirling_gives_the_factorials(n: int) -> None:
    log_gamma = (n - 0.5) * math.log(n) - n + 0.5 * math.log(2.0 * math.pi) + stirling(float(n))
    assert log_gamma == pytest.approx(math.log(math.factorial(n - 1)), rel=4e-16, abs=1e-15)


@pytest.mark.parametrize(
    "u", [-0.999, -0.5, -0.3, -0.2999, -1e-3, -1e-9, 0.0, 1e-12, 1e-4, 0.1, 0.4, 0.4001, 3.0, 1e6]
)
def test_excess(u: float) -> None:
    if abs(u) < 0.5:
        exact = -sum(Fraction(-u) ** k / k for k in range(2, 80))
        assert excess(u, 1.0 + u) == pytest.approx(float(-exact), rel=1e-15)
    else:
        assert excess(u, 1.0 + u) == pytest.approx(u - math.log1p(u), rel=1e-15)


@pytest.mark.parametrize("b", [1e-3, 0.1, 0.5, 1.0, 3.7, 20.0])
@pytest.mark.parametrize("s", [1e-3, 0.1, 0.5])
def test_log_rising(b: float, s: float) -> None:
    wanted = math.log(special.poch(b, s))
    assert log_rising(b, s) == pytest.approx(wanted, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("n", [1, 5, 15, 16, 100, 10_000])
def test_log_rising_by_a_half_is_a_central_binomial(n: int) -> None:
    # Γ(n + ½)/Γ(n) = n √π C(2n, n)/4ⁿ
    share = float(Fraction(n * math.comb(2 * n, n), 4**n))
    assert log_rising(float(n), 0.5) == pytest.approx(math.log(math.sqrt(math.pi) * share), rel=1e-15)
