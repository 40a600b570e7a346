"""Where rows come from: files, and whatever frames other libraries hand over as an Arrow stream."""

from __future__ import annotations

import difflib
import glob
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from fastgate.errors import DataError, FastgateError

__all__ = ["Source", "numbers_dtype", "open_source", "read_frame", "translated"]

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
_MAGIC = {b"PAR1": "parquet", b"ARRO": "arrow", b"\xff\xff\xff\xff": "arrow"}
_ACCEPTED = (
    "a path, a list of paths or a glob of Parquet, Arrow IPC, CSV or NDJSON files; or a frame: Polars, pandas, pyarrow, "
    "DuckDB, or any other object with __arrow_c_stream__"
)


@dataclass(frozen=True)
class Source:
    """A table that has been opened but not read.

    Parameters
    ----------
    where : str
        What to call it in a message.
    columns : tuple of str
        The names of its columns.
    textual : bool
        Whether every column is text because the format has no types (CSV).
    fetch : callable
        From a list of column names to a frame of just these columns.
    """

    where: str
    columns: tuple[str, ...]
    textual: bool
    fetch: Callable[[list[str]], pl.DataFrame]

    def read(self, names: Sequence[str]) -> pl.DataFrame:
        """The columns `names`, each once, in this order.

        Raises
        ------
        DataError
            When a column is missing or there twice, the content is not readable, or there are no rows.
        """
        wanted = list(dict.fromkeys(names))
        for name in wanted:
            if self.columns.count(name) != 1:
                raise DataError(
                    f"the column {name!r} is {'missing' if name not in self.columns else 'there more than once'}",
                    expected=f"one column {name!r}",
                    received=", ".join(self.columns) or "no columns",
                    where=self.where,
                )
        with translated("the data cannot be read", self.where):
            frame = self.fetch(wanted)
        if frame.height == 0:
            raise DataError(
                "there are no rows",
                expected="at least one row of measurements",
                received=f"0 rows of the columns {', '.join(self.columns)}",
                where=self.where,
                hint="an empty table proves nothing: check the step that wrote it, or the query's filter",
            )
        return frame


@contextmanager
def translated(problem: str, where: str, hint: str | None = None) -> Iterator[None]:
    """Turn any error of a library that reads data into a DataError."""
    try:
        yield
    except FastgateError:
        raise
    except BaseException as error:
        # A panic in Polars' Rust code derives from BaseException, as KeyboardInterrupt does, which must pass.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        text = " ".join(str(error).split()) or type(error).__name__
        raise DataError(
            problem, received=text if len(text) <= 300 else text[:297] + "...", where=where, hint=hint
        ) from error


def read_frame(source: Any, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """The rows of a file, of several files, or of any Arrow-compatible frame.

    Parameters
    ----------
    source : path, list of paths, glob, or a frame
        A path (``str`` or ``os.PathLike``) of a Parquet (``.parquet``, ``.pq``), Arrow IPC (``.arrow``,
        ``.arrows``, ``.ipc``, ``.feather``), CSV (``.csv``, ``.tsv``) or JSON file (``.ndjson``, ``.jsonl``,
        ``.json``), the texts also with ``.gz`` or ``.zst``; a folder of such files; a glob (``**`` crosses
        folders); a list of any of these. Or an object with the Arrow PyCapsule stream interface
        (``__arrow_c_stream__``), or a Polars LazyFrame.
    columns : sequence of str, optional
        Read only these (the formats that can, leave the others on disk); all by default.

    Returns
    -------
    polars.DataFrame
        CSV columns are text, exactly as they stand in the file, so that a build ``1.10`` stays what it is.

    Raises
    ------
    DataError
        When there is no such file, a file is empty, corrupt, of unknown format or unlike the others, a column
        is missing, or there are no rows.

    Examples
    --------
    >>> import polars as pl
    >>> read_frame(pl.LazyFrame({"build": ["a", "b"], "value": [1.0, 2.0]}), ["value"])["value"].to_list()
    [1.0, 2.0]
    """
    opened = open_source(source)
    return opened.read(opened.columns if columns is None else columns)


def open_source(source: Any) -> Source:
    """A source with the names of its columns, its rows not yet read; parameters and errors as `read_frame`."""
    if isinstance(source, Source):
        return source
    if isinstance(source, str | os.PathLike):
        return _open_files(_find_files(source))
    if (
        isinstance(source, list | tuple)
        and source
        and all(isinstance(path, str | os.PathLike) for path in source)
    ):
        return _open_files([file for path in source for file in _find_files(path)])
    if isinstance(source, pl.DataFrame):
        return Source("Polars DataFrame", tuple(source.columns), False, source.select)
    if isinstance(source, pl.LazyFrame):
        with translated("the query has no valid schema", "Polars LazyFrame"):
            names = tuple(source.collect_schema().names())
        return Source("Polars LazyFrame", names, False, lambda wanted: source.select(wanted).collect())
    library = type(source).__module__.split(".")[0]
    if library == "pandas" and hasattr(source, "columns"):
        return _open_pandas(source)
    if library in ("duckdb", "_duckdb") and hasattr(source, "project"):
        return _open_duckdb(source)
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
        return _open_stream(source, f"{library} {type(source).__name__}")
    raise DataError(
        "this is not a source of data",
        expected=_ACCEPTED,
        received="an empty list" if source in ([], ()) else _describe(source),
        hint="read or build a frame from it first, e.g. with polars.DataFrame(...)",
    )


def _describe(source: Any) -> str:
    if isinstance(source, list | tuple):
        kinds = sorted({type(item).__name__ for item in source})
        return f"a {type(source).__name__} of {', '.join(kinds)}"
    return f"an object of type {type(source).__name__}"


# Frames of other libraries


def _open_stream(source: Any, where: str) -> Source:
    import pyarrow as pa

    with translated("the Arrow stream cannot be opened", where):
        if hasattr(source, "__arrow_c_stream__"):
            reader = pa.RecordBatchReader.from_stream(source)
        else:
            batch = pa.record_batch(source)
            reader = pa.RecordBatchReader.from_batches(batch.schema, [batch])

    def fetch(wanted: list[str]) -> pl.DataFrame:
        schema = pa.schema([reader.schema.field(name) for name in wanted])
        return _from_arrow(pa.Table.from_batches([batch.select(wanted) for batch in reader], schema))

    return Source(where, tuple(reader.schema.names), False, fetch)


def _from_arrow(table: Any) -> pl.DataFrame:
    import pyarrow as pa

    views = (pa.ListViewType, pa.LargeListViewType)
    for index, field in enumerate(table.schema):
        if isinstance(field.type, views):  # Polars reads no list views
            table = table.set_column(
                index, field.name, table.column(index).cast(pa.large_list(field.type.value_type))
            )
    return pl.DataFrame(pl.from_arrow(table, rechunk=False))


def _open_pandas(frame: Any) -> Source:
    # A named index holds data; an unnamed one only counts rows.
    if any(name is not None for name in frame.index.names):
        with translated("the index cannot be turned into columns", "pandas DataFrame"):
            frame = frame.reset_index()
    names = tuple(str(name) for name in frame.columns)

    def fetch(wanted: list[str]) -> pl.DataFrame:
        import pyarrow as pa

        positions = [names.index(name) for name in wanted]
        part = frame.iloc[:, positions]
        return _from_arrow(pa.Table.from_pandas(part.set_axis(wanted, axis=1), preserve_index=False))

    return Source("pandas DataFrame", names, False, fetch)


def _open_duckdb(relation: Any) -> Source:
    def fetch(wanted: list[str]) -> pl.DataFrame:
        quoted = ['"' + name.replace('"', '""') + '"' for name in wanted]
        return _open_stream(relation.project(", ".join(quoted)), "DuckDB relation").fetch(wanted)

    with translated("the relation cannot be described", "DuckDB relation"):
        names = tuple(relation.columns)
    return Source("DuckDB relation", names, False, fetch)


# Files


def _find_files(source: str | os.PathLike[Any]) -> list[Path]:
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


def _open_files(files: list[Path]) -> Source:
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


def numbers_dtype(dtype: pl.DataType) -> bool:
    """Whether a column of this type holds numbers (booleans count as 0 and 1)."""
    return dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)


def _wider(one: pl.DataType, other: pl.DataType) -> pl.DataType | None:
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
    if numbers_dtype(one) and numbers_dtype(other):
        return pl.Float64()
    if isinstance(one, pl.List) and isinstance(other, pl.List):
        inner = _wider(_dtype(one.inner), _dtype(other.inner))
        return None if inner is None else pl.List(inner)
    return None


def _dtype(dtype: Any) -> pl.DataType:
    return dtype() if isinstance(dtype, type) else dtype


def _scan(file: Path) -> Source:
    where = str(file)
    with translated("the file cannot be opened", where):
        with file.open("rb") as stream:
            head = stream.read(64)
    if not head:
        raise DataError(
            "the file is empty",
            expected="a table with at least one row",
            received="0 bytes",
            where=where,
            hint="the step that writes it may have failed, or still be running",
        )
    inside = _MAGIC.get(head[:4])
    kind = _suffix_format(file) or inside
    if kind is None:
        raise DataError(
            "the format of the file is not known",
            expected=f"a name ending in {', '.join(_FORMATS)} (texts also with .gz or .zst), or Parquet or Arrow content",
            received=file.name,
            where=where,
        )
    hint = None
    if inside and inside != kind:
        hint = f"its first bytes are those of {inside}, not of {kind}: correct its name"
    elif kind in ("ndjson", "json"):
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
            return pl.scan_ipc(file, glob=False, hive_partitioning=False)
        return pl.read_ipc_stream(file).lazy()
    if kind in ("csv", "tsv"):
        return pl.scan_csv(file, separator="\t" if kind == "tsv" else ",", infer_schema=False, glob=False)
    if kind == "json" and head.lstrip().startswith(b"["):
        return pl.read_json(file, infer_schema_length=None).lazy()
    # Types are inferred from all lines: an integer in the first hundred may be followed by a fraction.
    return pl.scan_ndjson(file, infer_schema_length=None)
