"""Tables in files: Parquet, Arrow IPC, CSV and NDJSON, one or several."""

from __future__ import annotations

import difflib
import glob
import os
from pathlib import Path
from typing import Any

import polars as pl

from fastgate.errors import DataError
from fastgate.frames.columns import holds_numbers
from fastgate.frames.sources import Source, translated

__all__ = ["find_files", "open_files"]

_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
    ".csv": "csv",
    ".tsv": "tsv",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".json": "json",
}
_COMPRESSED = (".gz", ".zst")
_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}


def find_files(source: str | os.PathLike[Any]) -> list[Path]:
    """The files that a path, folder or pattern stands for.

    Raises
    ------
    DataError
        When there are none.
    """
    text = os.fsdecode(os.fspath(source))
    path = Path(text).expanduser()
    if path.is_dir():
        return _folder(path)
    if path.exists():
        return [path]
    if glob.has_magic(text):
        with translated("the pattern cannot be used", text):
            found = [Path(match) for match in sorted(glob.glob(str(path), recursive=True))]
        files = [match for match in found if match.is_file()]
        if not files and found:
            files = [file for folder in found for file in _folder(folder)]
        if not files:
            raise DataError(
                "no file matches the pattern",
                expected="at least one file",
                received="none",
                where=f"{text} (in {Path.cwd()})",
                hint="quote the pattern in a shell; ** crosses folders",
            )
        return files
    if "://" in text:
        hint = "read remote files with polars.scan_parquet(url, ...) and pass that LazyFrame"
    elif path.parent.is_dir():
        near = difflib.get_close_matches(path.name, [entry.name for entry in path.parent.iterdir()], n=1)
        hint = (
            f"did you mean {path.parent / near[0]}?"
            if near
            else f"the folder {path.parent} is there, the file is not"
        )
    else:
        hint = f"there is no folder {path.parent} either (working folder: {Path.cwd()})"
    raise DataError("the file does not exist", expected="a file", received="none", where=text, hint=hint)


def _folder(folder: Path) -> list[Path]:
    hidden = (".", "_")
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and _suffix_format(path) and not path.name.startswith(hidden)
    ]
    if not files:
        raise DataError(
            "the folder holds no data files",
            expected=f"files ending in {', '.join(_FORMATS)}",
            received=", ".join(sorted(entry.name for entry in folder.iterdir())[:8]) or "an empty folder",
            where=str(folder),
        )
    return files


def _suffix_format(path: Path) -> str | None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if len(suffixes) > 1 and suffixes[-1] in _COMPRESSED:
        kind = _FORMATS.get(suffixes[-2])
        return kind if kind in ("csv", "tsv", "ndjson", "json") else None
    return _FORMATS.get(suffixes[-1]) if suffixes else None


def open_files(files: list[Path]) -> Source:
    """The files as one table; each must have every column that is read.

    Raises
    ------
    DataError
        When a file is empty, unreadable, of unknown format, or unlike the first.
    """
    files = list(dict.fromkeys(files))
    scans = [_scan(file) for file in files]
    if len(scans) == 1:
        return scans[0]
    where = f"{files[0]} and {len(files) - 1} more"

    def fetch(wanted: list[str]) -> pl.DataFrame:
        frames = []
        for scan in scans:
            missing = [name for name in wanted if name not in scan.columns]
            if missing:
                raise DataError(
                    "the files do not have the same columns",
                    expected=f"{', '.join(wanted)}, as in {scans[0].where}",
                    received=", ".join(scan.columns),
                    where=scan.where,
                    hint="narrow the pattern to the files of one table",
                )
            with translated("the file cannot be read", scan.where):
                frames.append(scan.fetch(wanted))
        return pl.concat(_alike(frames, scans), rechunk=False)

    return Source(where, scans[0].columns, scans[0].textual, fetch)


def _alike(frames: list[pl.DataFrame], scans: list[Source]) -> list[pl.DataFrame]:
    """The files' frames with the same types, where these differ only in width."""
    for name in frames[0].columns:
        first = frames[0].schema[name]
        common = first
        for frame, scan in zip(frames, scans, strict=True):
            wider = _wider(common, frame.schema[name])
            if wider is None or scan.textual != scans[0].textual:
                raise DataError(
                    "the files do not have the same types",
                    expected=f"{name}: {first}, as in {scans[0].where}",
                    received=f"{name}: {frame.schema[name]}" + (" (CSV text)" if scan.textual else ""),
                    where=scan.where,
                    hint="convert the files to one type, or pass them separately",
                )
            common = wider
        frames = [frame.with_columns(pl.col(name).cast(common)) for frame in frames]
    return frames


def _wider(one: Any, other: Any) -> Any:
    """The type that holds the values of both, or None."""
    if one == other or other == pl.Null:
        return one
    if one == pl.Null:
        return other
    texts = (pl.String, pl.Categorical, pl.Enum)
    if one in texts and other in texts:
        return pl.String()
    if one.is_integer() and other.is_integer():
        # UInt64 and a signed type have no common one but text's, which is what keys become anyway.
        return pl.Int64() if pl.UInt64 not in (one, other) else None
    if holds_numbers(one) and holds_numbers(other):
        return pl.Float64()
    if isinstance(one, pl.List) and isinstance(other, pl.List):
        inner = _wider(one.inner, other.inner)
        return None if inner is None else pl.List(inner)
    return None


def _scan(file: Path) -> Source:
    where = str(file)
    with translated("the file cannot be opened", where), file.open("rb") as stream:
        head = stream.read(64)
    if not head:
        raise DataError(
            "the file is empty",
            expected="a table with at least one row",
            received="0 bytes",
            where=where,
            hint="the step that writes it may have failed, or still be running",
        )
    inside = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic) and min(head) < 9), None)
    kind = _suffix_format(file) or inside
    if kind is None:
        raise DataError(
            "the format of the file is not known",
            expected=f"a name ending in {', '.join(_FORMATS)} (texts also with .gz or .zst)",
            received=file.name,
            where=where,
        )
    if inside and inside != kind:
        raise DataError(
            "the name of the file does not fit its content",
            expected=f"{kind}, by its name",
            received=f"the first bytes of {inside}",
            where=where,
            hint="correct the name, or the step that writes it",
        )
    hint = None
    if kind in ("ndjson", "json"):
        hint = "one JSON object a line; JSON has no NaN: write null for a missing value"
    with translated(f"the file cannot be read as {kind}", where, hint):
        frame = _lazy(file, kind, head)
        names = tuple(frame.collect_schema().names())

    def fetch(wanted: list[str]) -> pl.DataFrame:
        with translated(f"the file cannot be read as {kind}", where, hint):
            return frame.select(wanted).collect()

    return Source(where, names, kind in ("csv", "tsv"), fetch)


def _lazy(file: Path, kind: str, head: bytes) -> pl.LazyFrame:
    if kind == "parquet":
        return pl.scan_parquet(file, glob=False, hive_partitioning=False)
    if kind == "arrow":
        # The file format allows random access; the stream format has to be read from its beginning.
        if head.startswith(b"ARROW1"):
            return pl.scan_ipc(glob.escape(str(file)), hive_partitioning=False)
        return pl.read_ipc_stream(file).lazy()
    if kind in ("csv", "tsv"):
        return pl.scan_csv(file, separator="\t" if kind == "tsv" else ",", infer_schema=False, glob=False)
    if kind == "json" and head.lstrip().startswith(b"["):
        return pl.read_json(file, infer_schema_length=None).lazy()
    # Types are inferred from all lines: an integer in the first hundred may be followed by a fraction.
    return pl.scan_ndjson(glob.escape(str(file)), infer_schema_length=None)
