"""Agreement, Wilson's interval and Cohen's kappa against the golden records, all kinds of a record in one call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference import number, records, relative_error

from fastgate.stats.probes import agreement

RECORDS = records("agreement")


def split(verdict: str | None) -> tuple[str | None, str | None]:
    """'abstain:policy' as a choice and its reason class."""
    if verdict is None or ":" not in verdict:
        return verdict, None
    choice, reason = verdict.split(":")
    return choice, reason


@pytest.mark.parametrize("record", RECORDS, ids=[record["id"] for record in RECORDS])
def test_counts_rates_intervals_and_kappa(record: dict[str, Any]) -> None:
    rows = record["in"]["rows"]
    kinds = sorted({kind for kind, _, _ in rows})
    primary = [split(first) for _, first, _ in rows]
    probe = [split(second) for _, _, second in rows]
    result = agreement(
        [choice for choice, _ in primary],
        [choice for choice, _ in probe],
        cell=[kinds.index(kind) for kind, _, _ in rows],
        primary_reason=[reason for _, reason in primary],
        probe_reason=[reason for _, reason in probe],
        probe_swapped=[kind == "order_swap" for kind, _, _ in rows],
        letters="raw",
        confidence_level=number(record["in"]["level"]),
    )
    assert list(record["out"]) == kinds
    for cell, kind in enumerate(kinds):
        expected = record["out"][kind]
        assert (result.n[cell], result.agree[cell], result.missing[cell]) == (
            expected["n"],
            expected["agree"],
            expected["missing"],
        )
        assert result.status[cell] == ("ok" if expected["n"] else "too_few")
        assert relative_error(result.agreement[cell], expected["rate"]) <= 1e-15
        assert relative_error(result.ci_low[cell], expected["wilson"][0]) <= 1e-13
        assert relative_error(result.ci_high[cell], expected["wilson"][1]) <= 1e-13
        assert relative_error(result.kappa[cell], expected["kappa"]) <= 1e-15


def test_the_records_reach_every_branch() -> None:
    outcomes = [kind for record in RECORDS for kind in record["out"].values()]
    assert any(kind["missing"] for kind in outcomes)
    assert any(kind["n"] == 0 for kind in outcomes)
    assert any(kind["kappa"] == "nan" and kind["n"] for kind in outcomes)
    assert any(float(kind["kappa"]) <= 0 for kind in outcomes if kind["n"])
    assert np.unique([kind["n"] for kind in outcomes]).size > 4
