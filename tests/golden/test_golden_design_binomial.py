"""Sample sizes of proportions against the golden records."""

from __future__ import annotations

import pytest
from reference import number, records, relative_error

from fastgate.stats.sample_size import (
    detectable_change,
    detection_power,
    trials_for_half_width,
    trials_needed,
)

HALF_WIDTHS = records("design", "n_for_half_width")
DIFFERENCES = records("design", "n_two_prop")


@pytest.mark.parametrize("method", ["wald", "wilson"])
@pytest.mark.parametrize("record", HALF_WIDTHS, ids=lambda record: record["id"])
def test_trials_for_half_width(record: dict[str, dict[str, str]], method: str) -> None:
    given = record["in"]
    result = trials_for_half_width(
        number(given["p"]),
        number(given["half_width"]),
        confidence_level=number(given["level"]),
        method=method,
    )
    assert relative_error(result.exact, record["out"][f"n_{method}"]) <= 1e-14
    assert result.trials == record["out"][f"n_{method}_ceil"]


@pytest.mark.parametrize("record", DIFFERENCES, ids=lambda record: record["id"])
def test_trials_needed_and_back(record: dict[str, dict[str, str]]) -> None:
    rate, drop = number(record["in"]["p1"]), number(record["in"]["drop"])
    power, level = number(record["in"]["power"]), number(record["in"]["level"])
    result = trials_needed(rate, -drop, power=power, confidence_level=level)
    assert relative_error(result.exact, record["out"]["n_per_arm"]) <= 1e-14
    assert result.trials == record["out"]["ceil"]
    # One trial fewer is too few, and what the whole number detects is a little less than the drop.
    assert detection_power(rate, -drop, result.trials, confidence_level=level) >= power
    assert detection_power(rate, -drop, result.trials - 1, confidence_level=level) < power
    found = detectable_change(rate, result.trials, power=power, confidence_level=level)
    assert found.status == "ok"
    assert drop * (1.0 - 1.0 / result.trials) <= found.change <= drop
