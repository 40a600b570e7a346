"""Tables in files: Parquet, Arrow IPC, CSV and NDJSON, one or several."""

from __future__ import annotations

import difflib
import glob
import gzip
import json
import os
import zlib
from pathlib import Path
from typing import Any

import polars as pl

from fastgate.errors import DataError
from fastgate.frames.joining import joined
from fastgate.frames.libraries import is_foreign, open_stream
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
        When there are none, the path is empty, or a folder cannot be searched.
    """
    text = os.fsdecode(os.fspath(source))
    if not text.strip():
        raise DataError(
            "the path is empty",
            expected="the path of a file or folder, or a pattern",
            received=repr(text),
            hint='the working folder is "."; an empty path is often a variable that was not set',
        )
    # Folders may be closed, change or vanish while they are searched.
    with translated("the path cannot be searched", text):
        return _found(text)


def _found(text: str) -> list[Path]:
    path = Path(text).expanduser()
    if path.is_dir():
        return _folder(path)
    if path.exists():
        return [path]
    if glob.has_magic(text):
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
    raise DataError(
        "the file does not exist",
        expected="a file",
        received="none",
        where=text,
        hint=_suggestion(text, path),
    )


def _suggestion(text: str, path: Path) -> str:
    if "://" in text:
        return "read remote files with polars.scan_parquet(url, ...) and pass that LazyFrame"
    if not path.parent.is_dir():
        return f"there is no folder {path.parent} either (working folder: {Path.cwd()})"
    near = difflib.get_close_matches(path.name, [entry.name for entry in path.parent.iterdir()], n=1)
    if near:
        return f"did you mean {path.parent / near[0]}?"
    return f"the folder {path.parent} is there, the file is not"


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
        When a file is empty, unreadable or of unknown format.
    """
    return joined([_scan(file) for file in dict.fromkeys(files)])


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
        if kind == "arrow" and _needs_pyarrow(file, head):
            return _through_pyarrow(file, head)
        frame = _lazy(file, kind, head)
        names = _written_names(file, kind, head, frame.collect_schema().names())

    def fetch(wanted: list[str]) -> pl.DataFrame:
        with translated(f"the file cannot be read as {kind}", where, hint):
            return frame.select(wanted).collect()

    # What `_lazy` has read whole has nothing to gain from batches.
    streams = kind != "json" and (kind != "arrow" or head.startswith(b"ARROW1"))
    query = frame.select if streams else None
    size = file.stat().st_size if streams else 0

    def count() -> int:
        with translated(f"the file cannot be read as {kind}", where, hint):
            return int(frame.select(pl.len()).collect().item())

    return Source(
        where,
        names,
        kind in ("csv", "tsv"),
        fetch,
        query,
        size,
        count if streams and kind in ("parquet", "arrow") else None,
        (lambda columns: _list_values(file, columns)) if kind == "parquet" else None,
    )


def _list_values(file: Path, columns: list[str]) -> int:
    """The number of values in columns of lists, as the file's metadata have it: to read a few takes 100 ms."""
    import pyarrow.parquet as pq

    metadata = pq.read_metadata(file)
    chunks = (
        metadata.row_group(group).column(column)
        for group in range(metadata.num_row_groups)
        for column in range(metadata.num_columns)
    )
    return sum(chunk.num_values for chunk in chunks if chunk.path_in_schema.split(".")[0] in columns)


def _arrow_reader(file: Path, head: bytes) -> Any:
    import pyarrow as pa

    mapped = pa.memory_map(str(file))
    return pa.ipc.open_file(mapped) if head.startswith(b"ARROW1") else pa.ipc.open_stream(mapped)


def _needs_pyarrow(file: Path, head: bytes) -> bool:
    """Whether an Arrow file has a type at which Polars panics, even if that column is not wanted."""
    import pyarrow as pa

    try:
        schema = _arrow_reader(file, head).schema
    except (pa.ArrowException, OSError):
        return False  # Polars says what is wrong
    return any(
        is_foreign(field.type) or isinstance(field.type, pa.ListViewType | pa.LargeListViewType)
        for field in schema
    )


def _through_pyarrow(file: Path, head: bytes) -> Source:
    def fetch(wanted: list[str]) -> pl.DataFrame:
        with translated("the file cannot be read as arrow", str(file)):
            return open_stream(_arrow_reader(file, head).read_all(), str(file)).fetch(wanted)

    return Source(str(file), tuple(_arrow_reader(file, head).schema.names), False, fetch)


def _written_names(file: Path, kind: str, head: bytes, names: list[str]) -> tuple[str, ...]:
    """The names of the columns as the file has them: Polars renames, or drops, one that is there twice."""
    if kind in ("csv", "tsv") and any("_duplicated_" in name for name in names):
        first = _csv(file, kind, has_header=False).head(1).collect().row(0)
        pairs = zip(names, (name or "" for name in first), strict=True)
        return tuple(raw if name.startswith(f"{raw}_duplicated_") else name for name, raw in pairs)
    if kind in ("ndjson", "json"):
        keys = _first_keys(file, kind == "json" and head.lstrip().startswith(b"["))
        return (*names, *(key for key in dict.fromkeys(keys) if key in names and keys.count(key) > 1))
    return tuple(names)


def _first_keys(file: Path, is_list: bool) -> list[str]:
    """The keys of the first object, with repetitions; a program that repeats a key does so everywhere."""
    opened = gzip.open if file.suffix.lower() == ".gz" else open
    decoder = json.JSONDecoder(object_pairs_hook=lambda pairs: [key for key, _ in pairs])
    try:
        with opened(file, "rb") as stream:
            if is_list:
                text = stream.read().decode().lstrip().removeprefix("[")
            else:
                text = next((line for line in stream if line.strip()), b"").decode()
        keys, _ = decoder.raw_decode(text.lstrip())
    except (OSError, EOFError, ValueError, RecursionError, zlib.error):
        return []  # Polars reads more (zst), or says what is wrong
    return keys if isinstance(keys, list) and all(isinstance(key, str) for key in keys) else []


def _csv(file: Path, kind: str, *, has_header: bool = True) -> pl.LazyFrame:
    separator = "\t" if kind == "tsv" else ","
    return pl.scan_csv(file, separator=separator, has_header=has_header, infer_schema=False, glob=False)


def _lazy(file: Path, kind: str, head: bytes) -> pl.LazyFrame:
    if kind == "parquet":
        return pl.scan_parquet(file, glob=False, hive_partitioning=False)
    if kind == "arrow":
        # The file format allows random access; the stream format has to be read from its beginning.
        if head.startswith(b"ARROW1"):
            return pl.scan_ipc(glob.escape(str(file)), hive_partitioning=False)
        return pl.read_ipc_stream(file).lazy()
    if kind in ("csv", "tsv"):
        return _csv(file, kind)
    if kind == "json" and head.lstrip().startswith(b"["):
        return pl.read_json(file, infer_schema_length=None).lazy()
    # Types are inferred from all lines: an integer in the first hundred may be followed by a fraction.
    return pl.scan_ndjson(glob.escape(str(file)), infer_schema_length=None)
