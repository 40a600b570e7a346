"""The shapes of input, recognised by their columns."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fastgate.errors import ArgumentError, DataError

__all__ = ["SHAPES", "Layout", "Shape", "recognise"]


@dataclass(frozen=True)
class Shape:
    """The columns of one shape of input.

    Parameters
    ----------
    name : str
        What ``shape=`` calls it.
    keys : tuple of str
        The columns that name a cell.
    data : tuple of str
        The other columns it must have; ``"m2|variance"`` stands for one of the two, the first preferred.
    optional : tuple of str
        The columns it may have.
    """

    name: str
    keys: tuple[str, ...]
    data: tuple[str, ...]
    optional: tuple[str, ...] = ()

    @property
    def names(self) -> set[str]:
        """Every column name this shape knows."""
        return {name for column in (*self.keys, *self.data, *self.optional) for name in column.split("|")}

    def __str__(self) -> str:
        required = ", ".join((*self.keys, *self.data)).replace("|", " or ")
        return f"{self.name}: {required}" + (f" [, {', '.join(self.optional)}]" if self.optional else "")


_RUNS: Final = ("build", "suite", "kpi")
_PAIRS: Final = ("candidate", "baseline", "suite", "kpi")

SHAPES: Final = (
    Shape("runs", _RUNS, ("case", "value"), ("trial",)),
    Shape("pairs", _PAIRS, ("case", "candidate_value", "baseline_value"), ("trial",)),
    Shape("packed_runs", _RUNS, ("values",), ("cases",)),
    Shape("packed_pairs", _PAIRS, ("candidate_values", "baseline_values"), ("cases",)),
    Shape(
        "moments",
        _RUNS,
        ("n", "mean", "m2|variance|sd|std"),
        ("n_missing", "min", "max", "case_fingerprint"),
    ),
)


def _names(shapes: Sequence[Shape]) -> list[str]:
    return sorted(set().union(*(shape.names for shape in shapes)))


@dataclass(frozen=True)
class Layout:
    """A recognised shape, and the column of the source that holds each of its columns."""

    shape: Shape
    columns: dict[str, str]


def recognise(
    found: Sequence[str],
    columns: Mapping[str, str] | None,
    shape: str | None,
    where: str,
    shapes: Sequence[Shape] = SHAPES,
) -> Layout:
    """Tell a table's shape by the names of its columns.

    Parameters
    ----------
    found : sequence of str
        The table's columns.
    columns : mapping of str to str, optional
        From fastgate's names to the table's own.
    shape : str, optional
        The shape to use: a name in `shapes`, or ``"packed"`` for either packed one.
    where : str
        The table's name, for messages.
    shapes : sequence of Shape, optional
        The shapes to tell apart; those of measurements unless given.

    Raises
    ------
    ArgumentError
        When `shape` or a key of `columns` is none of fastgate's names.
    DataError
        When a mapped column is not there, no shape fits, or more than one does.
    """
    mapping = _checked_mapping(found, {} if columns is None else columns, where, _names(shapes))
    names = {name: mapping.get(name, name) for name in _names(shapes)}
    present = {name: theirs for name, theirs in names.items() if theirs in found}
    allowed = _allowed(shape, shapes)
    fits = [layout for one in allowed if (layout := _fit(one, present))]
    if len(fits) > 1:
        raise DataError(
            "the columns fit more than one shape",
            expected="the columns of one shape, or the shape by name",
            received=f"{', '.join(found)}, which fit {' and '.join(fit.shape.name for fit in fits)}",
            where=where,
            hint=f"state the shape: {_both_ways(*(fit.shape.name for fit in fits))}",
        )
    if not fits:
        raise _no_fit(found, present, set(mapping.values()), allowed, where)
    unused = sorted(set(mapping) - fits[0].shape.names)
    if unused:
        raise ArgumentError(
            f"the mapped column {unused[0]!r} has no place in the shape {fits[0].shape.name}",
            expected=str(fits[0].shape),
            received=f"{mapping[unused[0]]!r} for it",
            where=where,
            hint="leave it out, or state the shape that has it: --shape NAME, or in Python shape='NAME'",
        )
    return fits[0]


def _allowed(shape: str | None, shapes: Sequence[Shape]) -> list[Shape]:
    if shape is None:
        return list(shapes)
    allowed = [one for one in shapes if one.name == shape or one.name.split("_")[0] == shape]
    if not allowed:
        near = difflib.get_close_matches(str(shape), [one.name for one in shapes], n=1)
        raise ArgumentError(
            "there is no such shape",
            expected=", ".join([*(["packed"] if shapes is SHAPES else []), *(one.name for one in shapes)]),
            received=repr(shape),
            hint=f"did you mean {near[0]!r}?" if near else None,
        )
    return allowed


def _checked_mapping(
    found: Sequence[str], columns: Mapping[str, str], where: str, names: Sequence[str]
) -> dict[str, str]:
    if not isinstance(columns, Mapping):
        raise ArgumentError(
            "the column names are no mapping",
            expected="a mapping from fastgate's names to yours",
            received=f"{type(columns).__name__}: {repr(columns)[:100]}",
            where="argument columns",
            hint=_mapping({"value": "score"}),
        )
    for ours, theirs in columns.items():
        if ours not in names:
            swapped = theirs in names and ours in found
            near = difflib.get_close_matches(str(ours), names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else None
            if swapped:
                hint = f"the mapping is from fastgate's name to yours: {_mapping({str(theirs): str(ours)})}"
            raise ArgumentError(
                f"{ours!r} is none of fastgate's column names",
                expected=", ".join(names),
                received=f"{ours!r} for the column {theirs!r}",
                where=where,
                hint=hint,
            )
        if theirs not in found:
            raise DataError(
                f"the column that {ours!r} is mapped to is missing",
                expected=repr(theirs),
                received=", ".join(found) or "no columns",
                where=where,
                hint=_nearest(str(theirs), found),
            )
    return dict(columns)


def _nearest(name: str, found: Sequence[str]) -> str | None:
    lowered = {column.strip().lower(): column for column in reversed(found)}
    near = difflib.get_close_matches(name.lower(), list(lowered), n=1, cutoff=0.6)
    return f"did you mean {lowered[near[0]]!r}?" if near else None


def _fit(shape: Shape, present: Mapping[str, str]) -> Layout | None:
    columns = {}
    for column in (*shape.keys, *shape.data):
        name = next((name for name in column.split("|") if name in present), None)
        if name is None:
            return None
        columns[name] = present[name]
    columns |= {name: present[name] for name in shape.optional if name in present}
    return Layout(shape, columns)


def _no_fit(
    found: Sequence[str], present: Mapping[str, str], mapped: set[str], allowed: list[Shape], where: str
) -> DataError:
    def missing(shape: Shape) -> list[str]:
        return [
            column
            for column in (*shape.keys, *shape.data)
            if not any(name in present for name in column.split("|"))
        ]

    closest = min(allowed, key=lambda shape: (len(missing(shape)), -len(shape.names & present.keys())))
    lacking = missing(closest)
    known = closest.names & present.keys()
    spare = [column for column in found if column not in {present[name] for name in known} | mapped]
    lowered = {column.strip().lower(): column for column in reversed(spare)}
    guesses = {}
    for column in lacking:
        for name in column.split("|"):
            near = difflib.get_close_matches(name, list(lowered), n=1, cutoff=0.7)
            if near and column not in guesses:
                guesses[name] = lowered[near[0]]
                break
    if not guesses and len(lacking) == 1 and len(spare) == 1:
        guesses[lacking[0].split("|")[0]] = spare[0]
    suggestion = guesses or {column.split("|")[0]: "YOURS" for column in lacking}
    return DataError(
        f"columns are missing: {', '.join(lacking).replace('|', ' or ')} (for the closest shape, {closest.name})",
        expected="\n            ".join(str(shape) for shape in allowed),
        received=", ".join(found) or "no columns",
        where=where,
        hint=f"map your names: {_mapping(suggestion)}",
    )


def _mapping(columns: Mapping[str, str]) -> str:
    """How to map columns, on the command line and in Python."""
    options = " ".join(f"--column {shlex.quote(f'{ours}={theirs}')}" for ours, theirs in columns.items())
    return f"{options}, or in Python columns={dict(columns)!r}"


def _both_ways(*shapes: str) -> str:
    """How to state one of these shapes, on the command line and in Python."""
    options = " or ".join(f"--shape {name}" for name in shapes)
    return f"{options}; in Python {' or '.join(f'shape={name!r}' for name in shapes)}"
