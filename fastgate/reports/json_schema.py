"""The JSON Schema of a result, from the tables' own types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import polars as pl

from fastgate.gates.benchmark import result as benchmark
from fastgate.gates.benchmark.policy import BenchmarkRules
from fastgate.gates.safety import result as safety
from fastgate.gates.safety.policy import SafetyRules
from fastgate.gates.stability import result as stability
from fastgate.gates.stability.policy import StabilityRules
from fastgate.gates.tables import SCHEMA_VERSION
from fastgate.gates.verdict import VERDICTS

__all__ = ["result_schema"]

_GATES: Final[dict[str, tuple[dict[str, dict[str, Any]], Any]]] = {
    "benchmark": (benchmark.TABLES, BenchmarkRules),
    "safety": (safety.TABLES, SafetyRules),
    "stability": (stability.TABLES, StabilityRules),
}

# Columns that may be null, beside figures: a figure that does not exist is null.
_NULLABLE: Final = {
    "benchmark": {
        "verdicts": benchmark.LATER["verdicts"],
        "suites": ("won_before",),
        "cells": ("guard", "engine"),
    },
    "safety": {
        "suites": (
            "regressed",
            "fixed",
            "paired_method",
            "repeated_cases",
            "regressed_every_trial",
            "fixed_every_trial",
            "flaky_candidate",
            "flaky_baseline",
        ),
        "runs": ("flaky_cases", "manifest_hash"),
        "differences": ("baseline_value", "candidate_value"),
        "flips": ("every_trial",),
    },
    "stability": {
        "verdicts": ("width_status",),
        "kinds": ("previous_n", "previous_agree"),
        "flips": ("suite", "variant", "trial"),
        "faults": ("kind", "suite", "pair", "variant", "alternative"),
    },
}

# Columns that results of earlier releases lack.
_LATER: Final[dict[str, dict[str, tuple[str, ...]]]] = {"benchmark": benchmark.LATER}

_TEXT: Final = {"type": "string"}
_COUNT: Final = {"type": "integer", "minimum": 0}


def result_schema(gate: str = "benchmark") -> dict[str, Any]:
    """The JSON Schema (2020-12) of what a result's ``to_dict`` returns and ``-o result.json`` holds.

    Parameters
    ----------
    gate : {"benchmark", "safety", "stability"}

    Examples
    --------
    >>> schema = result_schema()
    >>> schema["properties"]["verdict"]
    {'enum': ['pass', 'review', 'refused', 'block']}
    """
    tables, kind = _GATES[gate]
    rules = msgspec.json.schema(kind)
    properties: dict[str, Any] = {
        "schema_version": {"const": SCHEMA_VERSION},
        "gate": {"const": gate},
        "verdict": {"enum": list(VERDICTS)},
        "policy": {
            "$ref": rules["$ref"],
            "description": "The policy as applied, the tenant's overrides included.",
        },
        "evidence": _evidence(),
        **{
            name: _table(columns, _NULLABLE[gate].get(name, ()), later=_LATER.get(gate, {}).get(name, ()))
            for name, columns in tables.items()
        },
        "sha256": {
            "type": "string",
            "pattern": "^[0-9a-f]{64}$",
            "description": "Of everything else, so that a file that was changed is not read as a result.",
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:fastgate:result:{gate}:{SCHEMA_VERSION}",
        "title": f"Result of the fastgate {gate} gate",
        "description": "Numbers are finite; one that does not exist is null. delta is candidate - baseline.",
        **_object(properties),
        "$defs": rules["$defs"],
    }


def _object(
    properties: dict[str, Any], *, closed: bool = True, optional: Sequence[str] = ()
) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    schema = {"type": "object", "properties": properties, "required": required}
    return {**schema, "additionalProperties": False} if closed else schema


def _table(columns: dict[str, Any], nullable: Sequence[str], later: Sequence[str] = ()) -> dict[str, Any]:
    rows = _object(
        {column: _column(dtype, column in nullable) for column, dtype in columns.items()}, optional=later
    )
    return {"type": "array", "items": rows}


def _column(dtype: Any, nullable: bool) -> dict[str, Any]:
    if dtype is None or dtype == pl.String:
        return {"type": ["string", "null"]} if nullable else _TEXT
    if isinstance(dtype, pl.Enum):
        names = dtype.categories.to_list()
        return {"enum": [*names, None] if nullable else names}
    if isinstance(dtype, pl.List):
        return {"type": "array", "items": _column(dtype.inner, False)}
    if dtype.is_integer():
        return {"type": ["integer", "null"], "minimum": 0} if nullable else _COUNT
    if dtype.is_float():
        return {"type": ["number", "null"]}
    return {"type": ["boolean", "null"] if nullable else "boolean"}


def _evidence() -> dict[str, Any]:
    text_or_null = {"type": ["string", "null"]}
    record = _object(
        {"shape": _TEXT, "rows": _COUNT, "fingerprint": _TEXT},
        closed=False,
    )
    return {
        **_object(
            {
                "fastgate": _TEXT,
                "python": _TEXT,
                "libraries": {"type": "object", "additionalProperties": _TEXT},
                "policy_name": _TEXT,
                "policy_hash": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                "tenant": text_or_null,
                "input": record,
                "counts": {"type": "object", "additionalProperties": _COUNT},
            },
            closed=False,
        ),
        "description": "What the verdict rests on. Further entries: what was ignored, the previous result.",
    }
