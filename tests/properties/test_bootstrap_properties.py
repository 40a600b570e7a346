"""What the bootstrap must not depend on, and what it must follow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastgate.cells import Cells
from fastgate.stats.bootstrap_interval import bootstrap

RNG = np.random.default_rng(12)
# Every engine and route: tiny, tied, lattice, continuous, outlier, constant, empty, missing.
MIXED = [
    RNG.exponential(size=40),
    RNG.integers(1, 6, 50).astype(float),
    RNG.exponential(size=6),
    np.r_[RNG.exponential(size=30), 400.25],
    np.full(5, 0.3),
    np.empty(0),
    np.r_[RNG.normal(size=25), np.nan, np.nan],
    (RNG.random(60) < 0.9).astype(float),
    np.array([0.0, np.pi, np.e] * 7),
    np.array([1.0, np.inf]),
]
PARTNERS = [RNG.exponential(size=values.size) for values in MIXED]
CASES: list[dict[str, Any]] = [
    {},
    {"method": "percentile"},
    {"engine": "resample"},
    {"engine": "resample", "method": "studentised"},
    {"statistic": "p95"},
    {"statistic": "median", "engine": "resample"},
    {"statistic": "std"},
    {"statistic": "trimmed_mean"},
    {"other": True},
    {"other": True, "statistic": "p95"},
    {"other": True, "engine": "resample"},
    {"other": True, "statistic": "ratio_of_means"},
    {"other": True, "paired": True},
    {"other": True, "paired": True, "statistic": "ratio_of_means"},
]
OPTIONS: dict[str, Any] = {"n_resamples": 499}


def answer(order: list[int], case: dict[str, Any], **more: Any) -> list[Any]:
    options = {**OPTIONS, **case, **more}
    if options.pop("other", False):
        options["other"] = Cells.from_samples([PARTNERS[cell] for cell in order])
    return list(bootstrap(Cells.from_samples([MIXED[cell] for cell in order]), **options))


def same(left: list[Any], right: list[Any]) -> bool:
    return all(np.array_equal(x, y, equal_nan=x.dtype.kind == "f") for x, y in zip(left, right, strict=True))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_cell_depends_on_itself_alone(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = answer(list(range(len(MIXED))), case)
    order = RNG.permutation(len(MIXED)).tolist()
    assert same(answer(order, case), [column[order] for column in whole])
    for cell in (0, 3, 8):
        assert same(answer([cell], case), [column[[cell]] for column in whole])
    many = list(range(len(MIXED))) * 20
    for threads in ("1", "3"):
        monkeypatch.setenv("FASTGATE_NUM_THREADS", threads)
        assert same(answer(many, case), [np.tile(column, 20) for column in whole])


@pytest.mark.parametrize("case", CASES[:12], ids=str)
def test_the_order_of_values_does_not_matter(case: dict[str, Any]) -> None:
    options = {**OPTIONS, **case}
    partner = options.pop("other", None)
    for values, partners in zip(MIXED, PARTNERS, strict=True):
        other = partners if partner else None
        shuffled = RNG.permutation(values)
        one = bootstrap(values, other, **options)
        two = bootstrap(shuffled, RNG.permutation(other) if partner else None, **options)
        assert one.status == two.status
        assert one.engine == two.engine
        assert np.allclose(one[:6], two[:6], rtol=1e-9, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("engine", ["auto", "resample"])
@pytest.mark.parametrize("statistic", ["mean", "p95", "std", "trimmed_mean"])
@pytest.mark.parametrize("method", ["percentile", "basic", "normal", "bca"])
def test_scaling_and_shifting(statistic: str, method: str, engine: str) -> None:
    scale, shift = 4.0, 8.0  # exact in float64
    for values in (MIXED[0], MIXED[1], MIXED[2], MIXED[3]):
        options = {**OPTIONS, "statistic": statistic, "method": method, "engine": engine, "keys": [1]}
        plain, moved = bootstrap(values, **options), bootstrap(values * scale + shift, **options)
        add = 0.0 if statistic == "std" else shift
        assert plain.engine == moved.engine
        expected = [plain.estimate * scale + add, plain.ci_low * scale + add, plain.ci_high * scale + add]
        assert moved[:3] == pytest.approx(tuple(expected), rel=1e-11)
        assert moved.standard_error == pytest.approx(plain.standard_error * scale, rel=1e-11)
        assert moved.bias == pytest.approx(plain.bias * scale, rel=1e-8, abs=1e-11)


@pytest.mark.parametrize("statistic", ["mean", "p80", "std"])
@pytest.mark.parametrize("method", ["percentile", "basic", "normal", "bca"])
def test_swapping_the_samples_flips_the_interval(statistic: str, method: str) -> None:
    for rows in ((0, 6), (1, 7), (2, 8), (0, 3)):
        first, second = (MIXED[row][np.isfinite(MIXED[row])] for row in rows)
        if statistic == "std" and rows != (2, 8):
            continue  # resampled: the streams of the two sides differ
        one = bootstrap(first, second, statistic=statistic, method=method)
        two = bootstrap(second, first, statistic=statistic, method=method)
        if one.engine == "resample":
            continue
        # A step law's two tails take their limits from opposite sides: one atom may lie between.
        assert two.estimate == pytest.approx(-one.estimate, rel=1e-12)
        assert two.standard_error == pytest.approx(one.standard_error, rel=1e-12)
        assert two.ci_low == pytest.approx(-one.ci_high, abs=0.05 * one.half_width)
        assert two.ci_high == pytest.approx(-one.ci_low, abs=0.05 * one.half_width)


VALUES = st.lists(
    st.one_of(
        st.floats(-1e6, 1e6),
        st.integers(-3, 3).map(float),
        st.just(float("nan")),
        st.sampled_from([1e300, -1e300, 5e-324]),
    ),
    max_size=30,
)


@given(
    VALUES,
    st.sampled_from(["mean", "median", "p99", "std", "trimmed_mean"]),
    st.sampled_from(["percentile", "basic", "normal", "bca"]),
    st.sampled_from(["auto", "exact", "resample"]),
)
@settings(max_examples=300, deadline=None)
def test_an_ok_interval_is_sound(values: list[float], statistic: str, method: str, engine: str) -> None:
    result = bootstrap(values, statistic=statistic, method=method, engine=engine, n_resamples=199)
    if result.status != "ok":
        return
    kept = np.array([value for value in values if value == value])
    assert kept.size >= 2
    assert kept.min() < kept.max()
    assert np.isfinite(result[:6]).all()
    assert result.ci_low <= result.ci_high
    assert result.standard_error >= 0.0
    if method in ("percentile", "bca") and statistic != "std":
        room = 1e-9 * np.abs(kept).max()
        assert kept.min() - room <= result.ci_low
        assert result.ci_high <= kept.max() + room


@given(st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0]), min_size=2, max_size=12), st.floats(0.5, 0.99))
@settings(max_examples=100, deadline=None)
def test_a_wider_level_is_no_narrower(values: list[float], level: float) -> None:
    narrow = bootstrap(values, method="percentile", confidence_level=level)
    wide = bootstrap(values, method="percentile", confidence_level=1.0 - 0.5 * (1.0 - level))
    assert wide.ci_low <= narrow.ci_low
    assert wide.ci_high >= narrow.ci_high
