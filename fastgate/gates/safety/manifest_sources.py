"""Where manifests come from: JSON and TOML files, plain data, and frames or tables on disk."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final

import polars as pl

from fastgate.errors import DataError
from fastgate.gates.safety.manifest import RunManifest
from fastgate.gates.schema import show

__all__ = ["entries", "typed"]

_KNOWN_KEYS: Final = ("runs", "defaults", "name", "description")
_NUMBERS: Final = {"temperature": pl.Float64(), "top_p": pl.Float64(), "max_tokens": pl.Int64()}


def entries(source: Any) -> Iterator[tuple[Mapping[str, Any] | pl.DataFrame, str]]:
    """Each manifest as plain data, or a frame of them, and what to call it in a message."""
    if source is None:
        return
    if isinstance(source, RunManifest):
        yield source.to_dict(), "a RunManifest"
    elif isinstance(source, Mapping):
        yield from _runs(source, "manifests given as a dict")
    elif isinstance(source, str | PathLike):
        yield from _file(source)
    elif isinstance(source, Sequence) and not isinstance(source, bytes):
        for position, item in enumerate(source):
            if isinstance(item, Mapping):
                yield from _runs(item, f"manifest {position}")
            else:
                yield from entries(item)
    else:
        yield _frame(source)


def _file(source: str | PathLike[str]) -> Iterator[tuple[Mapping[str, Any] | pl.DataFrame, str]]:
    path = Path(source)
    if path.suffix.lower() not in (".json", ".toml"):
        yield _frame(source)
        return
    try:
        text = path.read_bytes().decode("utf-8-sig")
        data = tomllib.loads(text) if path.suffix.lower() == ".toml" else _json(text)
    except FileNotFoundError:
        raise DataError("the manifest does not exist", expected="a file", where=str(path)) from None
    except (OSError, ValueError, RecursionError) as error:
        received = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise DataError(
            "the manifest cannot be read",
            expected="a JSON or TOML file in UTF-8, each field of a table once",
            received=received,
            where=str(path),
        ) from None
    yield from _runs(data, str(path))


def _json(text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) < len(pairs):
            # The parser would keep the last one and say nothing.
            raise ValueError(f"a key stands twice: {', '.join(name for name, _ in pairs)}"[:200])
        return table

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON")

    return json.loads(text, object_pairs_hook=once, parse_constant=refuse)


def _runs(data: Any, where: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    if isinstance(data, list):
        data = {"runs": data}
    if not isinstance(data, Mapping):
        raise DataError("this is no manifest", expected="a table", received=show(data), where=where)
    if "runs" not in data:
        yield data, where
        return
    runs, defaults = data["runs"], data.get("defaults", {})
    unknown = [name for name in data if name not in _KNOWN_KEYS]
    if unknown:
        raise DataError(
            "a field stands outside the runs",
            expected=", ".join(_KNOWN_KEYS),
            received=repr(unknown[0]),
            where=where,
            hint="put what holds for all runs under defaults",
        )
    tables = isinstance(runs, list) and all(isinstance(run, Mapping) for run in runs)
    if not tables or not isinstance(defaults, Mapping):
        raise DataError(
            "the manifests cannot be read",
            expected="runs, a list of tables, and perhaps defaults, a table",
            received=show(runs if not tables else defaults),
            where=where,
        )
    for position, run in enumerate(runs):
        yield {**defaults, **run}, f"{where}, run {position + 1}"


def _frame(source: Any) -> tuple[pl.DataFrame, str]:
    from fastgate.frames import read_frame

    frame = read_frame(source)
    where = str(source) if isinstance(source, str | PathLike) else type(source).__name__
    if "build" not in frame.columns:
        raise DataError(
            "the manifests have no column 'build'",
            expected="build, perhaps suite, and a column for each field",
            received=", ".join(frame.columns),
            where=where,
        )
    labels = [name for name in ("build", "suite") if name in frame.columns]
    return typed(frame.with_columns(pl.col(labels).cast(pl.String)), where), where


def typed(frame: pl.DataFrame, where: str) -> pl.DataFrame:
    """Text in columns that hold numbers, as CSV has it, becomes numbers; empty text is not stated."""
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    frame = frame.with_columns(pl.when(pl.col(texts).str.strip_chars() != "").then(pl.col(texts)))
    for name, dtype in _NUMBERS.items():
        if name in texts:
            numbers = frame[name].cast(dtype, strict=False)
            unread = numbers.is_null() & frame[name].is_not_null()
            if unread.any():
                row = int(unread.arg_true()[0])
                raise DataError(
                    f"the column {name!r} holds text that is no number",
                    received=repr(frame[name][row]),
                    where=f"{where}, row {row + 1}",
                )
            frame = frame.with_columns(numbers)
    return frame
