"""Tables of other libraries, taken over through Arrow."""

from __future__ import annotations

from typing import Any

import polars as pl

from fastgate.errors import DataError
from fastgate.frames.sources import Source, translated

__all__ = ["is_foreign", "open_duckdb", "open_pandas", "open_stream"]


def open_stream(source: Any, where: str) -> Source:
    """Any object with the Arrow PyCapsule interface, as a stream or as one array."""
    import pyarrow as pa

    with translated("the Arrow stream cannot be opened", where):
        if hasattr(source, "__arrow_c_stream__"):
            reader = pa.RecordBatchReader.from_stream(source)
        else:
            batch = pa.record_batch(source)
            reader = pa.RecordBatchReader.from_batches(batch.schema, [batch])

    def fetch(wanted: list[str]) -> pl.DataFrame:
        schema = pa.schema([reader.schema.field(name) for name in wanted])
        _refuse_types(schema, where)
        return _from_arrow(pa.Table.from_batches([batch.select(wanted) for batch in reader], schema))

    return Source(where, tuple(reader.schema.names), False, fetch)


def _refuse_types(schema: Any, where: str) -> None:
    """Refuse columns of Arrow types at which Polars panics, which it would report on standard error itself.

    Raises
    ------
    DataError
        When the pyarrow schema has one.
    """
    for field in schema:
        if is_foreign(field.type):
            raise DataError(
                f"the column {field.name!r} has a type that Polars does not read",
                expected="floats, integers, decimals of up to 38 digits (decimal128), booleans, text or lists",
                received=str(field.type),
                where=where,
                hint="cast it first: numbers to double, names to text",
            )


def is_foreign(kind: Any) -> bool:
    """Whether Polars panics at this pyarrow type, or at one within it."""
    import pyarrow.types as kinds

    if kinds.is_decimal256(kind) or kinds.is_interval(kind) or kinds.is_union(kind):
        return True
    if kinds.is_run_end_encoded(kind):
        return True
    # A dictionary's values and a list's items are no fields of it.
    inner = [getattr(kind, name) for name in ("value_type", "item_type") if hasattr(kind, name)]
    inner += [kind.field(index).type for index in range(kind.num_fields)] if kinds.is_struct(kind) else []
    return any(is_foreign(part) for part in inner)


def _from_arrow(table: Any) -> pl.DataFrame:
    import pyarrow as pa

    for index, field in enumerate(table.schema):
        if isinstance(field.type, pa.ListViewType | pa.LargeListViewType):
            chunks = [_plain_lists(chunk) for chunk in table.column(index).chunks]
            table = table.set_column(
                index, field.name, pa.chunked_array(chunks, pa.large_list(field.type.value_type))
            )
    return pl.DataFrame(pl.from_arrow(table, rechunk=False))


def _plain_lists(views: Any) -> Any:
    """A list-view array as lists: Polars reads no views, and pyarrow's cast (26.0) makes invalid lists of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lengths = pc.fill_null(pc.list_value_length(views), 0).cast(pa.int64())
    offsets = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(lengths)])
    return pa.LargeListArray.from_arrays(offsets, views.flatten(), mask=views.is_null())


def open_pandas(frame: Any) -> Source:
    """A pandas DataFrame, with its index where that has a name; only the columns wanted are converted."""
    # A named index holds data; an unnamed one only counts rows.
    if any(name is not None for name in frame.index.names):
        with translated("the index cannot be turned into columns", "pandas DataFrame"):
            frame = frame.reset_index()
    names = tuple(str(name) for name in frame.columns)

    def fetch(wanted: list[str]) -> pl.DataFrame:
        import pyarrow as pa

        positions = [names.index(name) for name in wanted]
        part = frame.iloc[:, positions]
        table = pa.Table.from_pandas(part.set_axis(wanted, axis=1), preserve_index=False)
        _refuse_types(table.schema, "pandas DataFrame")
        return _from_arrow(table)

    return Source("pandas DataFrame", names, False, fetch)


def open_duckdb(relation: Any) -> Source:
    """A DuckDB relation, of which only the columns wanted are computed."""

    def fetch(wanted: list[str]) -> pl.DataFrame:
        quoted = ['"' + name.replace('"', '""') + '"' for name in wanted]
        return open_stream(relation.project(", ".join(quoted)), "DuckDB relation").fetch(wanted)

    with translated("the relation cannot be described", "DuckDB relation"):
        names = tuple(relation.columns)
    return Source("DuckDB relation", names, False, fetch)
