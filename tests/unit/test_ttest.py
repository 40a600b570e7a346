"""Welch's and the paired t test: against scipy, statuses, options, arguments, the ends of float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats as scipy_stats

from fastgate.cells import Cells
from fastgate.errors import ArgumentError
from fastgate.stats import (
    equivalence,
    minimum_detectable_effect,
    moments,
    moments_from_summary,
    noninferiority,
    pair_moments,
    paired,
    paired_from_moments,
    welch,
    welch_from_moments,
)
from fastgate.stats.paired_ttest import paired_arrays
from fastgate.stats.summary import moments_arrays
from fastgate.stats.ttest import welch_arrays

ALTERNATIVES = ("two-sided", "less", "greater")


@pytest.fixture(scope="module")
def samples() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    generator = np.random.default_rng(20240501)
    baseline = generator.normal(0.9, 0.1, (200, 40))
    return 0.7 * baseline + generator.normal(0.3, 0.05, (200, 40)), baseline


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_welch_agrees_with_scipy(samples: Any, alternative: str, level: float) -> None:
    candidate, baseline = samples[0][:, :31], samples[1]
    result = welch(candidate, baseline, alternative=alternative, confidence_level=level)
    other = scipy_stats.ttest_ind(candidate, baseline, axis=1, equal_var=False, alternative=alternative)
    interval = other.confidence_interval(level)
    np.testing.assert_allclose(result.statistic, other.statistic, rtol=1e-11)
    np.testing.assert_allclose(result.df, other.df, rtol=1e-12)
    np.testing.assert_allclose(result.pvalue, other.pvalue, rtol=1e-10)
    np.testing.assert_allclose(result.ci_low, interval.low, rtol=1e-9)
    np.testing.assert_allclose(result.ci_high, interval.high, rtol=1e-9)
    assert set(result.status) == {"ok"}


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_paired_agrees_with_scipy(samples: Any, alternative: str) -> None:
    candidate, baseline = samples
    result = paired(candidate, baseline, alternative=alternative)
    other = scipy_stats.ttest_rel(candidate, baseline, axis=1, alternative=alternative)
    interval = other.confidence_interval(0.95)
    np.testing.assert_allclose(result.statistic, other.statistic, rtol=1e-11)
    np.testing.assert_allclose(result.pvalue, other.pvalue, rtol=1e-10)
    np.testing.assert_allclose(result.ci_low, interval.low, rtol=1e-9)
    np.testing.assert_allclose(result.ci_high, interval.high, rtol=1e-9)
    correlation = [np.corrcoef(one, two)[0, 1] for one, two in zip(candidate, baseline, strict=True)]
    np.testing.assert_allclose(result.correlation, correlation, rtol=1e-12)
    assert (result.df == 39.0).all()


@pytest.mark.parametrize(
    ("candidate", "baseline", "status"),
    [
        ([], [], "too_few"),
        ([1.0], [1.0, 2.0], "too_few"),
        ([math.nan, 1.0], [1.0, 2.0], "too_few"),
        ([math.inf], [1.0, 2.0], "nonfinite"),
        ([math.inf], [], "nonfinite"),
        ([1.0, 2.0], [math.nan, -math.inf, 3.0], "nonfinite"),
        ([0.1] * 5, [0.1] * 3, "zero_var_equal"),
        ([0.1 + 0.2] * 200, [0.3] * 200, "zero_var_equal"),
        ([0.7] * 5, [0.5] * 5, "zero_var_diff"),
        ([1.0, 1.0], [0.0, 0.0], "zero_var_diff"),
        ([0.3, 0.1 + 0.2, 0.3], [0.3, 0.3], "precision_loss"),
        ([1e12, 1e12 + 0.001, 1e12], [1e12, 1e12], "precision_loss"),
        ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], "ok"),
        ([0.0, 0.0, 0.0], [1.0, -1.0], "ok"),
    ],
)
def test_statuses_of_welch(candidate: list[float], baseline: list[float], status: str) -> None:
    for first, second in ((candidate, baseline), (baseline, candidate)):
        assert welch(first, second).status == status
    if "nonfinite" not in status:
        assert welch_from_moments(moments(candidate), moments(baseline)).status == status


@pytest.mark.parametrize(
    ("candidate", "baseline", "status", "n"),
    [
        ([], [], "too_few", 0),
        ([2.0], [1.0], "too_few", 1),
        ([2.0, math.nan, 3.0], [math.nan, 1.0, 1.0], "too_few", 1),
        ([math.nan], [math.nan], "too_few", 0),
        ([math.inf, 1.0], [1.0, 2.0], "nonfinite", 2),
        ([math.inf, 1.0, 2.0], [math.inf, 2.0, 4.0], "nonfinite", 3),
        ([math.inf, 1.0, 2.0], [math.nan, 2.0, 4.0], "ok", 2),
        ([0.1 + 0.2] * 6, [0.3] * 6, "zero_var_equal", 6),
        ([1.0, 2.0, 3.0], [0.0, 1.0, 2.0], "zero_var_diff", 3),
        ([0.1 + 0.2] * 5 + [0.3], [0.3] * 6, "precision_loss", 6),
        ([1.0, 1.0, 1.0], [1.0, 2.0, 4.0], "ok", 3),
        ([1.7e308, 0.0], [-1.7e308, 0.0], "nonfinite", 2),
    ],
)
def test_statuses_of_paired(candidate: list[float], baseline: list[float], status: str, n: int) -> None:
    for first, second in ((candidate, baseline), (baseline, candidate)):
        result = paired(first, second)
        assert (result.status, result.n, result.n_missing) == (status, n, len(candidate) - n)
        again = paired_from_moments(pair_moments(first, second))
        assert (again.status, again.n, again.n_missing) == (status, n, len(candidate) - n)


def test_zero_variance_points_in_the_direction_of_the_difference() -> None:
    assert welch([0.7] * 5, [0.5] * 5).statistic == math.inf
    assert welch([0.5] * 5, [0.7] * 5).statistic == -math.inf
    assert paired([1.0, 2.0], [2.0, 3.0]).statistic == -math.inf
    assert math.isnan(welch([0.5] * 5, [0.5] * 5).statistic)
    assert welch([0.5] * 5, [0.7] * 5).delta == pytest.approx(-0.2)


def test_one_constant_side_takes_its_degrees_of_freedom_from_the_other() -> None:
    result = welch([0.1] * 9, [0.1, 0.3, 0.2, 0.6])
    assert result.df == 3.0
    assert result.status == "ok"
    assert math.isnan(welch([0.1] * 9, [0.1, 0.3]).hedges_g)  # J(1) does not exist


def test_too_few_still_has_the_difference() -> None:
    result = welch([3.0], [1.0, 2.0])
    assert result.delta == 1.5
    assert math.isnan(result.pvalue)
    assert (result.n_candidate, result.n_baseline) == (1, 2)


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-200, 1e-80, 1e80, 1e200, 1e300])
def test_magnitudes(scale: float) -> None:
    candidate, baseline = np.array([3.0, 1.0, 4.0, 1.5]), np.array([5.0, 9.0, 2.0, 6.0, 5.0])
    plain = welch(candidate, baseline)
    # In the subnormal range the values themselves are rounded.
    rel = 1e-3 if scale < 1e-310 else 1e-13
    result = welch(candidate * scale, baseline * scale)
    assert result.status == "ok"
    for name in ("statistic", "df", "pvalue", "cohens_d", "hedges_g"):
        assert getattr(result, name) == pytest.approx(getattr(plain, name), rel=rel), name
    for name in ("delta", "ci_low", "ci_high", "standard_error"):
        assert getattr(result, name) == pytest.approx(getattr(plain, name) * scale, rel=rel, abs=5e-324), name

    plain_pairs = paired(candidate, baseline[:4])
    pairs = paired(candidate * scale, baseline[:4] * scale)
    assert pairs.status == "ok"
    for name in ("statistic", "pvalue", "correlation", "cohens_dz", "hedges_g"):
        assert getattr(pairs, name) == pytest.approx(getattr(plain_pairs, name), rel=rel), name


def test_sides_of_different_magnitude() -> None:
    result = welch([1e-200, 3e-200], [1e200, 3e200, 2e200])
    assert result.status == "ok"
    assert result.df == 2.0
    assert result.statistic == pytest.approx(-2.0 / math.sqrt(1.0 / 3.0), rel=1e-13)
    far = welch([1e200, 1e200], [1e-200, 3e-200])
    assert far.status == "precision_loss"
    assert far.statistic == math.inf


def test_moments_beyond_float64_are_noticed() -> None:
    candidate, baseline = np.array([3.0, 1.0, 4.0]), np.array([5.0, 9.0, 2.0])
    for scale, status in ((1e-170, "precision_loss"), (1e170, "nonfinite")):
        test = welch_from_moments(moments(candidate * scale), moments(baseline * scale))
        assert test.status == status
        pairs = paired_from_moments(pair_moments(candidate * scale, baseline * scale))
        assert pairs.status == status
    near = welch_from_moments(moments(candidate * 1e150), moments(baseline * 1e150))
    assert near.status == "ok"
    assert near.pvalue == pytest.approx(welch(candidate, baseline).pvalue, rel=1e-12)


def test_summaries_without_extremes_fail_closed() -> None:
    """A constant cell whose variance another engine returns as rounding noise, or as 0."""
    noise = moments_from_summary(5, 0.7, variance=1.5e-32), moments_from_summary(5, 0.5, variance=1.5e-32)
    assert welch_from_moments(*noise).status == "precision_loss"
    zero = moments_from_summary(5, 0.7, variance=0.0), moments_from_summary(5, 0.5, variance=0.0)
    assert welch_from_moments(*zero).status == "zero_var_diff"


def test_results_of_one_cell_are_scalars(samples: Any) -> None:
    one = welch(samples[0][0], samples[1][0])
    assert [type(value) for value in one] == [*[float] * 8, int, int, str, float]
    kinds = [type(value) for value in paired(samples[0][0], samples[1][0])]
    assert kinds == [*[float] * 11, int, int, float, float, str, float]


def test_one_baseline_for_many_candidates(samples: Any) -> None:
    candidate, baseline = samples
    many = welch(candidate, baseline[0])
    for row in (0, 17, 199):
        assert many.pvalue[row] == welch(candidate[row], baseline[0]).pvalue
    assert welch(candidate[0], baseline).delta.shape == (200,)
    assert paired(candidate, baseline[0]).correlation.shape == (200,)
    assert (
        welch_from_moments(moments(candidate), moments(baseline[0])).pvalue.tolist() == many.pvalue.tolist()
    )


def test_without_interval(samples: Any) -> None:
    for test in (welch, paired):
        quick, full = test(*samples, interval=False), test(*samples)
        assert np.isnan(quick.ci_low).all()
        assert np.isnan(quick.ci_high).all()
        assert quick.pvalue.tolist() == full.pvalue.tolist()


def test_no_cells() -> None:
    nothing = Cells.from_samples([])
    for result in (welch(nothing, nothing), paired(nothing, nothing)):
        assert all(column.size == 0 for column in result)


@pytest.mark.parametrize("test", [welch, paired])
def test_arguments(test: Any) -> None:
    with pytest.raises(ArgumentError, match="alternative is not known") as caught:
        test([1.0, 2.0], [3.0, 4.0], alternative="larger")
    assert caught.value.received == "'larger'"
    for level in (0.0, 1.0, 95.0, math.nan):
        with pytest.raises(ArgumentError, match="confidence level"):
            test([1.0, 2.0], [3.0, 4.0], confidence_level=level)
    with pytest.raises(ArgumentError, match="different numbers of cells") as caught:
        test([[1.0], [2.0], [3.0]], [[1.0], [2.0]])
    assert (caught.value.expected, caught.value.received) == (
        "3 cells, as in candidate, or one to compare each with",
        "2 cells",
    )
    with pytest.raises(ArgumentError, match="does not hold numbers") as caught:
        test([1.0, 2.0], ["a", "b"])
    with pytest.raises(ArgumentError, match="different numbers"):
        test(Cells.from_samples([]), [[1.0], [2.0]])


def test_pairs_of_unequal_size() -> None:
    with pytest.raises(ArgumentError, match="differ in size") as caught:
        paired([[1.0, 2.0], [1.0, 2.0]], [[1.0, 2.0], [1.0]])
    assert caught.value.where == "argument baseline, cell 1"
    with pytest.raises(ArgumentError, match="differ in size"):
        pair_moments([1.0], [1.0, 2.0])


def test_moments_are_asked_for_by_name() -> None:
    with pytest.raises(ArgumentError, match="are not moments") as caught:
        welch_from_moments([1.0, 2.0], [3.0, 4.0])  # type: ignore[arg-type]
    assert "welch" in str(caught.value.hint)
    with pytest.raises(ArgumentError, match="not moments of pairs"):
        paired_from_moments(moments([1.0]))  # type: ignore[arg-type]


def test_indexed_twins(samples: Any) -> None:
    values = np.concatenate([sample.ravel() for sample in samples])
    offsets = np.arange(401) * 40
    candidate, baseline = np.arange(200), np.arange(200, 400)
    indexed = welch_arrays(moments_arrays(values, offsets), candidate, baseline)
    public = welch(*samples)
    indexed_pairs = paired_arrays((values, offsets), (values, offsets), candidate, baseline)
    public_pairs = paired(*samples)
    for ours, theirs in ((indexed, public), (indexed_pairs, public_pairs)):
        for name, column in theirs._asdict().items():
            if name != "status":
                np.testing.assert_array_equal(getattr(ours, name), column, err_msg=name)
        assert (ours.status == 0).all()


def test_an_absent_cell_is_too_few() -> None:
    values, offsets = np.array([1.0, 2.0, 4.0, 5.0, 3.0]), np.array([0, 2, 4, 5])
    index = np.array([-1, 0, 1, 2])
    other = np.array([0, -1, 0, 0])
    result = welch_arrays(moments_arrays(values, offsets), index, other)
    assert result.status.tolist() == [1, 1, 0, 1]
    assert result.n_candidate.tolist() == [0, 2, 2, 1]
    pairs = paired_arrays((values, offsets), (values, offsets), index, other)
    assert pairs.status.tolist() == [1, 1, 4, 1]
    assert pairs.n.tolist() == [0, 0, 2, 0]
    nowhere = np.array([-1])
    assert welch_arrays(
        moments_arrays(np.empty(0), np.zeros(1, np.int64)), nowhere, nowhere
    ).status.tolist() == [1]
    empty = np.empty(0), np.zeros(1, np.int64)
    assert paired_arrays(empty, empty, nowhere, nowhere).status.tolist() == [1]


def test_margins_show_nothing_without_noise() -> None:
    for error in (0.0, math.nan):
        assert math.isnan(noninferiority(0.0, error, 10.0, 0.1).pvalue)
        assert math.isnan(equivalence(0.0, error, 10.0, -0.1, 0.1).pvalue)
    several = noninferiority([0.0, math.nan], 0.01, 10.0, 0.1)
    assert math.isnan(several.pvalue[1])
    assert several.pvalue[0] < 1e-5


def test_arguments_of_margins_and_power() -> None:
    for margin in (0.0, -0.1, math.nan, [0.1, 0.0]):
        with pytest.raises(ArgumentError, match="margin"):
            noninferiority(0.0, 0.1, 10.0, margin)
    with pytest.raises(ArgumentError, match="direction"):
        noninferiority(0.0, 0.1, 10.0, 0.1, direction="up")
    with pytest.raises(ArgumentError, match="limits"):
        equivalence(0.0, 0.1, 10.0, 0.1, -0.1)
    with pytest.raises(ArgumentError, match="alternative"):
        minimum_detectable_effect(0.1, 10.0, alternative="both")
    for alpha, power in ((0.0, 0.8), (0.05, 1.0), (0.9, 0.8), (math.nan, 0.8)):
        with pytest.raises(ArgumentError, match="alpha or power"):
            minimum_detectable_effect(0.1, 10.0, alpha=alpha, power=power)


def test_detectable_effects_of_many_cells() -> None:
    effects = minimum_detectable_effect(np.array([0.1, 0.2, math.nan]), np.array([10.0, 10.0, 10.0]))
    assert effects[1] == pytest.approx(2.0 * effects[0], rel=1e-15)
    assert math.isnan(effects[2])
    one_sided = minimum_detectable_effect(0.1, 10.0, alternative="less")
    assert one_sided == pytest.approx(minimum_detectable_effect(0.1, 10.0, alpha=0.1), rel=1e-12)
