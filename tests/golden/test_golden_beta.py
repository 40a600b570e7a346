"""Quantiles and tails of the beta distribution, at the level of the kernels, against the golden records."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest
from reference import number, records, relative_error

from fastgate.kernels.beta import beta_tails, lower_quantile
from fastgate.kernels.special import normal_isf

RECORDS = records("beta_width", "beta")


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["id"])
def test_quantiles_and_tails(record: dict[str, dict[str, str]]) -> None:
    a, b = number(record["in"]["a"]), number(record["in"]["b"])
    half = 0.5 * (1.0 - number(record["in"]["level"]))
    z = -normal_isf(half)
    out = record["out"]
    x, y, below = lower_quantile(a, b, half, z)
    upper_y, upper_x, above = lower_quantile(b, a, half, z)
    # A shape of s turns a rounding error of the probability into one of about ε/s of the quantile.
    tolerance = max(1e-14, 4.0 * 2.0**-52 / min(a, b))
    for value, key in ((x, "lo"), (y, "one_minus_lo"), (upper_x, "hi"), (upper_y, "one_minus_hi")):
        assert relative_error(value, out[key]) <= tolerance, key
    with localcontext() as context:
        context.prec = 40
        mean = Decimal(a) / (Decimal(a) + Decimal(b))
        for distance, limit in ((below, Decimal(out["lo"])), (-above, Decimal(out["hi"]))):
            scale = min(abs(limit - mean), mean, 1 - mean)
            assert abs(Decimal(distance) - (limit - mean)) <= Decimal(2.0 * tolerance) * max(
                scale, abs(limit - mean)
            )
    if x > 1e-300 and y > 1e-300:
        # The tail at the rounded quantile differs by the density times its rounding, which n·x·y bounds.
        tail, rest = beta_tails(a, b, x, y)
        assert tail == pytest.approx(half, rel=1e-13 + 1e-15 * (a + b) ** 0.5)
        assert tail + rest == pytest.approx(1.0, rel=1e-15)
