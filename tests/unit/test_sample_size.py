"""Sample size, power and detectable change of proportions: inverses of each other, limits, arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from fastgate.errors import ArgumentError
from fastgate.stats.binomial import binomial_half_width_at
from fastgate.stats.sample_size import (
    detectable_change,
    detection_power,
    trials_for_half_width,
    trials_needed,
)


def test_the_example_of_240_cases() -> None:
    assert detectable_change(0.917, 240).change == pytest.approx(0.084, abs=5e-4)
    assert detectable_change(0.917, 240, alternative="one-sided").change == pytest.approx(0.074, abs=5e-4)
    assert detectable_change(0.917, 240, discordance=0.1).change == pytest.approx(0.057, abs=5e-4)
    assert trials_needed(0.917, -0.041).exact == pytest.approx(865.3, abs=0.05)
    assert detection_power(0.917, -0.041, 240) == pytest.approx(0.31, abs=5e-3)


def test_the_value_of_power_prop_test() -> None:
    # R 4: power.prop.test(p1 = .50, p2 = .75, power = .90) gives n = 76.7 (its help page).
    assert trials_needed(0.5, 0.25, power=0.9).exact == pytest.approx(76.7, abs=0.05)
    # power.prop.test(n = 50, p1 = .50, p2 = .75) gives power = 0.740 (its help page).
    assert detection_power(0.5, 0.25, 50) == pytest.approx(0.740, abs=5e-4)


@pytest.mark.parametrize("alternative", ["two-sided", "one-sided"])
@pytest.mark.parametrize("power", [0.3, 0.5, 0.8, 0.999])
@pytest.mark.parametrize("discordance", [None, 0.3])
def test_the_three_are_inverses(alternative: str, power: float, discordance: float | None) -> None:
    options: dict[str, Any] = {"alternative": alternative, "discordance": discordance}
    rates, trials = (grid.reshape(-1) for grid in np.meshgrid([0.4, 0.6, 0.9, 1.0], [50, 240, 10_000]))
    for direction, sign in (("decrease", -1.0), ("increase", 1.0)):
        found = detectable_change(rates, trials, power=power, direction=direction, **options)
        ok = np.asarray(found.status) == "ok"
        assert ok.sum() >= 4
        change = sign * np.asarray(found.change)
        np.testing.assert_allclose(
            trials_needed(rates[ok], change[ok], power=power, **options).exact, trials[ok], rtol=1e-10
        )
        np.testing.assert_allclose(
            detection_power(rates[ok], change[ok], trials[ok], **options), power, rtol=1e-10
        )


def test_where_no_change_is_detectable() -> None:
    few = detectable_change([0.5, 0.05, 0.0, 0.5], [2, 20, 10**6, 0])
    assert list(few.status) == ["no_root", "no_root", "no_root", "too_few"]
    assert np.isnan(np.asarray(few.change)).all()
    up = detectable_change([1.0, 0.99], [10**6, 20], direction="increase")
    assert list(up.status) == ["no_root", "no_root"]
    # Replayed cases: a change of ψ needs every discordant case to go one way.
    assert detectable_change(0.9, 40, discordance=0.05).status == "no_root"
    assert detectable_change(0.9, 400, discordance=0.05).status == "ok"


def test_a_perfect_baseline_detects_a_drop() -> None:
    result = detectable_change(1.0, 240)
    assert result.status == "ok"
    assert detection_power(1.0, -result.change, 240) == pytest.approx(0.8, rel=1e-12)
    # From a rate of 1 the largest drop is seen for certain.
    assert detection_power(1.0, -1.0, 240) == 1.0


def test_increase_mirrors_decrease() -> None:
    rates = np.linspace(0.1, 0.95, 30)
    down = detectable_change(rates, 500)
    up = detectable_change(1.0 - rates, 500, direction="increase")
    np.testing.assert_allclose(down.change, up.change, rtol=1e-12)


@pytest.mark.parametrize("method", ["wilson", "wald"])
def test_half_width_at_the_trials_for_it(method: str) -> None:
    rates = np.array([0.05, 0.5, 0.917, 0.99])
    for level in (0.8, 0.95, 0.9999):
        for half in (0.2, 0.03, 0.001):
            result = trials_for_half_width(rates, half, confidence_level=level, method=method)
            trials = np.asarray(result.trials)
            enough = binomial_half_width_at(rates, trials, confidence_level=level, method=method)
            assert (np.asarray(enough) <= half * (1.0 + 1e-12)).all()
            more = trials > 1
            fewer = binomial_half_width_at(
                rates[more], trials[more] - 1, confidence_level=level, method=method
            )
            assert (np.asarray(fewer) > half).all()


def test_wilson_needs_trials_at_the_ends() -> None:
    result = trials_for_half_width([0.0, 1.0], 0.01)
    z2 = 1.959963984540054**2
    # At a rate of 0 the interval is [0, z²/(n + z²)].
    np.testing.assert_allclose(result.exact, z2 / 0.02 - z2, rtol=1e-12)


def test_a_whole_solution_is_not_rounded_up_once_more() -> None:
    # Wald at ½ with h = z/(2√n) needs n trials, whatever the last bit of the division says.
    z = 1.959963984540054
    sizes = np.arange(1, 2000)
    half = z / (2.0 * np.sqrt(sizes[4:]))
    assert np.array_equal(trials_for_half_width(0.5, half, method="wald").trials, sizes[4:])


def test_shapes_and_scalars() -> None:
    one = trials_needed(0.9, -0.1)
    assert (type(one.trials), type(one.exact)) == (int, float)
    assert type(detection_power(0.9, -0.1, 100)) is float
    assert [type(value) for value in detectable_change(0.9, 100)] == [float, str]
    many = trials_needed(np.array([[0.9], [0.8]]), [-0.1, -0.05, 0.05])
    assert np.shape(many.trials) == (2, 3)
    assert np.shape(detection_power([[0.9], [0.8]], -0.1, [10, 20, 30])) == (2, 3)
    assert np.shape(detectable_change(0.9, [[1], [2]], discordance=[0.1, 0.2]).status) == (2, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: trials_needed(0.5, 0.0), "change"),
        (lambda: trials_needed(0.5, -0.6), "change"),
        (lambda: trials_needed(1.2, -0.6), "rate"),
        (lambda: trials_needed(math.nan, -0.6), "rate"),
        (lambda: trials_needed(0.5, [0.1, math.nan]), "element 1"),
        (lambda: trials_needed(0.5, -0.1, power=0.02), "power"),
        (lambda: trials_needed(0.5, -0.1, power=80), "power"),
        (lambda: trials_needed(0.5, -0.1, confidence_level=5), "confidence_level"),
        (lambda: trials_needed(0.5, -0.1, alternative="less"), "alternative"),
        (lambda: trials_needed(0.5, -0.1, discordance=0.05), "discordance"),
        (lambda: trials_needed(0.5, -0.1, discordance=1.05), "discordance"),
        (lambda: trials_needed(0.5, 1e-12), "2^53"),
        (lambda: trials_needed([0.5, 0.4], [0.1, 0.1, 0.1]), "broadcast"),
        (lambda: detectable_change(0.5, 10.5), "trials"),
        (lambda: detectable_change(0.5, -10), "trials"),
        (lambda: detectable_change(0.5, 10, direction="down"), "direction"),
        (lambda: detectable_change(0.5, 10, discordance=0.0), "discordance"),
        (lambda: trials_for_half_width(0.5, 0.0), "half_width"),
        (lambda: trials_for_half_width(0.5, 0.5), "half_width"),
        (lambda: trials_for_half_width(0.0, 0.1, method="wald"), "Wald"),
        (lambda: trials_for_half_width(0.5, 0.1, method="jeffreys"), "method"),
    ],
)
def test_arguments_that_are_none(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        call()
    assert message in str(caught.value)
