"""What the results of all gates have in common: tables of candidates, plain data, columns in their types."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec
import polars as pl

__all__ = [
    "SCHEMA_VERSION",
    "Judged",
    "Result",
    "completed",
    "digest",
    "from_rows",
    "to_dict",
    "typed",
    "verdict_of",
]

SCHEMA_VERSION: Final = 1


class Judged(Protocol):
    """What the result of any gate has, wherever its tables are."""

    @property
    def gate(self) -> str:
        """The gate's name."""

    @property
    def verdict(self) -> str:
        """The worst of the candidates' verdicts."""

    @property
    def policy(self) -> dict[str, Any]:
        """The policy as applied."""

    @property
    def evidence(self) -> dict[str, Any]:
        """What the verdicts rest on."""


class Result(Judged, Protocol):
    """What the result of any gate has in memory."""

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables by name."""


def verdict_of(verdicts: pl.DataFrame, candidate: str, column: str = "candidate") -> str:
    """The verdict of one candidate, whose names stand in `column`.

    Raises
    ------
    KeyError
        When there is no such candidate.
    """
    found = verdicts.filter(pl.col(column).cast(pl.String) == candidate)
    if found.is_empty():
        raise KeyError(candidate)
    return str(found["verdict"][0])


def digest(data: Mapping[str, Any]) -> str:
    """SHA-256 of plain data, its own entry ``sha256`` aside: whatever was changed since it was saved changes it."""
    return hashlib.sha256(
        msgspec.json.encode({key: data[key] for key in data if key != "sha256"})
    ).hexdigest()


def to_dict(result: Result) -> dict[str, Any]:
    """A whole result as plain data without NaN or infinity, with its digest."""
    data = {
        "schema_version": SCHEMA_VERSION,
        "gate": result.gate,
        "verdict": result.verdict,
        "policy": result.policy,
        "evidence": result.evidence,
        **{name: frame.to_dicts() for name, frame in result.tables.items()},
    }
    return {**data, "sha256": digest(data)}


def from_rows(columns: Mapping[str, Any], rows: list[dict[str, Any]]) -> pl.DataFrame:
    """A table from plain data.

    Parameters
    ----------
    columns : mapping
        From names to types; None stands for the name of a candidate, suite or the like.
    rows : list of dict
    """
    schema = {name: pl.String if dtype is None else dtype for name, dtype in columns.items()}
    return typed(columns, pl.DataFrame(rows, schema=schema, orient="row"))


def completed(columns: Mapping[str, Any], frame: pl.DataFrame, later: Sequence[str]) -> pl.DataFrame:
    """The frame with those of the columns `later` that it lacks, as null in their types."""
    lacking = [name for name in later if name not in frame.columns]
    return frame.with_columns(pl.lit(None, columns[name]).alias(name) for name in lacking)


def typed(columns: Mapping[str, Any], frame: pl.DataFrame) -> pl.DataFrame:
    """The columns in their order and types; names become categories in the order they appear."""
    out = []
    for name, dtype in columns.items():
        series = frame[name]
        if dtype is None:
            text = series.cast(pl.String)
            series = text.cast(pl.Enum(text.unique(maintain_order=True).drop_nulls()))
        out.append(series.cast(dtype) if dtype is not None else series)
    return pl.DataFrame(out)
