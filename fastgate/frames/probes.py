"""Probes of preference rankers: choices of primary and perturbed runs, as codes with keys."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate.errors import DataError
from fastgate.frames.codes import Pieces, code_names, for_each, group, pieces_of
from fastgate.frames.columns import key_column
from fastgate.frames.reading import open_source
from fastgate.frames.samples import text_hashes
from fastgate.frames.shapes import Shape, recognise
from fastgate.kernels.choices import ABSENT, ABSTAIN, NAMES

__all__ = ["PROBE_SHAPES", "UNKNOWN_CHOICE", "UNKNOWN_FLAG", "Probes", "read_probes", "relevant_columns"]

Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]
Letters = Literal["raw", "unswapped"]

_CHOICES: Final = ("probe_choice", "probe_choice_raw", "probe_choice_unswapped")
_LETTERS: Final[dict[str, Letters]] = {
    "probe_choice_raw": "raw",
    "probe_choice_unswapped": "unswapped",
}
PROBE_SHAPES: Final = (
    Shape(
        "probes",
        ("build", "pair", "kind"),
        ("primary_choice", "|".join(_CHOICES)),
        (
            "suite",
            "variant",
            "trial",
            "primary_reason",
            "probe_reason",
            "primary_swapped",
            "probe_swapped",
            "left",
            "right",
        ),
    ),
)
UNKNOWN_CHOICE: Final = ABSTAIN + 1
"""The code of a choice whose word is not known."""
UNKNOWN_FLAG: Final = 2
"""The code of a flag that is null."""

_MISSING: Final = ("", "na", "n/a", "nan", "null", "none")
_NO_CODES: Final = np.empty(0, np.int8)
_NO_NUMBERS: Final = np.empty(0, np.int64)
_CHUNK_ROWS: Final = 1 << 14
# Odd multipliers that keep the parts of a row apart in its digest, and the finaliser of SplitMix64.
_SPREAD: Final = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5)
_MIX: Final = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


@dataclass(frozen=True, eq=False)
class Probes:
    """Probes, one a row of the source and in its order.

    Parameters
    ----------
    index : polars.DataFrame
        The cells, sorted by their keys ``build`` and ``kind``, Enum columns whose categories are the names in
        sorted order.
    cell : ndarray of int64, shape (n_rows,)
        The row of `index` that each probe belongs to.
    pairs : polars.DataFrame
        The distinct pairs, sorted: ``suite`` where the source has it, ``pair``; Enum columns.
    pair : ndarray of int64, shape (n_rows,)
        The row of `pairs` of each probe.
    variants : polars.DataFrame
        The distinct variants of probes, sorted: ``variant`` and ``trial``, as far as the source has them.
    variant : ndarray of int64, shape (n_rows,)
        The row of `variants` of each probe.
    primary, probe : ndarray of int8, shape (n_rows,)
        0 A, 1 B, 2 tie, 3 abstain, -1 no run, `UNKNOWN_CHOICE` for any other word.
    reasons : polars.Series of String
        The reason classes of abstentions, sorted.
    primary_reason, probe_reason : ndarray of int64, shape (n_rows,) or (0,)
        Positions in `reasons`, -1 where there is none; empty where no abstention has one.
    primary_swapped, probe_swapped : ndarray of int8, shape (n_rows,) or (0,)
        1 where a run showed the alternatives in swapped order, `UNKNOWN_FLAG` where that is null; empty where
        the source does not say.
    letters : {"raw", "unswapped"} or None
        What the choices of swapped runs are, if the name of their column says so.
    same_alternatives : ndarray of int64
        Rows that compare an alternative with itself.
    n_rows : int
    """

    index: pl.DataFrame
    cell: Integers
    pairs: pl.DataFrame
    pair: Integers
    variants: pl.DataFrame
    variant: Integers
    primary: Codes
    probe: Codes
    reasons: pl.Series
    primary_reason: Integers
    probe_reason: Integers
    primary_swapped: Codes
    probe_swapped: Codes
    letters: Letters | None
    same_alternatives: Integers
    n_rows: int

    def names(self, column: str) -> list[str]:
        """The builds or the kinds, sorted."""
        categories: list[str] = self.index.schema[column].categories.to_list()  # type: ignore[attr-defined]
        return categories

    def repeated_rows(self) -> Integers:
        """The rows of probes (build, pair, kind, variant and trial) that stand more than once, sorted."""
        n_variants = max(self.variants.height, 1)
        size = self.index.height * self.pairs.height * n_variants
        if size < 2**62:
            key = (self.cell * self.pairs.height + self.pair) * n_variants + self.variant
        else:
            _, key = np.unique(self.cell * self.pairs.height + self.pair, return_inverse=True)
            key = key * n_variants + self.variant
        # A byte for each possible probe, where these are not many more than there are, costs 3 ns a row; a hash 20.
        if size <= 8 * self.n_rows:
            seen = np.zeros(size, np.bool_)
            seen[key] = True
            distinct = int(np.count_nonzero(seen))
        else:
            from fastgate.kernels import grouping

            scratch = np.empty(self.n_rows, np.int32), np.empty(self.n_rows, np.int64)
            distinct = grouping.encode(key, 1, *scratch)
        if distinct == self.n_rows:
            return _NO_NUMBERS
        _, inverse, counts = np.unique(key, return_inverse=True, return_counts=True)
        return np.flatnonzero(counts[inverse] > 1)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all keys and choices, as 64 hexadecimal digits, whatever the order of rows."""
        cells = _joint_hashes(self.index)
        pairs, variants = _joint_hashes(self.pairs), _joint_hashes(self.variants)
        reasons = text_hashes(self.reasons)
        partial: list[int] = []

        def digest(start: int, stop: int) -> None:
            rows = slice(start, stop)
            code = (self.primary[rows] + 1).astype(np.uint64) * np.uint64(8)
            code += (self.probe[rows] + 1).astype(np.uint64)
            for flags in (self.primary_swapped, self.probe_swapped):
                if flags.size:
                    code = code * np.uint64(4) + flags[rows].astype(np.uint64)
            word = cells[self.cell[rows]]
            word += pairs[self.pair[rows]] * np.uint64(_SPREAD[0]) + code * np.uint64(_SPREAD[1])
            if self.variants.height:
                word += variants[self.variant[rows]] * np.uint64(_SPREAD[2])
            for number, positions in enumerate((self.primary_reason, self.probe_reason)):
                if positions.size:
                    known = np.flatnonzero(positions[rows] >= 0)
                    word[known] += reasons[positions[rows][known]] * np.uint64(_SPREAD[3] + 2 * number)
            for multiplier, shift in zip(_MIX, (30, 27), strict=True):
                word ^= word >> np.uint64(shift)
                word *= np.uint64(multiplier)
            word ^= word >> np.uint64(31)
            partial.append(int(word.sum(dtype=np.uint64)))

        bounds = np.linspace(0, self.n_rows, 1 + -(-self.n_rows // 262_144)).astype(np.int64).tolist()
        for_each(lambda number: digest(*bounds[number : number + 2]), len(bounds) - 1, 4 * self.n_rows)
        total = sum(partial) % 2**64
        letters = self.letters or "as stated"
        return hashlib.sha256(f"fastgate probes 1 {letters} {self.n_rows} {total}".encode()).hexdigest()


def _joint_hashes(keys: pl.DataFrame) -> npt.NDArray[np.uint64]:
    """A hash of each row of names."""
    joint = np.zeros(keys.height, np.uint64)
    for column in keys.iter_columns():
        names = text_hashes(column.dtype.categories)  # type: ignore[attr-defined]
        joint = joint * np.uint64(_SPREAD[0]) + names[column.to_physical().to_numpy()]
    return joint


def relevant_columns(
    columns: Mapping[str, str] | None, found: tuple[str, ...], shape: Shape
) -> dict[str, str]:
    """Of a mapping that speaks of several tables, what concerns this one."""
    return {
        ours: theirs for ours, theirs in (columns or {}).items() if ours in shape.names and theirs in found
    }


def read_probes(source: Any, columns: Mapping[str, str] | None = None) -> Probes:
    """Probes from a file, several files or a frame, whatever the order of its rows.

    Parameters
    ----------
    source : path, list of paths, glob, or a frame
        As `fastgate.frames.read_frame` takes it, a row per probe: build, pair, kind, primary_choice and
        probe_choice; perhaps suite, variant, trial, primary_reason, probe_reason, primary_swapped,
        probe_swapped, left, right. Instead of probe_choice also probe_choice_raw or probe_choice_unswapped,
        which say what the letters of swapped runs are.
    columns : mapping of str to str, optional
        From fastgate's column names to yours.

    Returns
    -------
    Probes

    Raises
    ------
    ArgumentError
        When a mapped column is none of fastgate's.
    DataError
        When the source cannot be read, columns are missing or of the wrong type, the choices stand twice, a key
        has no name, or no word among the choices is known.

    Notes
    -----
    Choices are A, B, tie and abstain, exactly so; null (in CSV an empty field, NA or the like) is a run that is
    missing. Pairs of different suites are different pairs.

    Examples
    --------
    >>> import polars as pl
    >>> probes = read_probes(pl.DataFrame({
    ...     "build": "judge", "pair": [1, 2], "kind": "paraphrase",
    ...     "primary_choice": ["A", "tie"], "probe_choice": ["B", None]}))
    >>> probes.index.rows(), probes.primary.tolist(), probes.probe.tolist()
    ([('judge', 'paraphrase')], [0, 2], [1, -1])
    """
    opened = open_source(source)
    mapping = dict(columns or {})
    stated = [name for name in _CHOICES if mapping.get(name, name) in opened.columns]
    if len(stated) > 1:
        raise DataError(
            "the probes' choices stand twice",
            expected=f"one of the columns {', '.join(_CHOICES)}",
            received=", ".join(stated),
            where=opened.where,
            hint="leave one out: letters as shown in swapped order, or those that are un-swapped already",
        )
    layout = recognise(opened.columns, mapping, None, opened.where, PROBE_SHAPES)
    read = opened.read(list(layout.columns.values()))
    frame = read.select(
        pl.col(theirs).alias("probe_choice" if ours in _LETTERS else ours)
        for ours, theirs in layout.columns.items()
    )
    if max(frame.n_chunks("all")) > 16 + frame.height // _CHUNK_ROWS:
        frame = frame.rechunk()
    return _from_rows(frame, _LETTERS.get(stated[0]), opened.where, opened.textual)


def _from_rows(frame: pl.DataFrame, letters: Letters | None, where: str, textual: bool) -> Probes:
    present = set(frame.columns)
    keys = {
        name: key_column(frame[name], name, where)
        for name in ("build", "kind", "suite", "pair")
        if name in present
    }
    optional: dict[str, pl.Series] = {
        name: _filled_key(frame[name], name, where) for name in ("variant", "trial") if name in present
    }
    choices = {name: _choice_text(frame[name], name, where) for name in ("primary_choice", "probe_choice")}
    pieces = pieces_of([*keys.values(), *optional.values(), *choices.values()])
    cells = group({name: keys[name] for name in ("build", "kind")}, [["build"], ["kind"]], pieces)
    pair_index, pair = _group_keys({name: keys[name] for name in ("suite", "pair") if name in keys}, pieces)
    variants, variant = (
        _group_keys(optional, pieces) if optional else (pl.DataFrame(), np.zeros(frame.height, np.int64))
    )
    primary, probe = (_choice_codes(column, pieces) for column in choices.values())
    if not (((primary >= 0) & (primary <= ABSTAIN)).any() or ((probe >= 0) & (probe <= ABSTAIN)).any()):
        _refuse_unknown_words(choices, where)
    reasons, primary_reason, probe_reason = _reasons(frame, primary, probe, where)
    flags = {
        name: _flags(frame[name], name, where, textual) if name in present else _NO_CODES
        for name in ("primary_swapped", "probe_swapped")
    }
    same = _NO_NUMBERS
    if {"left", "right"} <= present:
        texts = frame.select(pl.col("left", "right").cast(pl.String))
        same = (
            texts.select((pl.col("left") == pl.col("right")).arg_true())
            .to_series()
            .to_numpy()
            .astype(np.int64)
        )
    return Probes(
        pl.DataFrame(list(cells.keys.values())),
        cells.coded.every(pieces),
        pair_index,
        pair,
        variants,
        variant,
        primary,
        probe,
        reasons,
        primary_reason,
        probe_reason,
        flags["primary_swapped"],
        flags["probe_swapped"],
        letters,
        same,
        frame.height,
    )


def _filled_key(column: pl.Series, name: str, where: str) -> pl.Series:
    """A key that may be null, as where only some kinds have variants."""
    if column.null_count() == 0:
        return key_column(column, name, where)
    if column.dtype == pl.Null:
        return pl.Series(name, [""], dtype=pl.String).new_from_index(0, len(column))
    key_column(column.drop_nulls().head(1), name, where)
    return column.cast(pl.String).fill_null("")


def _group_keys(columns: dict[str, pl.Series], pieces: Pieces) -> tuple[pl.DataFrame, Integers]:
    """The distinct combinations of some keys, sorted, and the combination of each row."""
    if len(columns) == 1:
        ((name, column),) = columns.items()
        coded, names = code_names(column, pieces)
        return pl.DataFrame({name: names.cast(pl.Enum(names))}), coded.every(pieces)
    grouped = group(columns, [[name] for name in columns], pieces)
    return pl.DataFrame(list(grouped.keys.values())), grouped.coded.every(pieces)


def _choice_text(column: pl.Series, name: str, where: str) -> pl.Series:
    """The column as text, "" where there is no run."""
    if column.dtype == pl.Null:
        column = column.cast(pl.String)
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        raise DataError(
            f"the column {name!r} does not hold choices",
            expected=f"the words {', '.join(NAMES)}; null for a run that is missing",
            received=str(column.dtype),
            where=f"column {name!r} of {where}",
        )
    text = column.cast(pl.String)
    return text.fill_null("") if text.null_count() else text


def _choice_codes(column: pl.Series, pieces: Pieces) -> Codes:
    coded, names = code_names(column, pieces)
    words: dict[str, int] = {word: code for code, word in enumerate(NAMES)}
    words |= dict.fromkeys(_MISSING, ABSENT)
    lookup = np.array(
        [
            words.get(text, words.get(text.strip().lower(), UNKNOWN_CHOICE))
            if text.strip().lower() in _MISSING
            else words.get(text, UNKNOWN_CHOICE)
            for text in names.to_list()
        ],
        np.int8,
    )
    codes = np.empty(coded.codes.size, np.int8)

    def translate(number: int) -> None:
        start, stop = pieces[number]
        codes[start:stop] = lookup[coded.ranks[number]][coded.codes[start:stop]]

    for_each(translate, len(pieces), codes.size)
    return codes


def _refuse_unknown_words(choices: dict[str, pl.Series], where: str) -> None:
    words = pl.concat([column.rename("word") for column in choices.values()]).unique().sort()
    found = [word for word in words.to_list() if word.strip().lower() not in _MISSING]
    raise DataError(
        "none of the choices is known" if found else "no run made any choice",
        expected=", ".join(NAMES),
        received=", ".join(word[:40] for word in found[:10]) or "missing runs only",
        where=where,
        hint="translate your words first: the first alternative shown is A, the second B" if found else None,
    )


def _reasons(
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


def _flags(column: pl.Series, name: str, where: str, textual: bool) -> Codes:
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
