"""Shapes are told by their columns, and what does not fit is explained."""

from __future__ import annotations

from typing import Any

import pytest

from fastgate.errors import ArgumentError, DataError, FastgateError
from fastgate.frames.shapes import recognise

KEYS = ["build", "suite", "kpi"]
PAIR = ["candidate", "baseline", "suite", "kpi"]


@pytest.mark.parametrize(
    ("found", "shape"),
    [
        ([*KEYS, "case", "value"], "runs"),
        (["note", *KEYS, "trial", "case", "value"], "runs"),
        ([*PAIR, "case", "candidate_value", "baseline_value"], "pairs"),
        ([*KEYS, "values"], "packed_runs"),
        ([*KEYS, "values", "cases", "case"], "packed_runs"),
        ([*PAIR, "candidate_values", "baseline_values", "cases"], "packed_pairs"),
        ([*KEYS, "n", "mean", "m2"], "moments"),
        ([*KEYS, "n", "mean", "std", "min", "max"], "moments"),
    ],
)
def test_columns_tell_the_shape(found: list[str], shape: str) -> None:
    layout = recognise(found, None, None, "x")
    assert layout.shape.name == shape
    assert set(layout.columns) <= set(found)


def test_the_preferred_spread_is_taken() -> None:
    layout = recognise([*KEYS, "n", "mean", "sd", "variance"], None, None, "x")
    assert list(layout.columns) == [*KEYS, "n", "mean", "variance"]


def test_mapped_names_stand_for_ours() -> None:
    layout = recognise(
        ["model", "suite", "kpi", "case", "score", "value"], {"build": "model", "value": "score"}, None, "x"
    )
    assert layout.columns == {
        "build": "model",
        "suite": "suite",
        "kpi": "kpi",
        "case": "case",
        "value": "score",
    }


@pytest.mark.parametrize(
    ("found", "columns", "shape", "part"),
    [
        (
            [*KEYS, "case", "value", "values"],
            None,
            None,
            "--shape runs or --shape packed_runs; in Python shape='runs' or shape='packed_runs'",
        ),
        (
            [*KEYS, "case", "score"],
            None,
            None,
            "--column value=score, or in Python columns={'value': 'score'}",
        ),
        ([*KEYS, "case", "my score"], None, None, "--column 'value=my score', or in Python"),
        ([*KEYS, "a", "b"], None, None, "--column values=YOURS, or in Python columns={'values': 'YOURS'}"),
        ([*KEYS, "Case", "value", "note"], None, None, "columns={'case': 'Case'}"),
        ([*KEYS, "n", "mean"], None, None, "m2 or variance or sd or std (for the closest shape, moments)"),
        ([*PAIR, "case", "candidate_value"], None, None, "columns are missing: baseline_value"),
        ([], None, None, "no columns"),
        ([*KEYS, "case", "value"], None, "moments", "columns are missing: n, mean"),
        ([*KEYS, "case", "value"], {"valu": "value"}, None, "did you mean 'value'?"),
        (
            [*KEYS, "case", "score"],
            {"score": "value"},
            None,
            "--column value=score, or in Python columns={'value'",
        ),
        ([*KEYS, "case", "score"], {"value": "scor"}, None, "did you mean 'score'?"),
        ([*KEYS, "values", "seed"], {"trial": "seed"}, None, "'trial' has no place in the shape packed_runs"),
        ([*KEYS, "values", "seed"], {"trial": "seed"}, None, "--shape NAME, or in Python shape='NAME'"),
        ([*KEYS, "case", "score"], ["value", "score"], None, "list: ['value', 'score']"),
        ([*KEYS, "case", "score"], [], None, "the column names are no mapping"),
        ([*KEYS, "case", "score"], "value=score", None, "columns={'value': 'score'}"),
        (
            [*KEYS, "case", "score"],
            {"value": ["score"]},
            None,
            "the column that 'value' is mapped to is missing",
        ),
        ([*KEYS, "case", "score"], {3: "score"}, None, "3 is none of fastgate's column names"),
        ([*KEYS, "case", "value"], None, 3, "there is no such shape"),
        ([*KEYS, "case", "value"], None, "run", "did you mean 'runs'?"),
        ([*KEYS, "case", "value"], None, "wide", "there is no such shape"),
    ],
)
def test_what_does_not_fit_is_explained(found: list[str], columns: Any, shape: Any, part: str) -> None:
    with pytest.raises((DataError, ArgumentError)) as caught:
        recognise(found, columns, shape, "runs.csv")
    assert isinstance(caught.value, FastgateError)
    assert part in str(caught.value)
    assert caught.value.expected
    assert caught.value.received


@pytest.mark.parametrize("shape", ["packed", "packed_runs"])
def test_a_stated_shape_settles_it(shape: str) -> None:
    found = [*KEYS, "case", "value", "values"]
    assert recognise(found, None, shape, "x").shape.name == "packed_runs"
