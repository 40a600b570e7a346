from __future__ import annotations

import json
import tomllib

import jsonschema
import polars as pl
import pytest
from example_results import HOSTILE, POLICY_TOML, judged, runs

import fastgate
from fastgate.gates.storage import to_json
from fastgate.reports.json_schema import result_schema

GOOD, EVEN = (6.0, 6.0, 6.0), (0.5, 0.0, 0.0)
POLICY = tomllib.loads(POLICY_TOML)


def _refuse(word: str) -> float:
    raise AssertionError(f"{word} is no JSON")


def errors(result) -> list[str]:
    plain = json.loads(to_json(result.to_dict()), parse_constant=_refuse)
    validator = jsonschema.Draft202012Validator(result_schema())
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(plain)]


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(result_schema())
    json.dumps(result_schema(), allow_nan=False)


def broken():
    frame = runs({"good": GOOD, "constant": GOOD, "holes": GOOD, "infinite": GOOD, "short": GOOD})
    build, case = pl.col("build"), pl.col("case")
    frame = frame.filter(~((build == "short") & (case != "c0")))
    value = (
        pl.when(build == "constant")
        .then(1.0)
        .when((build == "holes") & (case == "c1"))
        .then(None)
        .when((build == "infinite") & (case == "c1"))
        .then(float("inf"))
        .otherwise("value")
    )
    return fastgate.benchmark_gate(frame.with_columns(value=value), POLICY)


@pytest.mark.parametrize(
    "make",
    [
        lambda: judged(**{HOSTILE: GOOD, "even": EVEN}),
        broken,
        lambda: fastgate.benchmark_gate(runs({"good": GOOD}), POLICY, tenant="strict"),
        lambda: fastgate.benchmark_gate(runs({"good": EVEN}), POLICY, previous=judged(good=GOOD)),
    ],
    ids=["ordinary", "broken", "tenant", "previous"],
)
def test_results_are_what_the_schema_says(make):
    assert errors(make()) == []


def test_the_schema_refuses_what_is_no_result():
    plain = json.loads(to_json(judged(good=GOOD).to_dict()))
    validator = jsonschema.Draft202012Validator(result_schema())
    for change in (
        {"verdict": "maybe"},
        {"cells": [{**plain["cells"][0], "pvalue": "0.1"}]},
        {"cells": [{**plain["cells"][0], "more": 1}]},
        {"verdicts": [{**plain["verdicts"][0], "candidate": None}]},
        {"suites": [{**plain["suites"][0], "lost": None}]},
        {"policy": {**plain["policy"], "alpha": "0.05"}},
    ):
        assert not validator.is_valid({**plain, **change}), change
    del plain["evidence"]["policy_hash"]
    assert not validator.is_valid(plain)
