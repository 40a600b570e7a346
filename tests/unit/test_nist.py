"""NIST's Statistical Reference Datasets (StRD): univariate summaries and one-way analyses of variance.

The certified values belong to the decimal data. Where those cannot be held in float64 (1e12 + 0.4 keeps four decimals)
digits are lost on reading, before anything is computed. Results are therefore compared twice: with exact rational
arithmetic on the float64 inputs, to full accuracy; and with the certified values, to 14 digits or as many as that exact
arithmetic attains.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fastgate.cells import Cells
from fastgate.stats import Moments, merge_moments, moments, welch

FOLDER = Path(__file__).parent.parent / "golden" / "nist"
DATA = pl.read_parquet(FOLDER / "ref_nist.parquet")
CERTIFIED = json.loads((FOLDER / "ref_nist_certified.json").read_text())


def digits(value: float | Fraction, expected: str | Fraction) -> float:
    """The number of correct decimal digits, at most 17."""
    exact = Fraction(expected)
    error = abs((Fraction(value) - exact) / exact)
    return min(-math.log10(error), 17.0) if error else 17.0


def root(value: Fraction) -> Fraction:
    with localcontext(prec=60):
        return Fraction((Decimal(value.numerator) / Decimal(value.denominator)).sqrt())


def groups(name: str) -> list[list[float]]:
    rows = DATA.filter(pl.col("name") == name).sort("group", "i")
    return [part["y"].to_list() for part in rows.partition_by("group")]


def exact_moments(sample: list[float]) -> tuple[Fraction, Fraction]:
    values = [Fraction(value) for value in sample]
    mean = sum(values, Fraction(0)) / len(values)
    return mean, sum(((value - mean) ** 2 for value in values), Fraction(0))


def check_certified(value: float, exact: Fraction, certified: str) -> None:
    assert digits(value, exact) >= 14.0
    assert digits(value, certified) >= min(14.0, digits(exact, certified) - 0.05)


@pytest.mark.parametrize("certified", CERTIFIED["univariate"], ids=lambda record: record["name"])
def test_univariate(certified: dict[str, Any]) -> None:
    (sample,) = groups(certified["name"])
    result = moments(sample)
    assert result.n == certified["n"]
    mean, m2 = exact_moments(sample)
    check_certified(result.mean, mean, certified["certified_mean"])
    check_certified(
        math.sqrt(result.variance), root(m2 / (len(sample) - 1)), certified["certified_sd_sample"]
    )


def test_what_the_inputs_allow() -> None:
    """14 digits of every mean, and of the standard deviation but for the two sets that lose them on reading."""
    lossy = set()
    for certified in CERTIFIED["univariate"]:
        (sample,) = groups(certified["name"])
        mean, m2 = exact_moments(sample)
        assert digits(mean, certified["certified_mean"]) >= 14.0
        if digits(root(m2 / (len(sample) - 1)), certified["certified_sd_sample"]) < 14.0:
            lossy.add(certified["name"])
    assert lossy == {"Mavro", "NumAcc3"}


@pytest.mark.parametrize("certified", CERTIFIED["anova"], ids=lambda record: record["name"])
def test_one_way(certified: dict[str, Any]) -> None:
    samples = groups(certified["name"])
    assert len(samples) == certified["groups"]
    cells = moments(Cells.from_samples(samples))
    exact = [exact_moments(sample) for sample in samples]
    for cell, (mean, m2) in enumerate(exact):
        assert digits(cells.mean[cell], mean) >= 15.0
        assert digits(cells.m2[cell], m2) >= 14.0

    whole = reduce(
        merge_moments, [Moments(*(column[cell] for column in cells)) for cell in range(len(samples))]
    )
    _, total = exact_moments([value for sample in samples for value in sample])
    assert whole.n == certified["n"]
    assert digits(whole.m2, total) >= 14.0

    within, exact_within = math.fsum(cells.m2), sum((m2 for _, m2 in exact), Fraction(0))
    between, exact_between = whole.m2 - within, total - exact_within
    df_between, df_within = certified["df_between"], certified["df_within"]
    check_certified(
        math.sqrt(within / df_within), root(exact_within / df_within), certified["certified_residual_sd"]
    )
    check_certified(between, exact_between, certified["certified_ss_between"])
    check_certified(
        (between / df_between) / (within / df_within),
        (exact_between / df_between) / (exact_within / df_within),
        certified["certified_F"],
    )


def test_two_groups_by_welch() -> None:
    """AtmWtAg: with two groups of equal size the square of Welch's statistic is the F of the analysis of variance."""
    first, second = groups("AtmWtAg")
    (certified,) = (record for record in CERTIFIED["anova"] if record["name"] == "AtmWtAg")
    exact = [exact_moments(sample) for sample in (first, second)]
    n = len(first)
    assert n == len(second)
    f = (exact[1][0] - exact[0][0]) ** 2 / ((exact[0][1] + exact[1][1]) / (n - 1) / n)
    statistic = welch(second, first).statistic
    assert (
        digits(statistic**2, f) >= 12.5
    )  # 8 roundings of the mean of 108 over the standard error 4.4e-6, twice
    assert digits(statistic**2, certified["certified_F"]) >= digits(f, certified["certified_F"]) - 0.05
