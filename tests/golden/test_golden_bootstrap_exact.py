"""The exact bootstrap against rational arithmetic: every limit that sits on no jump, to 1e-12."""

from __future__ import annotations

import math
from typing import Any

import pytest
from reference import number, records

from fastgate.stats.bootstrap_interval import BootstrapResult, bootstrap

TOLERANCE = 1e-12
METHODS = ("percentile", "basic", "bca")


def sample(record: dict[str, Any], name: str = "x") -> list[float]:
    return [number(value) for value in record["in"][name]]


def spread(*samples: list[float]) -> float:
    return max(max(values) - min(values) for values in samples)


def near(result: BootstrapResult, expected: list[str], scale: float) -> bool:
    errors = [abs(result.ci_low - float(expected[0])), abs(result.ci_high - float(expected[1]))]
    return max(errors) <= TOLERANCE * scale


def test_the_records_are_there() -> None:
    kinds = [record["kind"] for record in records("bootstrap_exact")]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "proportion": 36,
        "quantile": 94,
        "mean": 50,
        "mean_diff": 30,
        "studentised": 12,
    }


@pytest.mark.parametrize("record", records("bootstrap_exact", "proportion"), ids=lambda record: record["id"])
def test_proportion(record: dict[str, Any]) -> None:
    passed, n = record["in"]["k"], record["in"]["n"]
    values = [1] * passed + [0] * (n - passed)
    result = bootstrap(
        values, statistic="proportion", method="percentile", confidence_level=number(record["in"]["level"])
    )
    assert result.estimate == passed / n
    if n == 1:
        assert result.status == "too_few"
        assert math.isnan(result.ci_low)
        return
    assert result.status == ("ok" if 0 < passed < n else "zero_var_equal")
    assert (result.ci_low, result.ci_high) == (float(record["out"]["lo"]), float(record["out"]["hi"]))
    assert result.engine == "exact"


def rank(record: dict[str, Any]) -> int:
    """The order statistic of a type-1 quantile; it is the type-7 quantile at (rank − 1)/(n − 1)."""
    return max(1, math.ceil(len(record["in"]["x"]) * number(record["in"]["q"]) - 1e-9))


# The extremes are no type-7 quantile inside (0, 1).
QUANTILES = [
    record
    for record in records("bootstrap_exact", "quantile")
    if record["in"]["type"] == 7 or 1 < rank(record) < len(record["in"]["x"])
]


@pytest.mark.parametrize("record", QUANTILES, ids=lambda record: record["id"])
def test_quantile(record: dict[str, Any]) -> None:
    values, q, expected = sample(record), number(record["in"]["q"]), record["out"]
    n = len(values)
    if record["in"]["type"] == 1:
        q = (rank(record) - 1) / (n - 1)
    scale = spread(values)
    for level, limits in zip(record["in"]["levels"], expected["limits"], strict=True):
        result = bootstrap(values, statistic=q, method="percentile", confidence_level=number(level))
        if scale == 0.0:
            assert result.status == "zero_var_equal"
            assert (result.ci_low, result.ci_high) == (float(limits[0]), float(limits[1]))
            continue
        assert (result.status, result.engine) == ("ok", "exact")
        assert abs(result.estimate - float(expected["theta"])) <= TOLERANCE * scale
        assert near(result, limits, scale)
        assert abs(result.standard_error - float(expected["boot_se"])) <= TOLERANCE * scale
        assert abs(result.estimate + result.bias - float(expected["boot_mean"])) <= TOLERANCE * scale


@pytest.mark.parametrize("kind", ["mean", "mean_diff"])
@pytest.mark.parametrize("method", METHODS)
def test_mean(kind: str, method: str) -> None:
    checked = 0
    for record in records("bootstrap_exact", kind):
        if kind == "mean":
            first, second = sample(record), None
            scale = spread(first)
        else:
            first, second = sample(record, "b"), sample(record, "a")
            scale = spread(first, second)
        for limit in record["out"]["limits"]:
            if limit.get("bca_on_jump" if method == "bca" else "on_jump"):
                continue
            result = bootstrap(
                first, second, method=method, engine="exact", confidence_level=number(limit["level"])
            )
            assert (result.status, result.engine) == ("ok", "exact"), record["id"]
            assert abs(result.estimate - float(record["out"]["theta"])) <= TOLERANCE * scale
            assert near(result, limit[method], scale), (record["id"], limit["level"])
            checked += 1
    assert checked >= (110 if kind == "mean" else 60)


@pytest.mark.parametrize("record", records("bootstrap_exact", "studentised"), ids=lambda record: record["id"])
def test_studentised(record: dict[str, Any]) -> None:
    values = sample(record)
    for level, limits in zip(record["in"]["levels"], record["out"]["limits"], strict=True):
        result = bootstrap(values, method="studentised", confidence_level=number(level))
        assert (result.status, result.engine) == ("ok", "exact")
        assert near(result, limits, max(abs(float(limit)) for limit in limits))
