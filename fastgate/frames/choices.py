"""Columns of choices, of reasons for abstaining and of flags as codes."""

from __future__ import annotations

from typing import Final, NoReturn

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate.errors import DataError
from fastgate.frames.codes import Pieces, code_names, for_each
from fastgate.frames.columns import key_column
from fastgate.kernels.choices import ABSENT, ABSTAIN, NAMES

__all__ = [
    "UNKNOWN_CHOICE",
    "UNKNOWN_FLAG",
    "choice_codes",
    "choice_text",
    "flags",
    "reason_codes",
    "refuse_unknown_words",
]

Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]

UNKNOWN_CHOICE: Final = ABSTAIN + 1
"""The code of a choice whose word is not known."""
UNKNOWN_FLAG: Final = 2
"""The code of a flag that is null."""

_MISSING: Final = ("", "na", "n/a", "nan", "null", "none")
_NO_NUMBERS: Final = np.empty(0, np.int64)


def choice_text(column: pl.Series, name: str, where: str) -> pl.Series:
    """The column as text or categories, "" where there is no run."""
    if column.dtype == pl.Null:
        column = column.cast(pl.String)
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        raise DataError(
            f"the column {name!r} does not hold choices",
            expected=f"the words {', '.join(NAMES)}; null for a run that is missing",
            received=str(column.dtype),
            where=f"column {name!r} of {where}",
        )
    if column.null_count() == 0:
        return column
    text = column.cast(pl.String)
    return text.fill_null("")


def choice_codes(column: pl.Series, pieces: Pieces) -> Codes:
    """The codes of choices given as `choice_text` returns them; pieces as `pieces_of` them and other columns."""
    coded, names = code_names(column, pieces)
    known = {word: code for code, word in enumerate(NAMES)}

    def code_of(text: str) -> int:
        return ABSENT if text.strip().lower() in _MISSING else known.get(text, UNKNOWN_CHOICE)

    lookup = np.array([code_of(text) for text in names.to_list()], np.int8)
    codes = np.empty(coded.codes.size, np.int8)

    def translate(number: int) -> None:
        start, stop = pieces[number]
        codes[start:stop] = lookup[coded.ranks[number]][coded.codes[start:stop]]

    for_each(translate, len(pieces), codes.size)
    return codes


def refuse_unknown_words(choices: dict[str, pl.Series], where: str) -> NoReturn:
    """Say which words stand where choices were expected.

    Raises
    ------
    DataError
        Always.
    """
    words = pl.concat([column.cast(pl.String).rename("word") for column in choices.values()]).unique().sort()
    found = [word for word in words.to_list() if word.strip().lower() not in _MISSING]
    raise DataError(
        "none of the choices is known" if found else "no run made any choice",
        expected=", ".join(NAMES),
        received=", ".join(word[:40] for word in found[:10]) or "missing runs only",
        where=where,
        hint="translate your words first: the first alternative shown is A, the second B" if found else None,
    )


def reason_codes(
    frame: pl.DataFrame, primary: Codes, probe: Codes, where: str
) -> tuple[pl.Series, Integers, Integers]:
    """The reason classes of abstentions in one numbering; text beside other choices is not looked at."""
    columns: dict[str, tuple[Integers, pl.Series]] = {}
    for name, choice in (("primary_reason", primary), ("probe_reason", probe)):
        if name in frame.columns and frame.schema[name] != pl.Null:
            key_column(frame[name].drop_nulls().head(1), name, where)
            rows = np.flatnonzero(choice == ABSTAIN)
            text = frame[name].gather(rows).cast(pl.String).str.strip_chars()
            known = (text.is_not_null() & ~text.str.to_lowercase().is_in(list(_MISSING))).to_numpy()
            columns[name] = rows[known], text.filter(pl.Series(known))
    texts = [text for _, text in columns.values() if len(text)]
    if not texts:
        return pl.Series("reason", [], dtype=pl.String), _NO_NUMBERS, _NO_NUMBERS
    classes = pl.concat([text.rename("reason") for text in texts]).unique().sort()
    numbered = []
    for name in ("primary_reason", "probe_reason"):
        codes = np.full(frame.height, -1, np.int64)
        if name in columns:
            rows, text = columns[name]
            codes[rows] = classes.search_sorted(text).to_numpy() if len(text) else _NO_NUMBERS
        numbered.append(codes)
    return classes, numbered[0], numbered[1]


def flags(column: pl.Series, name: str, where: str, textual: bool) -> Codes:
    """0 and 1 for false and true, `UNKNOWN_FLAG` for null; in CSV flags are words.

    Raises
    ------
    DataError
        When the column holds anything else.
    """
    if column.dtype == pl.String and textual:
        text = column.str.strip_chars().str.to_lowercase()
        words = {"true": True, "false": False, **dict.fromkeys(_MISSING)}
        unread = text.filter(text.is_not_null() & ~text.is_in(list(words)))
        if unread.is_empty():
            column = text.replace_strict(words, return_dtype=pl.Boolean)
    if column.dtype not in (pl.Boolean, pl.Null):
        raise DataError(
            f"the column {name!r} does not hold flags",
            expected="true where that run showed the alternatives in swapped order, else false",
            received=str(column.dtype)
            + (f", e.g. {str(column.drop_nulls()[0])[:40]!r}" if len(column.drop_nulls()) else ""),
            where=f"column {name!r} of {where}",
        )
    return column.cast(pl.Int8).fill_null(UNKNOWN_FLAG).to_numpy().astype(np.int8)
