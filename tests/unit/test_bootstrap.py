"""The bootstrap's answers against enumeration and scipy, its statuses, and its refusals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.stats
from reference import number, records

from fastgate.cells import Cells
from fastgate.errors import ArgumentError
from fastgate.stats.bootstrap_interval import bootstrap

Array = np.ndarray[Any, np.dtype[np.float64]]
RNG = np.random.default_rng(20260101)
SKEWED = RNG.exponential(size=6)
OTHER = RNG.normal(2.0, 0.5, size=5)
METHODS = ("percentile", "basic", "normal", "bca")


def trimmed(values: Array) -> Array:
    return np.asarray(scipy.stats.trim_mean(values, 0.2, axis=-1))


def deviation(values: Array) -> Array:
    return np.std(values, axis=-1, ddof=1)


STATISTICS: dict[str, Callable[[Array], Array]] = {
    "mean": lambda values: np.mean(values, axis=-1),
    "std": deviation,
    "trimmed_mean": trimmed,
    "median": lambda values: np.median(values, axis=-1),
    "p80": lambda values: np.quantile(values, 0.8, axis=-1),
}


def everything(values: Array) -> Array:
    """All n^n resamples of a sample, as rows."""
    return np.array(list(itertools.product(values, repeat=values.size)))


def jackknife(values: Array, statistic: Callable[[Array], Array]) -> Array:
    left_out = np.array([np.delete(values, i) for i in range(values.size)])
    estimates = statistic(left_out)
    return (values.size - 1) * (estimates.mean() - estimates)


def limits(
    law: Array, theta: float, method: str, influence: list[Array], level: float = 0.9
) -> tuple[float, float]:
    """Limits from equally likely values of a law, by the textbook."""
    z = scipy.stats.norm.isf((1.0 - level) / 2.0)
    if method == "normal":
        half = z * law.std()
        return 2.0 * theta - law.mean() - half, 2.0 * theta - law.mean() + half
    ordered = np.sort(law)
    probabilities = np.array([(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    if method == "bca":
        close = 1e-12 * np.abs(ordered).max()
        z0 = scipy.stats.norm.ppf(np.mean(law < theta - close) + 0.5 * np.mean(np.abs(law - theta) <= close))
        scaled = np.concatenate([u / u.size for u in influence])
        a = np.sum(scaled**3) / (6.0 * np.sum(scaled**2) ** 1.5)
        ends = z0 + np.array([-z, z])
        probabilities = scipy.stats.norm.cdf(z0 + ends / (1.0 - a * ends))
    at = np.ceil(probabilities * law.size - 1e-7).astype(int) - 1
    low, high = ordered[np.clip(at, 0, law.size - 1)]
    return (2.0 * theta - high, 2.0 * theta - low) if method == "basic" else (low, high)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("statistic", STATISTICS)
def test_one_sample_equals_full_enumeration(statistic: str, method: str) -> None:
    function = STATISTICS[statistic]
    law, theta = function(everything(SKEWED)), float(function(SKEWED))
    result = bootstrap(SKEWED, statistic=statistic, method=method, confidence_level=0.9, trim=0.2)
    expected = limits(law, theta, method, [jackknife(SKEWED, function)])
    assert (result.status, result.engine) == ("ok", "exact")
    assert (result.estimate, result.ci_low, result.ci_high) == pytest.approx(
        (theta, *expected), rel=1e-12, abs=1e-12
    )
    assert (result.standard_error, result.bias) == pytest.approx(
        (law.std(), law.mean() - theta), rel=1e-12, abs=1e-12
    )
    assert result.half_width == pytest.approx((result.ci_high - result.ci_low) / 2.0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("statistic", [*STATISTICS, "ratio_of_means"])
def test_two_samples_equal_full_enumeration(statistic: str, method: str) -> None:
    first = SKEWED[:5]
    if statistic == "ratio_of_means":
        above, below = everything(first).mean(axis=1), everything(OTHER).mean(axis=1)
        law, theta = np.divide.outer(above, below).reshape(-1), first.mean() / OTHER.mean()
        influence = [
            jackknife(first, lambda part: part.mean(axis=-1) / OTHER.mean()),
            jackknife(OTHER, lambda part: first.mean() / part.mean(axis=-1)),
        ]
    else:
        function = STATISTICS[statistic]
        law = np.subtract.outer(function(everything(first)), function(everything(OTHER))).reshape(-1)
        theta = float(function(first) - function(OTHER))
        influence = [jackknife(first, function), -jackknife(OTHER, function)]
    result = bootstrap(first, OTHER, statistic=statistic, method=method, confidence_level=0.9, trim=0.2)
    expected = limits(law, theta, method, influence)
    assert (result.status, result.engine) == ("ok", "exact")
    assert (result.estimate, result.ci_low, result.ci_high) == pytest.approx(
        (theta, *expected), rel=1e-11, abs=1e-12
    )
    assert (result.standard_error, result.bias) == pytest.approx(
        (law.std(), law.mean() - theta), rel=1e-11, abs=1e-12
    )


def test_negative_denominators() -> None:
    up = bootstrap(SKEWED[:5], OTHER, statistic="ratio_of_means")
    down = bootstrap(SKEWED[:5], -OTHER, statistic="ratio_of_means")
    assert (down.estimate, down.ci_low, down.ci_high) == pytest.approx(
        (-up.estimate, -up.ci_high, -up.ci_low)
    )


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("two", [False, True])
def test_resampling_is_as_far_from_enumeration_as_chance_allows(statistic: str, two: bool) -> None:
    function, resamples = STATISTICS[statistic], 20_000
    first, second = SKEWED[:5], OTHER if two else None
    law = function(everything(first))
    if two:
        law = np.subtract.outer(law, function(everything(OTHER))).reshape(-1)
    close = 1e-9
    for seed in range(3):
        result = bootstrap(
            first, second, statistic=statistic, method="percentile", engine="resample", n_resamples=resamples,
            seed=seed, trim=0.2,
        )  # fmt: skip
        assert (result.status, result.engine) == ("ok", "resample")
        for limit, p in ((result.ci_low, 0.025), (result.ci_high, 0.975)):
            # The draws below a limit are binomial: 5 standard deviations, 3e-7 a side.
            chance = 5.0 * math.sqrt(p * (1.0 - p) / resamples)
            assert np.mean(law < limit - close) <= p + chance
            assert np.mean(law <= limit + close) >= p - chance
        sd = law.std()
        kurtosis = np.mean((law - law.mean()) ** 4) / sd**4
        assert abs(result.bias - (law.mean() - result.estimate)) <= 5.0 * sd / math.sqrt(resamples)
        assert abs(result.standard_error / sd - 1.0) <= 5.0 * math.sqrt((kurtosis - 1.0) / resamples) / 2.0


def test_resampled_bca_takes_the_levels_of_its_own_draws() -> None:
    values = np.random.default_rng(3).exponential(size=40)
    exact = bootstrap(values, engine="saddlepoint")
    drawn = bootstrap(values, engine="resample", n_resamples=400_000)
    width = exact.ci_high - exact.ci_low
    # A limit's simulation error is 0.7 % of the width at 10⁴ draws, 0.11 % here; five times that.
    assert abs(drawn.ci_low - exact.ci_low) < 0.0055 * width
    assert abs(drawn.ci_high - exact.ci_high) < 0.0055 * width


@pytest.mark.parametrize("paired", [False, True])
def test_studentised_resampling_agrees_with_plain_numpy(paired: bool) -> None:
    rng = np.random.default_rng(8)
    first, second = rng.exponential(size=15), rng.normal(3.0, 1.0, size=15)
    draws = 200_000
    at = rng.integers(0, 15, (draws, 15))
    other_at = at if paired else rng.integers(0, 15, (draws, 15))
    above, below = first[at], second[other_at]
    if paired:
        below, above, theta = 0.0 * above, above - below, (first - second).mean()
        se = (first - second).std(ddof=1) / math.sqrt(15)
    else:
        theta = first.mean() - second.mean()
        se = math.sqrt((first.var(ddof=1) + second.var(ddof=1)) / 15)
    errors = np.sqrt((above.var(axis=1, ddof=1) + below.var(axis=1, ddof=1)) / 15)
    t = (above.mean(axis=1) - below.mean(axis=1) - theta) / errors
    expected = theta - np.quantile(t, [0.975, 0.025]) * se
    result = bootstrap(first, second, paired=paired, method="studentised", n_resamples=draws)
    assert result.standard_error == pytest.approx(se)
    # Both sides are simulated, 0.15 % of the width each, more in the longer tail of a ratio.
    assert np.abs(expected - [result.ci_low, result.ci_high]).max() < 0.02 * 2.0 * result.half_width


def test_resamples_without_variance_are_infinite() -> None:
    # P(all draws equal 0.1) = (28/30)³⁰ = 13 %: the lower tail of t* is infinite, and the upper limit with it.
    values = [0.1] * 28 + [0.7, 1.9]
    for other, paired in ((None, False), ([0.3] * 28 + [0.3, 0.3], True)):
        result = bootstrap(values, other, paired=paired, method="studentised", engine="resample")
        assert result.status == "unbounded"
        assert result.ci_high == math.inf
        assert math.isfinite(result.ci_low)
    ratio = bootstrap(values, [2.0] * 30, paired=True, statistic="ratio_of_means", method="studentised")
    assert (ratio.status, ratio.ci_high) == ("unbounded", math.inf)


@pytest.mark.parametrize("method", ["percentile", "bca", "studentised"])
@pytest.mark.parametrize("paired", [False, True])
def test_ratio_agrees_with_scipy(method: str, paired: bool) -> None:
    rng = np.random.default_rng(9)
    first, second = rng.exponential(size=30) + 1.0, rng.normal(5.0, 1.0, size=30)
    result = bootstrap(
        first, second, statistic="ratio_of_means", paired=paired, method=method, n_resamples=100_000
    )
    assert (result.status, result.engine) == ("ok", "resample")
    if method == "studentised":
        rows = rng.integers(0, 30, (100_000, 30))
        x, y = first[rows], second[rows if paired else rng.integers(0, 30, (100_000, 30))]
        theta, ratios = first.mean() / second.mean(), x.mean(axis=1) / y.mean(axis=1)

        def error(x: Array, y: Array, rate: Any) -> Any:
            if paired:
                variance = (x - np.multiply(np.asarray(rate)[..., None], y)).var(axis=-1, ddof=1)
            else:
                variance = x.var(axis=-1, ddof=1) + rate**2 * y.var(axis=-1, ddof=1)
            return np.sqrt(variance / x.shape[-1]) / np.abs(y.mean(axis=-1))

        t = (ratios - theta) / error(x, y, ratios)
        expected = theta - np.quantile(t, [0.975, 0.025]) * error(first, second, theta)
    else:
        interval = scipy.stats.bootstrap(
            (first, second), lambda x, y, axis=-1: x.mean(axis=axis) / y.mean(axis=axis), paired=paired,
            method="BCa" if method == "bca" else method, n_resamples=100_000, rng=np.random.default_rng(1), batch=2_000,
        ).confidence_interval  # fmt: skip
        expected = np.array(interval)
    assert np.abs(expected - [result.ci_low, result.ci_high]).max() < 0.02 * 2.0 * result.half_width


def test_shared_resamples_give_intervals_as_good() -> None:
    rng = np.random.default_rng(10)
    first, second = rng.gamma(4.0, size=(30, 40)), rng.gamma(4.0, size=(30, 25))
    for other, paired in ((None, False), (second, False), (rng.gamma(4.0, size=(30, 40)), True)):
        for method in ("percentile", "bca", "normal", "basic"):
            exact = bootstrap(first, other, paired=paired, method=method, engine="auto")
            shared = bootstrap(
                first, other, paired=paired, method=method, engine="resample", shared=True, n_resamples=50_000
            )
            width = 2.0 * exact.half_width
            assert set(shared.status) == {"ok"}
            assert set(shared.engine) == {"resample"}
            # 0.31 % of the width a limit at 5·10⁴ draws, half as much again with BCa; four times that.
            smooth = exact.engine != "resample"
            assert smooth.sum() > 20
            assert np.max(np.abs(shared.ci_low - exact.ci_low)[smooth] / width[smooth]) < 0.02
            assert np.max(np.abs(shared.ci_high - exact.ci_high)[smooth] / width[smooth]) < 0.02
    ratio = bootstrap(first + 1.0, second + 1.0, statistic="ratio_of_means", n_resamples=50_000)
    shared = bootstrap(first + 1.0, second + 1.0, statistic="ratio_of_means", n_resamples=50_000, shared=True)
    assert np.max(np.abs(ratio.ci_low - shared.ci_low) / ratio.half_width) < 0.05
    assert ratio.estimate == pytest.approx(shared.estimate, rel=1e-14)


def test_shared_draws_in_parts_are_the_draws_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from fastgate.stats import bootstrap_shared

    values = RNG.exponential(size=(7, 30))
    whole = bootstrap(values, engine="resample", shared=True)
    monkeypatch.setattr(bootstrap_shared, "_DRAWS", 3 * 9999)
    monkeypatch.setattr(bootstrap_shared, "_WEIGHTS", 1000)
    parts = bootstrap(values, engine="resample", shared=True)
    assert parts.ci_low == pytest.approx(whole.ci_low, rel=1e-13)
    assert parts.ci_high == pytest.approx(whole.ci_high, rel=1e-13)


@pytest.mark.parametrize(
    ("sample", "options", "status", "engine"),
    [
        ([], {}, "too_few", "none"),
        ([1.0], {}, "too_few", "none"),
        ([1.0, math.nan], {}, "too_few", "none"),
        ([1.0, 2.0, math.inf], {}, "nonfinite", "none"),
        ([1.0, 2.0, -math.inf], {"statistic": "p95"}, "nonfinite", "none"),
        ([0.0, 1.0, 2.0], {"statistic": "proportion"}, "invalid", "none"),
        ([0.3] * 5, {}, "zero_var_equal", "exact"),
        ([0.3] * 5, {"statistic": "median", "engine": "resample"}, "zero_var_equal", "exact"),
        ([0.3] * 5, {"statistic": "std"}, "zero_var_equal", "exact"),
        ([1e17, 1e17 + 16.0, 1e17 + 32.0], {}, "precision_loss", "exact"),
        (np.arange(30.0) ** 1.5, {"engine": "exact"}, "no_exact_law", "none"),
        (np.arange(30.0) ** 1.5, {"engine": "exact", "statistic": "std"}, "no_exact_law", "none"),
        (np.arange(9.0) ** 1.5, {"engine": "saddlepoint"}, "doubtful", "saddlepoint"),
        ([0.0, 1.0] * 20, {"engine": "saddlepoint"}, "doubtful", "saddlepoint"),
        ([0.0, 0.1, 9.7], {"engine": "saddlepoint"}, "no_root", "saddlepoint"),
        (np.arange(30.0) ** 1.5, {}, "ok", "saddlepoint"),
        (np.r_[np.arange(30.0) ** 0.5, 500.1], {}, "ok", "resample"),
        ([3.0, 4.0, 5.0, 5.0] * 30, {}, "ok", "exact"),
        ([0.1, 0.2, 0.7, 0.3] * 30, {}, "ok", "exact"),
        ([1 / 3, 2 / 3, 1.0, 0.0] * 30, {}, "ok", "exact"),
        ([1e9 + 0.1, 1e9 + 0.3, 1e9 + 0.4] * 30, {}, "ok", "exact"),
        ([0.0, math.pi, math.e] * 30, {}, "ok", "exact"),
        (np.arange(8.0) ** 1.5, {}, "ok", "exact"),
        (np.arange(30.0) ** 1.5, {"method": "normal"}, "ok", "exact"),
        (np.arange(30.0) ** 1.5, {"method": "studentised"}, "ok", "resample"),
        ([0.0, 0.0, 1.3], {"method": "studentised"}, "unbounded", "exact"),
        ([0.0] * 12 + [1.3], {"method": "studentised", "engine": "resample"}, "unbounded", "resample"),
    ],
)
def test_status_and_engine(sample: Any, options: dict[str, Any], status: str, engine: str) -> None:
    result = bootstrap(sample, **options)
    assert (result.status, result.engine) == (status, engine)
    finite = math.isfinite(result.ci_low) and math.isfinite(result.ci_high)
    assert finite == (status in ("ok", "zero_var_equal", "precision_loss", "doubtful"))
    if status == "zero_var_equal":
        assert result.ci_low == result.estimate == result.ci_high
        assert (result.standard_error, result.bias, result.half_width) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("sample", "other", "options", "status"),
    [
        ([1.0, 2.0], [1.0], {}, "too_few"),
        ([1.0, 2.0], [1.0, math.inf], {}, "nonfinite"),
        ([0.3] * 3, [0.3] * 4, {}, "zero_var_equal"),
        ([0.1 + 0.2] * 3, [0.3] * 4, {}, "zero_var_equal"),
        ([0.7] * 3, [0.5] * 4, {}, "zero_var_diff"),
        ([0.7] * 3, [0.5] * 3, {"paired": True}, "zero_var_diff"),
        ([0.7, 0.8, 0.9], [0.7, 0.8, 0.9], {"paired": True}, "zero_var_equal"),
        ([0.7, 0.8, 0.9], [0.5, 0.6, 0.7], {"paired": True}, "precision_loss"),
        ([0.7] * 3, [0.5] * 3, {"statistic": "ratio_of_means"}, "zero_var_diff"),
        ([0.5] * 3, [0.5] * 3, {"statistic": "ratio_of_means"}, "zero_var_equal"),
        ([1.0, 2.0], [0.0, 0.0], {"statistic": "ratio_of_means"}, "zero_denominator"),
        ([1.0, 2.0, 3.0], [-1.0, 2.0, 1.5], {"statistic": "ratio_of_means"}, "zero_denominator"),
        (
            [1.0, 2.0, 3.0],
            [-1.0, 2.0, 1.5],
            {"statistic": "ratio_of_means", "paired": True},
            "zero_denominator",
        ),
        ([1.0, 0.0, 1.0], [2.0, 1.0, 0.0], {"statistic": "proportion", "paired": True}, "invalid"),
        ([1.0, 0.0, 1.0], [1.0, 1.0, 0.0], {"statistic": "proportion", "paired": True}, "ok"),
        ([1.0, math.nan, 3.0, 5.0], [0.5, 2.0, math.nan, 1.0], {"paired": True}, "ok"),
    ],
)
def test_status_of_two_samples(sample: Any, other: Any, options: dict[str, Any], status: str) -> None:
    result = bootstrap(sample, other, **options)
    assert result.status == status
    if status in ("too_few", "nonfinite", "invalid", "zero_denominator"):
        assert math.isnan(result.ci_low)
        assert math.isnan(result.ci_high)


def test_shared_ratio_reports_a_crossing_denominator() -> None:
    result = bootstrap(
        [[1.0, 2.0, 3.0]] * 2, [[-1.0, 2.0, 1.5], [1.0, 2.0, 1.5]], statistic="ratio_of_means", shared=True
    )
    assert result.status.tolist() == ["zero_denominator", "ok"]
    assert np.isnan(result.ci_low).tolist() == [True, False]


def test_a_level_beyond_the_draws_is_said() -> None:
    # BCa moves the upper level of this cell far out.
    values = np.r_[np.zeros(40), 40.0 + np.arange(3.0) ** 1.5]
    result = bootstrap(values, engine="resample", n_resamples=199, confidence_level=0.99)
    assert result.status == "few_resamples"


def test_a_missing_root_goes_to_resampling() -> None:
    # Within the rule, but with two small values beside thirteen zeros r* turns back before the lower limit.
    values = [0.0] * 13 + [2.419, 0.1224, 3.2415, 2.9783, 0.04917, 1.4261, 0.0823]
    options: dict[str, Any] = {"method": "percentile", "confidence_level": 0.99}
    asked, auto = bootstrap(values, engine="saddlepoint", **options), bootstrap(values, **options)
    assert (asked.status, asked.engine) == ("no_root", "saddlepoint")
    assert (auto.status, auto.engine) == ("ok", "resample")
    assert auto == bootstrap(values, engine="resample", **options)


def test_missing_values_are_dropped_and_counted() -> None:
    values = [3.0, math.nan, 1.0, 4.0, math.nan, 1.5]
    with_missing, without = bootstrap(values), bootstrap([3.0, 1.0, 4.0, 1.5])
    assert with_missing[:9] == without[:9]
    assert (with_missing.n, with_missing.n_missing, without.n_missing) == (4, 2, 0)
    pairs = bootstrap(values, [1.0, 2.0, math.nan, 2.5, 3.0, 0.5], paired=True)
    assert (pairs.n, pairs.n_other, pairs.n_missing) == (3, 3, 3)
    two = bootstrap(values, [1.0, 2.0, math.nan])
    assert (two.n, two.n_other, two.n_missing) == (4, 2, 3)


def test_many_cells_of_every_kind_of_input() -> None:
    rows = RNG.exponential(size=(4, 30))
    expected = bootstrap(rows)
    for sample in (rows.tolist(), Cells.from_samples(rows), pl.Series(rows.tolist())):
        assert bootstrap(sample).ci_low.tolist() == expected.ci_low.tolist()
    cells = Cells(np.concatenate(([99.0], rows.reshape(-1), [77.0])), 1 + 30 * np.arange(5))
    assert bootstrap(cells).ci_high.tolist() == expected.ci_high.tolist()
    single = bootstrap(pl.Series(rows[2]))
    assert isinstance(single.ci_low, float)
    assert single.ci_low == expected.ci_low[2]
    empty = bootstrap(np.empty((0, 5)))
    assert [column.size for column in empty] == [0] * len(empty)


def test_one_baseline_for_many_candidates() -> None:
    candidates, baseline = RNG.exponential(size=(3, 30)), RNG.exponential(size=25)
    many = bootstrap(candidates, baseline)
    for row in range(3):
        assert bootstrap(candidates[row], baseline).ci_low == many.ci_low[row]
    assert many.n_other.tolist() == [25] * 3


def test_two_samples_far_from_zero_keep_their_digits() -> None:
    # Multiples of 2⁻²⁰ move by 2³² without rounding.
    first, second = np.round(RNG.normal(size=(2, 40)) * 2**20) / 2**20
    for engine in ("saddlepoint", "resample"):
        near = bootstrap(first, second, engine=engine, keys=["cell"])
        far = bootstrap(first + 2.0**32, second + 2.0**32, engine=engine, keys=["cell"])
        assert far.estimate == pytest.approx(near.estimate, rel=1e-13)
        assert far.half_width == pytest.approx(near.half_width, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"statistic": "mode"}, "statistic is not known"),
        ({"statistic": "p"}, "statistic is not known"),
        ({"statistic": "p9x"}, "statistic is not known"),
        ({"statistic": None}, "statistic is not known"),
        ({"statistic": True}, "statistic is not known"),
        ({"statistic": "p0"}, "quantile is out of range"),
        ({"statistic": "p100"}, "quantile is out of range"),
        ({"statistic": 1.0}, "quantile is out of range"),
        ({"statistic": math.nan}, "quantile is out of range"),
        ({"method": "bias-corrected"}, "method is not known"),
        ({"engine": "fast"}, "engine is not known"),
        ({"confidence_level": 1.0}, "confidence level"),
        ({"confidence_level": 95}, "confidence level"),
        ({"n_resamples": 38}, "too few resamples"),
        ({"n_resamples": 0}, "n_resamples is out of range"),
        ({"n_resamples": 1e4}, "n_resamples is out of range"),
        ({"seed": -1}, "seed is out of range"),
        ({"seed": 2**64}, "seed is out of range"),
        ({"seed": 1.5}, "seed is out of range"),
        ({"trim": 0.5}, "trim is out of range"),
        ({"statistic": "ratio_of_means"}, "two samples"),
        ({"statistic": "median", "method": "studentised"}, "standard error"),
        ({"statistic": "median", "engine": "saddlepoint"}, "saddlepoint engine"),
        ({"method": "normal", "engine": "saddlepoint"}, "saddlepoint engine"),
        ({"statistic": "median", "shared": True}, "only means"),
        ({"method": "studentised", "shared": True}, "only means"),
        ({"paired": True}, "second sample"),
        ({"keys": [1, 2]}, "keys do not fit"),
        ({"keys": [1.5]}, "keys are of the wrong type"),
        ({"other": [[1.0], [2.0]], "sample": [[1.0], [2.0], [3.0]]}, "different numbers of cells"),
        ({"other": [1.0, 2.0], "paired": True}, "differ in size"),
        ({"sample": ["a"]}, "numbers"),
    ],
)
def test_refusals(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        bootstrap(**{"sample": [1.0, 2.0, 3.0], **options})


def test_the_least_number_of_resamples_is_what_the_message_says() -> None:
    with pytest.raises(ArgumentError, match="39 or more"):
        bootstrap([1.0, 2.0, 3.0], n_resamples=38)
    assert bootstrap(SKEWED, engine="resample", method="percentile", n_resamples=39).status == "ok"
    # An engine that draws nothing needs none.
    assert bootstrap(SKEWED, engine="exact", n_resamples=1).status == "ok"


def test_percentiles_and_quantiles_are_the_same_statistic() -> None:
    for name, q in (("p95", 0.95), ("p99.9", 0.999), ("median", 0.5), ("p50", 0.5)):
        assert bootstrap(SKEWED, statistic=name) == bootstrap(SKEWED, statistic=q)


def test_seeds_and_keys_choose_the_draws() -> None:
    values = RNG.exponential(size=12)
    options: dict[str, Any] = {"engine": "resample", "n_resamples": 999}
    base = bootstrap(values, **options)
    assert bootstrap(values, **options) == base
    assert bootstrap(values, seed=1, **options).ci_low != base.ci_low
    named = bootstrap(values, keys=["suite/latency"], **options)
    assert named.ci_low != base.ci_low
    assert bootstrap(values, keys=["suite/latency"], **options) == named
    assert bootstrap(values, keys=[7], **options) == bootstrap(
        values, keys=np.array([7], np.uint64), **options
    )
    assert bootstrap(values, keys=[7], **options).ci_low != bootstrap(values, keys=[8], **options).ci_low


def test_golden_bounds_hold_for_the_newton_steps_too() -> None:
    """Within the rule the engine solves by Newton; the golden records hold the same roots found by marching."""
    from fastgate.kernels.bootstrap_codes import BCA, MEAN, PERCENTILE, SADDLEPOINT, TILTED
    from fastgate.kernels.bootstrap_records import BootstrapLimits, BootstrapSamples, BootstrapTask
    from fastgate.kernels.bootstrap_saddlepoint import saddlepoint_limits

    values = np.concatenate(
        [RNG.exponential(size=(100, 20)), RNG.normal(size=(100, 20)), RNG.standard_t(2, (100, 20))]
    )
    n_cells = values.shape[0]
    arrays = [values.reshape(-1), 20 * np.arange(n_cells), np.full(n_cells, 20)]
    arrays += [np.empty(0), np.zeros(n_cells, np.int64), np.zeros(n_cells, np.int64), np.ones(n_cells)]
    for array in arrays:
        array.flags.writeable = False
    samples = BootstrapSamples._make([*arrays, False, False])
    for method in (PERCENTILE, BCA):
        for z in (0.1, 1.0, 1.96, 2.6):
            task = BootstrapTask(MEAN, 0.0, method, SADDLEPOINT, 0.05, z)
            found = []
            for easy in (0, 1):
                limits = BootstrapLimits._make(
                    [*(np.empty(n_cells) for _ in range(5)), np.zeros(n_cells, np.int8)]
                )
                route, valid = np.full(n_cells, TILTED, np.int8), np.full(n_cells, easy, np.int8)
                saddlepoint_limits(0, n_cells, samples, task, route, valid, limits)
                found.append(np.stack([limits.low, limits.high, limits.status]))
            assert np.allclose(found[0], found[1], rtol=1e-11, atol=1e-11, equal_nan=True)


def test_golden_samples_in_one_call_are_those_one_by_one() -> None:
    samples = [
        [number(value) for value in record["in"]["x"]] for record in records("bootstrap_exact", "mean")
    ]
    together = bootstrap(samples)
    for cell, sample in enumerate(samples):
        alone = bootstrap(sample)
        assert [column[cell] for column in together] == list(alone)
