"""Several files as one table: with the same columns, in types that hold what each of them has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from fastgate.errors import DataError
from fastgate.frames.columns import holds_numbers, number_column
from fastgate.frames.sources import Source, translated

__all__ = ["joined"]

_TEXTS = (pl.String, pl.Categorical, pl.Enum)
_UINT128: Any = getattr(pl, "UInt128", None)  # newer than the oldest Polars that fastgate works with


def joined(sources: Sequence[Source]) -> Source:
    """The rows of all sources, one after the other.

    It has every column that any of them has, so that one which only some have is noticed, not left out: reading it
    is an error.
    """
    if len(sources) == 1:
        return sources[0]
    names = tuple(dict.fromkeys(name for source in sources for name in source.columns))

    def fetch(wanted: list[str]) -> pl.DataFrame:
        _require_everywhere(wanted, sources)
        frames = []
        for source in sources:
            with translated("the file cannot be read", source.where):
                frames.append(source.fetch(wanted))
        columns = [_alike(name, [frame[name] for frame in frames], sources) for name in wanted]
        return pl.concat([pl.DataFrame(part) for part in zip(*columns, strict=True)], rechunk=False)

    where = f"{sources[0].where} and {len(sources) - 1} more"
    textual = any(source.textual for source in sources)
    # Whether a text in CSV is a name or a number is told by the files with types, once all are read.
    query = _joined_query(sources) if textual == all(source.textual for source in sources) else None
    counts = [source.count for source in sources if source.count is not None]
    count = (lambda: sum(one() for one in counts)) if len(counts) == len(sources) else None
    totals = [source.list_values for source in sources if source.list_values is not None]

    def list_values(columns: list[str]) -> int:
        return sum(one(columns) for one in totals)

    size = sum(source.n_bytes for source in sources)
    known = list_values if len(totals) == len(sources) else None
    return Source(where, names, textual, fetch, query, size, count, known)


def _joined_query(sources: Sequence[Source]) -> Callable[[list[str]], pl.LazyFrame] | None:
    queries = [source.query for source in sources if source.query is not None]
    if len(queries) < len(sources):
        return None

    def query(wanted: list[str]) -> pl.LazyFrame:
        _require_everywhere(wanted, sources)
        parts = [one(wanted) for one in queries]
        schemas = []
        for part, source in zip(parts, sources, strict=True):
            with translated("the file cannot be read", source.where):
                schemas.append(part.collect_schema())
        types = {name: _common(name, [schema[name] for schema in schemas], sources) for name in wanted}
        return pl.concat(
            [
                part.with_columns(
                    pl.col(name).cast(dtype) for name, dtype in types.items() if schema[name] != dtype
                )
                for part, schema in zip(parts, schemas, strict=True)
            ]
        )

    return query


def _require_everywhere(names: Sequence[str], sources: Sequence[Source]) -> None:
    for name in names:
        holder = next(source for source in sources if name in source.columns)
        for source in sources:
            if name not in source.columns:
                raise DataError(
                    f"the files do not have the same columns: {name!r} is only in some",
                    expected=f"{name!r}, as in {holder.where}",
                    received=", ".join(source.columns) or "no columns",
                    where=source.where,
                    hint="give every file the column or none, or narrow the pattern to the files of one table",
                )
    for source in sources:
        source.require(names)


def _alike(name: str, columns: list[pl.Series], sources: Sequence[Source]) -> list[pl.Series]:
    """One column of all files in one type."""
    common = _common(name, [column.dtype for column in columns], sources)
    texts = [column for column, source in zip(columns, sources, strict=True) if source.textual]
    if texts and (common == pl.Null or common in (*_TEXTS, pl.Date, pl.Boolean) or common.is_integer()):
        common = pl.String()
    elif texts and holds_numbers(common):
        # Floats never name anything, so that these are measurements. Their digits stay what they are.
        common = pl.Float64()
        columns = [
            number_column(column, name, source.where, textual=source.textual).alias(name)
            for column, source in zip(columns, sources, strict=True)
        ]
    elif texts:
        typed = next(source for source in sources if not source.textual)
        raise _unlike(
            name, common, texts[0].dtype, typed, next(source for source in sources if source.textual)
        )
    return [column.cast(common) for column in columns]


def _common(name: str, types: list[Any], sources: Sequence[Source]) -> Any:
    """The type that holds what the column has in each file; text of CSV files aside, unless there is nothing else."""
    common: Any = pl.Null()
    for dtype, source in zip(types, sources, strict=True):
        # The text of a CSV file may be a name or a number: the files with types tell which.
        wider = common if source.textual else _wider(common, dtype)
        if wider is None:
            raise _unlike(name, common, dtype, sources[0], source)
        common = wider
    return pl.String() if all(source.textual for source in sources) else common


def _unlike(name: str, common: Any, dtype: Any, first: Source, other: Source) -> DataError:
    return DataError(
        "the files do not have the same types",
        expected=f"{name}: {common}, as in {first.where}",
        received=f"{name}: {dtype}" + (" (CSV text)" if other.textual else ""),
        where=other.where,
        hint="write the column in one type in every file",
    )


def _wider(one: Any, other: Any) -> Any:
    """The type that holds the values of both, or None."""
    if one == other or other == pl.Null:
        return one
    if one == pl.Null:
        return other
    if one.is_integer() and other.is_integer():
        return _wider_integer(one, other)
    if all(kind in (*_TEXTS, pl.Date) or kind.is_integer() for kind in (one, other)):
        # These are names, for no text is a number where types are known, and names become text anyway.
        return pl.String()
    if holds_numbers(one) and holds_numbers(other):
        return pl.Float64()
    if isinstance(one, pl.List | pl.Array) and isinstance(other, pl.List | pl.Array):
        inner = _wider(one.inner, other.inner)
        return None if inner is None else pl.List(inner)
    return None


def _wider_integer(one: Any, other: Any) -> Any:
    kinds = (one, other)
    if all(kind.is_unsigned_integer() for kind in kinds):
        return _UINT128() if _UINT128 in kinds else pl.UInt64()
    if _UINT128 in kinds:
        return pl.String()
    return pl.Int128() if pl.UInt64 in kinds or pl.Int128 in kinds else pl.Int64()
