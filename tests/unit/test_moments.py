"""Moments: against exact arithmetic, of every kind of input, and at the ends of float64."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from fastgate.cells import Cells
from fastgate.errors import ArgumentError
from fastgate.stats import Moments, merge_moments, moments, moments_from_summary
from fastgate.stats.summary import moments_arrays

EPSILON = 2.0**-52


def exact(sample: list[float]) -> tuple[Fraction, Fraction, Fraction]:
    """Mean, M2, M3 without rounding."""
    values = [Fraction(value) for value in sample]
    mean = sum(values, Fraction(0)) / len(values)
    return (
        mean,
        sum(((value - mean) ** 2 for value in values), Fraction(0)),
        sum(((value - mean) ** 3 for value in values), Fraction(0)),
    )


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 1000, 4097])
@pytest.mark.parametrize("offset", [0.0, -3.0, 1e12])
def test_sizes_around_the_widths_of_vector_registers(n: int, offset: float) -> None:
    sample = (np.random.default_rng(n).normal(size=n) + offset).tolist()
    mean, m2, m3 = exact(sample)
    result = moments(sample)
    assert abs(Fraction(result.mean) - mean) <= EPSILON * max(abs(x) for x in sample)
    assert abs(Fraction(result.m2) - m2) <= 4 * n * EPSILON * m2
    assert abs(Fraction(result.m3) - m3) <= 4 * n * EPSILON * sum(
        abs(Fraction(x) - mean) ** 3 for x in sample
    )
    # The centre keeps what the mean must round.
    unsummed = Fraction(result.shift) + Fraction(result.centre)
    assert abs(unsummed - mean) <= 2 * EPSILON * max(abs(Fraction(x) - Fraction(sample[0])) for x in sample)


def test_a_single_sample_gives_scalars() -> None:
    result = moments([1.0, 2.0, 6.0])
    assert result == Moments(3, 0, 3.0, 7.0, 14.0, 18.0, 1.0, 2.0, False, "ok")
    assert [type(value) for value in result] == [int, int, *[float] * 6, bool, str]


def test_many_cells_give_arrays() -> None:
    result = moments([[1.0, 2.0, 6.0], [4.0, 4.0, 4.0]])
    kinds = ["int64", "int64", *["float64"] * 6, "bool", "object"]
    assert [column.dtype.name for column in result] == kinds
    assert result.constant.tolist() == [False, True]
    assert result.variance.tolist() == [7.0, 0.0]


@pytest.mark.parametrize(
    "sample",
    [
        [[1.0, 2.0], [3.0], []],
        Cells.from_samples([[1, 2], [3], []]),
        pl.Series([[1.0, 2.0], [3.0], []]),
        pl.Series([[1, 2], [3], None]),
        pa.array([[1.0, 2.0], [3.0], []]),
        pa.chunked_array([pa.array([[1.0, 2.0]]), pa.array([[3.0], []])]),
    ],
    ids=["lists", "cells", "polars", "polars-int-null", "arrow", "arrow-chunks"],
)
def test_every_kind_of_input(sample: object) -> None:
    result = moments(sample)
    assert result.n.tolist() == [2, 1, 0]
    np.testing.assert_equal(result.mean, [1.5, 3.0, math.nan])
    assert result.status.tolist() == ["ok", "too_few", "too_few"]


def test_integers_booleans_and_float32() -> None:
    assert moments(np.array([1, 2, 6])).variance == 7.0
    assert moments(np.array([True, False])).mean == 0.5
    assert moments(np.array([1.0, 2.0, 6.0], np.float32)).variance == 7.0


def test_no_cells() -> None:
    result = moments(Cells.from_samples([]))
    assert all(column.size == 0 for column in result)


def test_missing_values_are_dropped_wherever_they_stand() -> None:
    whole = moments([5.0, 1.0, 4.0])
    for sample in ([math.nan, 5.0, 1.0, 4.0], [5.0, math.nan, 1.0, math.nan, 4.0], [5.0, 1.0, 4.0, math.nan]):
        result = moments(sample)
        assert result == whole._replace(n_missing=len(sample) - 3)
    empty = moments([math.nan, math.nan])
    assert (empty.n, empty.n_missing, empty.m2, empty.status) == (0, 2, 0.0, "too_few")
    assert math.isnan(empty.mean)
    assert math.isnan(empty.variance)


@pytest.mark.parametrize(
    "sample", [[math.inf], [1.0, -math.inf], [math.inf, -math.inf], [math.nan, math.inf, 2.0]]
)
def test_infinities_are_nonfinite(sample: list[float]) -> None:
    result = moments(sample)
    assert result.status == "nonfinite"
    assert result.n == sum(not math.isnan(value) for value in sample)
    assert all(math.isnan(value) for value in (result.mean, result.variance, result.m2, result.m3))
    assert not result.constant


def test_constant_means_equal_values_not_a_zero_sum() -> None:
    assert moments([0.1] * 5).constant
    assert moments([0.1] * 5).m2 == 0.0
    assert not moments([0.3, 0.1 + 0.2]).constant
    assert moments([0.0, -0.0]).constant
    tiny = moments([0.0, 5e-324])  # its square is 0 in float64
    assert not tiny.constant
    assert tiny.status == "ok"


@pytest.mark.parametrize("power", [-1074, -1022, -700, -300, 300, 700, 1000])
def test_scaling_by_a_power_of_two_changes_nothing_else(power: int) -> None:
    sample = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0])
    plain = moments_arrays(sample, np.array([0, 8]))
    large = moments_arrays(np.ldexp(sample, power), np.array([0, 8]))
    e = large.exponent[0]
    assert (e != 0) == (abs(power) > 250)
    assert math.ldexp(large.centre[0], int(e) - power) == pytest.approx(plain.centre[0], rel=4 * EPSILON)
    m2 = math.ldexp(large.m2[0], 2 * (int(e) - power))
    assert m2 == pytest.approx(plain.m2[0], rel=8 * EPSILON)


def test_the_range_of_values_may_exceed_that_of_float64() -> None:
    result = moments([1.7e308, -1.7e308, 0.0, 0.0])
    assert result.status == "ok"
    assert abs(result.mean) <= 1e292
    assert result.m2 == math.inf


def test_read_only_and_sliced_arrays() -> None:
    values = np.arange(10.0)
    values.flags.writeable = False
    offsets = np.array([2, 5, 9])
    result = moments(Cells(values, offsets))
    assert result.mean.tolist() == [3.0, 6.5]
    assert moments(values[::2]).mean == 4.0


def test_third_moments_are_optional_inside() -> None:
    offsets = np.array([0, 3, 3])
    without = moments_arrays(np.array([1.0, 2.0, 6.0]), offsets)
    with_third = moments_arrays(np.array([1.0, 2.0, 6.0]), offsets, third=True)
    assert np.isnan(without.m3).all()
    assert with_third.m3.tolist() == [18.0, 0.0]
    assert without.m2.tolist() == with_third.m2.tolist()


def test_merging_with_an_empty_part_is_the_identity() -> None:
    whole, empty = moments([1.0, 2.0, 6.0, math.nan]), moments([math.nan])
    assert merge_moments(whole, empty) == whole._replace(n_missing=2)
    assert merge_moments(empty, whole) == whole._replace(n_missing=2)
    assert merge_moments(empty, empty).n == 0


def test_merging_constants() -> None:
    same = merge_moments(moments([0.1, 0.1]), moments([0.1]))
    assert same.constant
    assert same.m2 == 0.0
    assert not merge_moments(moments([0.1, 0.1]), moments([0.1 + 0.2])).constant
    apart = merge_moments(moments([2.0]), moments([4.0]))
    assert (apart.mean, apart.m2, apart.constant, apart.status) == (3.0, 2.0, False, "ok")


def test_merging_keeps_infinities() -> None:
    for merged in (
        merge_moments(moments([math.inf]), moments([1.0, 2.0])),
        merge_moments(moments([1.0, 2.0]), moments([math.inf, 1.0])),
    ):
        assert merged.status == "nonfinite"
        assert math.isnan(merged.mean)


@pytest.mark.parametrize("scale", [1e-130, 1e-75, 1e75, 1e130])
def test_merging_at_extreme_magnitudes(scale: float) -> None:
    whole = moments(np.array([1.0, 2.0, 6.0, 3.0]) * scale)
    merged = merge_moments(moments(np.array([1.0, 2.0]) * scale), moments(np.array([6.0, 3.0]) * scale))
    assert merged.mean == pytest.approx(whole.mean, rel=1e-15, abs=0.0)
    assert merged.m2 == pytest.approx(whole.m2, rel=1e-14, abs=0.0)


def test_merging_needs_the_same_cells() -> None:
    with pytest.raises(ArgumentError, match="different numbers of cells") as caught:
        merge_moments(moments([[1.0], [2.0]]), moments([1.0]))
    assert caught.value.expected == "2 cells, as in a"
    with pytest.raises(ArgumentError, match="are not moments"):
        merge_moments(moments([1.0]), [1.0])  # type: ignore[arg-type]
    uneven = moments([[1.0], [2.0]])._replace(m2=np.zeros(3))
    with pytest.raises(ArgumentError, match="differ in length"):
        merge_moments(uneven, uneven)


def test_from_summary() -> None:
    sample = [1.0, 2.0, 6.0]
    direct = moments(sample)
    for given in (
        moments_from_summary(3, 3.0, m2=14.0, m3=18.0),
        moments_from_summary(3, 3.0, variance=7.0, m3=18.0),
    ):
        assert given._replace(shift=1.0, centre=2.0) == direct
    many = moments_from_summary([3, 0, 1], [3.0, math.nan, 5.0], m2=[14.0, math.nan, math.nan])
    assert many.status.tolist() == ["ok", "too_few", "too_few"]
    assert many.m2.tolist() == [14.0, 0.0, 0.0]
    assert math.isnan(moments_from_summary(3, 3.0, m2=14.0).m3)
    assert moments_from_summary([3, 4], 0.0, variance=1.0).m2.tolist() == [2.0, 3.0]


def test_from_summary_knows_a_constant_by_its_extremes() -> None:
    noise = {"m2": 9.6e-35}
    assert not moments_from_summary(5, 0.1, **noise).constant
    known = moments_from_summary(5, 0.1, **noise, minimum=0.1, maximum=0.1)
    assert known.constant
    assert known.m2 == 0.0
    assert not moments_from_summary(5, 0.1, m2=0.0, minimum=0.0, maximum=1e-320).constant
    assert moments_from_summary(5, 0.1, m2=0.0).constant


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 3, "mean": 0.0}, "spread"),
        ({"n": 3, "mean": 0.0, "m2": 1.0, "variance": 1.0}, "spread"),
        ({"n": -1, "mean": 0.0, "m2": 1.0}, "n is outside"),
        ({"n": 2.5, "mean": 0.0, "m2": 1.0}, "n is outside"),
        ({"n": math.nan, "mean": 0.0, "m2": 1.0}, "n is outside"),
        ({"n": 3, "mean": 0.0, "m2": [1.0, -1.0]}, "m2 is outside"),
        ({"n": 3, "mean": 0.0, "variance": -1.0}, "variance is outside"),
        ({"n": [3, 3], "mean": [0.0, 0.0, 0.0], "m2": 1.0}, "fit together"),
        ({"n": [[3]], "mean": 0.0, "m2": 1.0}, "fit together"),
    ],
)
def test_from_summary_refuses(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        moments_from_summary(**arguments)  # type: ignore[arg-type]


def test_from_summary_with_a_number_that_is_none() -> None:
    assert moments_from_summary(3, math.nan, m2=1.0).status == "nonfinite"
    assert moments_from_summary(3, 1.0, m2=math.nan).status == "nonfinite"
    assert moments_from_summary(3, 1.0, m2=math.inf).status == "nonfinite"
