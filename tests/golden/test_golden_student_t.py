"""Student's t tails and quantiles against all golden records, by value and as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference import number, records, relative_error

from fastgate.stats.distributions import student_t_isf, student_t_ppf, student_t_sf, student_t_two_sided

TAILS = records("student_t", "cdf") + records("student_t", "edge")
PPF = records("student_t", "ppf")
ISF = records("student_t", "isf")

SMALLEST = 2.0**-1074
# Asked for: 1e-13. Reached: 2e-15 down to p = 1e-200; the records hold a little beyond.
TOLERANCE = 5e-15


def column(rows: list[dict[str, Any]], name: str) -> np.ndarray[Any, Any]:
    return np.array([number(row["in"][name]) for row in rows])


def worst(values: Any, wanted: list[str]) -> tuple[float, int]:
    """The largest relative error and where; results below the normal numbers count in units of the last."""
    errors = []
    for value, text in zip(values.tolist(), wanted, strict=True):
        exact = float(text)
        if 0.0 < abs(exact) < 2.0**-1022 or value == 0.0 < abs(exact):
            errors.append(0.0 if abs(value - exact) <= 2.0 * SMALLEST else float("inf"))
        else:
            errors.append(relative_error(value, text))
    place = int(np.argmax(errors))
    return errors[place], place


def test_records_are_all_there() -> None:
    assert len(TAILS) + len(PPF) + len(ISF) == 2573


@pytest.mark.parametrize("name", ["p_two", "sf", "cdf"])
def test_tails(name: str) -> None:
    t, df = column(TAILS, "t"), column(TAILS, "df")
    values = {
        "p_two": student_t_two_sided(t, df),
        "sf": student_t_sf(t, df),
        "cdf": student_t_sf(-t, df),
    }[name]
    error, place = worst(values, [row["out"][name] for row in TAILS])
    assert error <= TOLERANCE, TAILS[place]


def test_one_value_at_a_time() -> None:
    t, df = column(TAILS, "t"), column(TAILS, "df")
    together = student_t_two_sided(t, df)
    apart = np.array([student_t_two_sided(one, other) for one, other in zip(t, df, strict=True)])
    np.testing.assert_array_equal(together, apart)


def test_logarithm_of_the_tail_where_it_is_subnormal_or_zero() -> None:
    # ln_tail says how small p is; a result of 0 may stand only for less than half the smallest float64.
    least = np.log(SMALLEST) - np.log(2.0)
    rows = [row for row in TAILS if "ln_tail" in row["out"]]
    values = student_t_sf(np.abs(column(rows, "t")), column(rows, "df"))
    logarithms = np.array([float(row["out"]["ln_tail"]) for row in rows])
    assert (values == 0.0).sum() > 20
    np.testing.assert_array_equal(values == 0.0, logarithms < least)


def test_ppf() -> None:
    values = student_t_ppf(column(PPF, "p"), column(PPF, "df"))
    error, place = worst(values, [row["out"]["x"] for row in PPF])
    assert error <= TOLERANCE, PPF[place]


def test_isf() -> None:
    values = student_t_isf(column(ISF, "q"), column(ISF, "df"))
    error, place = worst(values, [row["out"]["x"] for row in ISF])
    assert error <= TOLERANCE, ISF[place]
