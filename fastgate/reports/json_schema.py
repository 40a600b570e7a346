"""The JSON Schema of a result, from the tables' own types."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import polars as pl

from fastgate.gates.benchmark.policy import BenchmarkRules
from fastgate.gates.result import SCHEMA_VERSION, TABLES
from fastgate.gates.verdict import VERDICTS

__all__ = ["result_schema"]

# Columns that may be null, beside figures: a figure that does not exist is null.
_NULLABLE: Final = {("suites", "won_before"), ("cells", "guard")}

_TEXT: Final = {"type": "string"}
_COUNT: Final = {"type": "integer", "minimum": 0}


def result_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of what `BenchmarkResult.to_dict` returns and ``-o result.json`` holds.

    Examples
    --------
    >>> schema = result_schema()
    >>> schema["properties"]["verdict"]
    {'enum': ['pass', 'review', 'refused', 'block']}
    """
    rules = msgspec.json.schema(BenchmarkRules)
    properties: dict[str, Any] = {
        "schema_version": {"const": SCHEMA_VERSION},
        "gate": {"const": "benchmark"},
        "verdict": {"enum": list(VERDICTS)},
        "policy": {
            "$ref": rules["$ref"],
            "description": "The policy as applied, the tenant's overrides included.",
        },
        "evidence": _evidence(),
        **{name: _table(name, columns) for name, columns in TABLES.items()},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:fastgate:result:benchmark:{SCHEMA_VERSION}",
        "title": "Result of the fastgate benchmark gate",
        "description": "Numbers are finite; one that does not exist is null. delta is candidate - baseline.",
        **_object(properties),
        "$defs": rules["$defs"],
    }


def _object(properties: dict[str, Any], *, closed: bool = True) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {**schema, "additionalProperties": False} if closed else schema


def _table(name: str, columns: dict[str, Any]) -> dict[str, Any]:
    rows = _object({column: _column(dtype, (name, column) in _NULLABLE) for column, dtype in columns.items()})
    return {"type": "array", "items": rows}


def _column(dtype: Any, nullable: bool) -> dict[str, Any]:
    if dtype is None or dtype == pl.String:
        return _TEXT
    if isinstance(dtype, pl.Enum):
        names = dtype.categories.to_list()
        return {"enum": [*names, None] if nullable else names}
    if isinstance(dtype, pl.List):
        return {"type": "array", "items": _column(dtype.inner, False)}
    if dtype.is_integer():
        return _COUNT
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
