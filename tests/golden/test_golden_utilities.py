"""Bradley–Terry fits against the golden records: mode, covariance, standard deviations, widths and statuses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from reference import number, records, relative_error

from fastgate.stats.utilities import UtilityFit, fit_utilities

RECORDS = records("bt")
IDS = [record["id"] for record in RECORDS]
TOLERANCE = 1e-12
STATUS = {
    "no_data": "too_few",
    "one_win": "separation",
    "separation": "separation",
    "tiny_prior": "separation",
    "disconnected": "disconnected",
    "ties": "ok",
    "cycle": "ok",
    "wide_prior": "ok",
}


def fit_of(record: dict[str, Any], **options: Any) -> UtilityFit:
    observations = record["in"]["obs"]
    return fit_utilities(
        [row[0] for row in observations],
        [row[1] for row in observations],
        [number(row[2]) for row in observations],
        [number(row[3]) for row in observations],
        n_alternatives=record["in"]["items"],
        prior_sd=number(record["in"]["prior_sd"]),
        **options,
    )


def close(value: float, expected: str, scale: float) -> bool:
    """Within the tolerance of the expected value, or of `scale` where that is 0 but for rounding."""
    return relative_error(value, expected) <= TOLERANCE or abs(value - float(expected)) <= 1e-15 * scale


@pytest.mark.parametrize("record", RECORDS, ids=IDS)
def test_mode_and_covariance(record: dict[str, Any]) -> None:
    fit = fit_of(record, covariance=True)
    m = record["in"]["items"]
    prior_sd = number(record["in"]["prior_sd"])
    expected = record["out"]
    assert fit.converged
    assert relative_error(fit.log_posterior, expected["logpost"]) <= TOLERANCE
    covariance = fit.covariance
    assert isinstance(covariance, np.ndarray)
    assert covariance.shape == (m, m)
    for i in range(m):
        assert close(fit.utilities[i], expected["u"][i], 1.0)
        assert close(fit.sd[i], expected["sd_centred"][i], 1.0)
        for j in range(m):
            # Differences are judged against the variances they are the rest of.
            wanted = float(expected["cov"][i][j])
            scale = math.sqrt(float(expected["cov"][i][i]) * float(expected["cov"][j][j]))
            assert abs(covariance[i, j] + prior_sd**2 / m - wanted) <= TOLERANCE * scale
    if "diff01" in expected:
        difference = math.sqrt(covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1])
        assert close(fit.utilities[0] - fit.utilities[1], expected["diff01"][0], 1.0)
        assert close(difference, expected["diff01"][1], 1.0)


@pytest.mark.parametrize("record", RECORDS, ids=IDS)
def test_widths(record: dict[str, Any]) -> None:
    for widths in record["out"]["widths"]:
        mass = number(widths["level"])
        for scale in ("unit", "logit"):
            fit = fit_of(record, mass=mass, scale=scale)
            assert all(close(a, b, 1.0) for a, b in zip(fit.width, widths[scale], strict=True))
            assert close(float(np.mean(fit.width)), widths[f"mean_{scale}"], 1.0)
            assert np.allclose(fit.ci_high - fit.ci_low, fit.width, rtol=1e-6, atol=1e-15)


def test_statuses() -> None:
    for record in RECORDS:
        status = fit_of(record).status
        for tag in record["tags"]:
            if tag in STATUS:
                assert status == STATUS[tag], record["id"]
    found = {fit_of(record).status for record in RECORDS if "random" in record["tags"]}
    assert found <= {"ok", "separation", "disconnected", "prior_driven"}
    assert "ok" in found
    assert "separation" in found


def test_all_records_in_one_call_equal_each_alone() -> None:
    rows = [(f, *row) for f, record in enumerate(RECORDS) for row in record["in"]["obs"]]
    together = fit_utilities(
        [row[1] for row in rows],
        [row[2] for row in rows],
        [number(row[3]) for row in rows],
        [number(row[4]) for row in rows],
        fit=[row[0] for row in rows],
        n_alternatives=[record["in"]["items"] for record in RECORDS],
        prior_sd=[number(record["in"]["prior_sd"]) for record in RECORDS],
    )
    for f, record in enumerate(RECORDS):
        alone = fit_of(record)
        part = slice(together.offsets[f], together.offsets[f + 1])
        assert together.utilities[part].tolist() == alone.utilities.tolist()
        assert together.sd[part].tolist() == alone.sd.tolist()
        assert together.width[part].tolist() == alone.width.tolist()
        assert together.status[f] == alone.status
