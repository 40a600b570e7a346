"""Results on disk: one JSON file, or a folder of Parquet or Arrow files; written aside and renamed."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import polars as pl

from fastgate.errors import ArgumentError, DataError
from fastgate.gates.benchmark import result as benchmark
from fastgate.gates.benchmark.parts import joined
from fastgate.gates.benchmark.result import BenchmarkResult
from fastgate.gates.safety import result as safety
from fastgate.gates.safety.result import SafetyResult
from fastgate.gates.stability import result as stability
from fastgate.gates.stability.result import StabilityResult
from fastgate.gates.tables import SCHEMA_VERSION, Judged, Result, completed, digest, from_rows, to_dict, typed

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "MANIFEST",
    "file_digest",
    "load",
    "save",
    "to_json",
    "write_aside",
    "write_manifest",
    "write_table",
]

MANIFEST: Final = "result.json"
_RESULTS: Final[dict[str, tuple[Any, dict[str, dict[str, Any]]]]] = {
    "benchmark": (BenchmarkResult, benchmark.TABLES),
    "safety": (safety.from_tables, safety.TABLES),
    "stability": (StabilityResult, stability.TABLES),
}

# Columns that results saved by earlier releases lack, by table.
_LATER: Final[dict[str, dict[str, tuple[str, ...]]]] = {"benchmark": benchmark.LATER}


def write_aside(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file under another name and rename it, so that nobody ever sees it half written.

    Raises
    ------
    DataError
        When the place cannot be written to.
    """
    aside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with aside.open("xb") as file:
                write(file)
            os.replace(aside, path)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise
    except (OSError, pl.exceptions.PolarsError) as error:
        # Polars wraps what the system says of a full disk.
        text = getattr(error, "strerror", None) or " ".join(str(error).split())
        full = "No space left" in text
        raise DataError(
            "the output cannot be written",
            expected="room on the disk" if full else "a path in a folder that may be written to",
            received="No space left on device" if full else text[:300],
            where=str(path),
            hint="make room, and go on with --resume where the output is a sweep's folder" if full else None,
        ) from None


def to_json(data: Mapping[str, Any]) -> bytes:
    """JSON that every parser reads: UTF-8, no NaN or Infinity."""
    return json.dumps(data, allow_nan=False, ensure_ascii=False, indent=1).encode() + b"\n"


def save(result: Result, path: str | PathLike[str]) -> None:
    """Write a result; see `BenchmarkResult.save`. A folder's name ending in ``.arrow`` holds Arrow files."""
    path = Path(path)
    if path.suffix == ".json":
        write_aside(path, lambda file: file.write(to_json(to_dict(result))))
        return
    if path.is_file():
        raise DataError(
            "a folder of tables cannot be written over a file",
            expected="a folder, or a name that ends in .json",
            received="a file that is there already",
            where=str(path),
        )
    kind = "arrow" if path.suffix == ".arrow" else "parquet"
    # Without its manifest a folder is no result: `load` refuses what an interruption leaves behind.
    (path / MANIFEST).unlink(missing_ok=True)
    write_manifest(
        result,
        path,
        {name: write_table(frame, path, f"{name}.{kind}") for name, frame in result.tables.items()},
    )


def write_table(frame: pl.DataFrame, folder: Path, file: str) -> dict[str, str]:
    """Write one table into a result's folder; what its manifest says of it."""
    path = folder / file
    write_aside(path, frame.write_ipc if path.suffix == ".arrow" else frame.write_parquet)
    return {"file": file, "sha256": file_digest(path)}


def write_manifest(result: Judged, folder: Path, tables: Mapping[str, Any]) -> None:
    """Write what makes a folder of tables a result.

    Parameters
    ----------
    result : Judged
    folder : Path
    tables : mapping
        For each table what `write_table` said of its file, or of its files in their order.
    """
    head = {
        "schema_version": SCHEMA_VERSION,
        "gate": result.gate,
        "verdict": result.verdict,
        "policy": result.policy,
        "evidence": result.evidence,
        "tables": tables,
    }
    head["sha256"] = digest(head)
    write_aside(folder / MANIFEST, lambda file: file.write(to_json(head)))


def file_digest(file: Path) -> str:
    """SHA-256 of a file's content."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def load(path: str | PathLike[str]) -> BenchmarkResult | SafetyResult | StabilityResult:
    """A result that was saved: a ``.json`` file or a folder of tables.

    Parameters
    ----------
    path : str or path
        What a result's ``save`` or the command line's ``-o`` wrote.

    Returns
    -------
    BenchmarkResult, SafetyResult or StabilityResult
        As the gate that wrote it returned it.

    Raises
    ------
    DataError
        When there is nothing, it is no result, it was changed since it was saved, or another version of the
        format.
    """
    from fastgate.frames.forks import require_working_process

    require_working_process()
    if not isinstance(path, str | PathLike):
        raise ArgumentError("a saved result is read from a path", expected="str or path", received=repr(path))
    path = Path(path)
    file = path / MANIFEST if path.is_dir() else path
    try:
        data = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise DataError(
            "there is no saved result",
            expected="a .json file or a folder that fastgate wrote",
            received="a folder without result.json (an interrupted run?)" if path.is_dir() else "nothing",
            where=str(path),
            hint="finish it: the same command with --resume" if (path / "parts").is_dir() else None,
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise _no_result(path, f"{type(error).__name__}: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("gate"), str) or data["gate"] not in _RESULTS:
        raise _no_result(path, "other JSON")
    if data.get("schema_version") != SCHEMA_VERSION:
        raise DataError(
            "the result has another format",
            expected=f"schema_version {SCHEMA_VERSION}",
            received=str(data.get("schema_version")),
            where=str(path),
            hint="read it with the fastgate that wrote it, or judge the samples again",
        )
    if digest(data) != data.get("sha256"):
        raise _changed(path)
    kind, columns = _RESULTS[data["gate"]]
    later = _LATER.get(data["gate"], {})
    try:
        tables = {
            name: from_rows(columns[name], data[name])
            if path.is_file()
            else _stored(path, columns[name], data["tables"][name], later.get(name, ()))
            for name in columns
        }
        if path.is_dir() and any(isinstance(files, list) for files in data["tables"].values()):
            tables = _put_together(tables)
        result: BenchmarkResult | SafetyResult | StabilityResult = kind(
            **tables, policy=data["policy"], evidence=data["evidence"]
        )
        return result
    except (KeyError, TypeError, ValueError, OSError, pl.exceptions.PolarsError) as error:
        raise _no_result(path, f"{type(error).__name__}: {error}") from None


def _no_result(path: Path, received: str) -> DataError:
    return DataError(
        "this is no result that fastgate saved",
        expected="a .json file or a folder that fastgate wrote",
        received=received,
        where=str(path),
    )


def _changed(path: Path) -> DataError:
    return DataError(
        "the result was changed since it was saved, so nothing in it can be relied on",
        expected="the content as fastgate wrote it",
        received="content with another SHA-256",
        where=str(path),
        hint="judge the samples again and save the result",
    )


def _stored(
    folder: Path,
    columns: dict[str, Any],
    files: dict[str, str] | list[dict[str, str]],
    later: tuple[str, ...],
) -> Any:
    """The table, or those of several files."""
    if isinstance(files, list):
        return [_stored(folder, columns, file, later) for file in files]
    path = folder / files["file"]
    if folder.resolve() not in path.resolve().parents:
        raise ValueError(f"{files['file']} is no file of the folder")
    if file_digest(path) != files["sha256"]:
        raise _changed(path)
    table = pl.read_ipc(path) if path.suffix == ".arrow" else pl.read_parquet(path)
    return typed(columns, completed(columns, table, later))


def _put_together(stored: dict[str, Any]) -> dict[str, pl.DataFrame]:
    """The tables of a sweep, of which but for the verdicts there is a file for each part."""
    parted = {name: frames for name, frames in stored.items() if isinstance(frames, list)}
    candidates = stored["verdicts"]["candidate"].cast(pl.String).to_list()
    return {**stored, **joined(parted, candidates)}
