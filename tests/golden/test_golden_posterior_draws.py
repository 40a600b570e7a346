"""Central and highest-density intervals of draws against the golden records."""

from __future__ import annotations

from typing import Any

import pytest
from reference import number, records, relative_error

from fastgate.stats.posterior import credible_interval, mean_width

RECORDS = records("posterior_draws")
IDS = [record["id"] for record in RECORDS]
TOLERANCE = 1e-12


def draws_of(record: dict[str, Any]) -> list[list[float]]:
    return [[number(value) for value in draws] for draws in record["in"]["draws"]]


def expected_status(n: int, width: str) -> str:
    if n == 1:
        return "too_few"
    return "ok" if float(width) > 0 else "degenerate"


@pytest.mark.parametrize("record", RECORDS, ids=IDS)
def test_central_interval(record: dict[str, Any]) -> None:
    result = credible_interval(draws_of(record), mass=number(record["in"]["level"]))
    for cell, expected in enumerate(record["out"]["alts"]):
        low, high, width = expected["eqt7"]
        assert result.n[cell] == expected["n"]
        assert relative_error(result.ci_low[cell], low) <= TOLERANCE
        assert relative_error(result.ci_high[cell], high) <= TOLERANCE
        assert relative_error(result.width[cell], width) <= TOLERANCE
        assert result.status[cell] == expected_status(expected["n"], width)
    mean = mean_width(result.width, result.status)
    assert relative_error(mean.width, record["out"]["mean_width_eqt7"]) <= TOLERANCE


@pytest.mark.parametrize("record", RECORDS, ids=IDS)
def test_highest_density_interval(record: dict[str, Any]) -> None:
    result = credible_interval(draws_of(record), mass=number(record["in"]["level"]), kind="hdi")
    for cell, expected in enumerate(record["out"]["alts"]):
        low, high, width = expected["hdi"]
        assert relative_error(result.width[cell], width) <= TOLERANCE
        if "hdi_tie" not in expected:
            assert relative_error(result.ci_low[cell], low) <= TOLERANCE
            assert relative_error(result.ci_high[cell], high) <= TOLERANCE
        assert result.status[cell] == expected_status(expected["n"], width)
    mean = mean_width(result.width, result.status)
    assert relative_error(mean.width, record["out"]["mean_width_hdi"]) <= TOLERANCE


def test_each_record_alone_equals_all_in_one_call() -> None:
    cells = [draws for record in RECORDS for draws in draws_of(record)]
    together = credible_interval(cells, mass=0.9)
    alone = [credible_interval(draws, mass=0.9) for draws in cells]
    assert together.ci_low.tolist() == [one.ci_low for one in alone]
    assert together.width.tolist() == [one.width for one in alone]
