"""Non-inferiority, equivalence and power against 30-digit references."""

from __future__ import annotations

from typing import Any

import pytest
from reference import number, records, relative_error

from fastgate.stats import (
    equivalence,
    minimum_detectable_effect,
    moments_from_summary,
    noninferiority,
    welch_from_moments,
)


def compare(record: dict[str, Any], level: float) -> Any:
    given = {name: number(value) for name, value in record["in"].items()}
    baseline = moments_from_summary(given["n1"], given.get("mean1", 0.0), variance=given["sd1"] ** 2)
    candidate = moments_from_summary(
        given["n2"], given.get("mean2", given.get("delta", 0.0)), variance=given["sd2"] ** 2
    )
    return welch_from_moments(candidate, baseline, confidence_level=level)


@pytest.mark.parametrize("record", records("design", "tost"), ids=lambda record: record["id"])
def test_equivalence_and_noninferiority(record: dict[str, Any]) -> None:
    expected, alpha = record["out"], number(record["in"]["alpha"])
    low, high = number(record["in"]["low"]), number(record["in"]["high"])
    test = compare(record, 1.0 - 2.0 * alpha)
    assert relative_error(test.df, expected["df"]) <= 1e-13
    assert test.delta == pytest.approx(float(expected["diff"]), abs=1e-15)
    assert test.ci_low == pytest.approx(float(expected["ci"][0]), rel=1e-12, abs=1e-14)
    assert test.ci_high == pytest.approx(float(expected["ci"][1]), rel=1e-12, abs=1e-14)

    both = equivalence(test.delta, test.standard_error, test.df, low, high)
    assert both.statistic_low == pytest.approx(float(expected["t_low"]), rel=1e-12, abs=1e-13)
    assert both.statistic_high == pytest.approx(float(expected["t_high"]), rel=1e-12, abs=1e-13)
    assert both.pvalue_low == pytest.approx(float(expected["p_low"]), rel=1e-11)
    assert both.pvalue_high == pytest.approx(float(expected["p_high"]), rel=1e-11)
    assert both.pvalue == pytest.approx(float(expected["p_tost"]), rel=1e-11)
    assert (both.pvalue < alpha) == (test.ci_low > low and test.ci_high < high)

    higher = noninferiority(test.delta, test.standard_error, test.df, -low)
    assert higher.pvalue == pytest.approx(float(expected["p_noninferior"]), rel=1e-11)
    assert (higher.pvalue < alpha) == (test.ci_low > low)
    mirrored = noninferiority(-test.delta, test.standard_error, test.df, -low, direction="lower")
    assert mirrored == higher


@pytest.mark.parametrize("record", records("design", "power_welch"), ids=lambda record: record["id"])
def test_minimum_detectable_effect(record: dict[str, Any]) -> None:
    """The approximation errs by less than 1.7 % at power 0.8 (df from 7), 0.5 % from df 19 on."""
    expected, alpha = record["out"], number(record["in"]["alpha"])
    test = compare(record, 0.95)
    assert relative_error(test.df, expected["df"]) <= 1e-13
    assert test.statistic == pytest.approx(float(expected["ncp"]), rel=1e-13)
    # Asked for the exact power of the planned effect, it gives back about that effect.
    for side, alternative in (("one", "greater"), ("two", "two-sided")):
        power = float(expected[f"power_{side}"])
        if 0.5 < power < 0.999:
            effect = minimum_detectable_effect(
                test.standard_error, test.df, alpha=alpha, power=power, alternative=alternative
            )
            assert effect == pytest.approx(test.delta, rel=0.045)
    if "mde_one_80" in expected:
        effect = minimum_detectable_effect(test.standard_error, test.df, alpha=alpha, alternative="greater")
        assert effect == pytest.approx(float(expected["mde_one_80"]), rel=0.005 if test.df > 19.0 else 0.017)
