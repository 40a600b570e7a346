"""Columns as fastgate needs them: keys that name something, numbers that are float64."""

from __future__ import annotations

import polars as pl

from fastgate.errors import DataError

__all__ = ["holds_numbers", "key_column", "list_column", "number_column"]

_MISSING = ("", "na", "n/a", "nan", "null", "none")


def holds_numbers(dtype: pl.DataType) -> bool:
    """Whether a column of this type holds numbers (booleans count as 0 and 1)."""
    return dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)


def _row(mask: pl.Series) -> int:
    """The number of the first marked row, counted from 1."""
    return int(mask.arg_true()[0]) + 1


def _place(name: str, where: str) -> str:
    return f"column {name!r} of {where}"


def key_column(column: pl.Series, name: str, where: str) -> pl.Series:
    """The column, if its values can be names: text, categories, integers or dates, none of them null.

    Raises
    ------
    DataError
        When it holds anything else.
    """
    dtype = column.dtype
    good = dtype in (pl.String, pl.Categorical, pl.Enum, pl.Date) or dtype.is_integer()
    if not good and dtype != pl.Null:
        hint = "convert it to text"
        if dtype.is_float():
            hint = "convert it to integers or text: 1.0 and 1 would name different things"
        raise DataError(
            f"the key {name!r} has a type that names nothing",
            expected="text, categories, integers or dates",
            received=str(dtype),
            where=_place(name, where),
            hint=hint,
        )
    if column.null_count():
        nulls = column.is_null()
        raise DataError(
            f"the key {name!r} is missing in some rows",
            expected="a name in every row",
            received=f"{nulls.sum()} of {len(column)} rows without, the first is row {_row(nulls)}",
            where=_place(name, where),
            hint="drop these rows if they are no measurements",
        )
    if dtype.is_integer() and dtype not in _WORDS:
        return column.cast(pl.String)  # 128 bits: more than a word
    return column


_WORDS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)


def number_column(column: pl.Series, name: str, where: str, *, textual: bool = False) -> pl.Series:
    """The column as Float64; booleans become 0 and 1, nulls stay null.

    Parameters
    ----------
    column : polars.Series
        Of numbers or booleans.
    name, where : str
        For messages.
    textual : bool, optional
        Whether numbers may be written as text, as in CSV: with "nan", "inf", "true" and "false" in any case;
        an empty field, "NA", "N/A", "null" and "None" are missing values.

    Raises
    ------
    DataError
        When it holds anything else, or text that is no number.
    """
    dtype = column.dtype
    if dtype == pl.Float64:
        return column
    if holds_numbers(dtype):
        return column.cast(pl.Float64)
    if dtype == pl.String and textual:
        return _parse(column, name, where)
    hint = None
    if dtype in (pl.List, pl.Array):
        hint = "a column of lists belongs to the packed shape: call it 'values'"
    elif dtype == pl.String:
        hint = "convert it to numbers; a missing value is null or NaN"
    first = column.drop_nulls().head(1).to_list()
    raise DataError(
        f"the column {name!r} does not hold numbers",
        expected="floats, integers, decimals or booleans",
        received=f"{dtype}" + (f", e.g. {str(first[0])[:40]!r}" if first else ""),
        where=_place(name, where),
        hint=hint,
    )


def _parse(column: pl.Series, name: str, where: str) -> pl.Series:
    text = column.str.strip_chars()
    numbers = text.cast(pl.Float64, strict=False)
    unread = text.is_not_null() & numbers.is_null()
    if not unread.any():
        return numbers
    lowered = text.str.to_lowercase()
    words = pl.DataFrame({"text": lowered, "number": numbers}).select(
        pl.when(pl.col("text") == "true")
        .then(1.0)
        .when(pl.col("text") == "false")
        .then(0.0)
        .otherwise(pl.col("number"))
    )
    numbers = words.to_series()
    unread = text.is_not_null() & numbers.is_null() & ~lowered.is_in(list(_MISSING))
    if unread.any():
        row = _row(unread)
        raise DataError(
            f"the column {name!r} holds text that is no number",
            expected="numbers; empty, NaN or NA for a missing value",
            received=f"{column[row - 1][:40]!r} in row {row}"
            + (f", and {n} more" if (n := unread.sum() - 1) else ""),
            where=_place(name, where),
            hint="rows are counted from 1 after the header",
        )
    return numbers


def list_column(column: pl.Series, name: str, where: str) -> pl.Series:
    """The column, if it holds lists (fixed-size arrays become lists).

    Raises
    ------
    DataError
        When it does not.
    """
    if isinstance(column.dtype, pl.Array):
        return column.arr.to_list()
    if column.dtype == pl.List:
        return column
    raise DataError(
        f"the column {name!r} does not hold lists",
        expected="a list per row (a cell's values or cases)",
        received=str(column.dtype),
        where=_place(name, where),
        hint="one measurement a row is the shape runs or pairs, with columns 'case' and 'value'",
    )
