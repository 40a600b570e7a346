"""The normal tail and quantile that every interval rests on, against the golden records."""

from __future__ import annotations

import math

import pytest
from reference import number, records, relative_error

from fastgate.kernels.special import normal_isf, normal_sf

QUANTILES = records("normal_width", "norm_ppf")
TAILS = records("normal_width", "norm_cdf")


@pytest.mark.parametrize("record", QUANTILES, ids=lambda record: record["id"])
def test_quantile(record: dict[str, dict[str, str]]) -> None:
    assert relative_error(-normal_isf(number(record["in"]["p"])), record["out"]["x"]) <= 1e-15


@pytest.mark.parametrize("record", TAILS, ids=lambda record: record["id"])
def test_tail(record: dict[str, dict[str, str]]) -> None:
    x = number(record["in"]["x"])
    for value, key in ((normal_sf(x), "sf"), (normal_sf(-x), "cdf")):
        wanted = record["out"][key]
        if 0.0 < float(wanted) < 2.0**-1022:
            assert math.isclose(value, float(wanted), abs_tol=2.0**-1073, rel_tol=0.0)
        else:
            assert relative_error(value, wanted) <= 1e-15
