"""Reads the golden records: inputs as exact float64, expected values as 30-digit decimals."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent / "golden"


def records(name: str, kind: str | None = None) -> list[dict[str, Any]]:
    """The records of one golden file, or those of one kind in it."""
    with (GOLDEN / f"{name}.jsonl").open() as lines:
        every = [json.loads(line) for line in lines]
    return [record for record in every if kind is None or record["kind"] == kind]


def number(text: Any) -> float:
    """An input: C99 hexadecimal text, a JSON number, or null for a missing value."""
    if text is None:
        return float("nan")
    return float.fromhex(text) if isinstance(text, str) else float(text)


def relative_error(value: float, expected: str) -> float:
    """|value − expected| / |expected|, computed in decimal; 0 where both are the same special value."""
    wanted = float(expected)
    if value == wanted or (value != value and wanted != wanted):
        return 0.0
    if abs(wanted) == float("inf") or wanted != wanted or value != value or abs(value) == float("inf"):
        return float("inf")
    exact = Decimal(expected)
    return float(abs((Decimal(value) - exact) / exact)) if exact else float("inf")
