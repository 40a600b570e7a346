"""Adjusted p-values against exact rational arithmetic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from reference import number, records, relative_error

from fastgate.cells import Cells
from fastgate.stats import adjust

EPSILON = 2.0**-52
RECORDS = records("adjust")
METHODS = ("bonferroni", "holm", "hochberg", "bh", "by")


def family(record: dict[str, Any]) -> list[float]:
    return [number(p) for p in record["in"]["p"]]


@pytest.mark.parametrize("nan", ["count", "omit"])
@pytest.mark.parametrize("method", METHODS)
def test_every_family(method: str, nan: str) -> None:
    for record in RECORDS:
        adjusted = adjust(family(record), method, nan=nan)
        expected = record["out"][f"{method}_{nan}"]
        assert adjusted.shape == (len(expected),)
        for value, wanted in zip(adjusted.tolist(), expected, strict=True):
            if wanted == "nan":
                assert math.isnan(value)
            elif float(wanted) < 2.0**-1022:
                assert value == pytest.approx(float(wanted), abs=2.0**-1074)
            else:
                assert relative_error(value, wanted) <= 4.0 * EPSILON


@pytest.mark.parametrize("method", METHODS)
def test_families_together_give_the_bits_of_families_alone(method: str) -> None:
    families = [family(record) for record in RECORDS]
    together = adjust(Cells.from_samples(families), method)
    np.testing.assert_array_equal(together, np.concatenate([adjust(one, method) for one in families]))
