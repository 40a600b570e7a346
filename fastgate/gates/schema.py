"""Plain data into frozen structs, strictly: a fault is a `PolicyError` that names the place."""

from __future__ import annotations

import difflib
import math
import re
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Meta

from fastgate.errors import PolicyError

__all__ = [
    "Name",
    "Place",
    "Text",
    "build",
    "nearest",
    "refuse_duplicates",
    "require_known",
    "show",
    "suite_tables",
]

S = TypeVar("S", bound=msgspec.Struct)

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")

Name = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        # no control characters or line ends, and no lone surrogates, which no file can hold
        pattern=r"\A(?!\s)[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+(?<!\s)\Z",
        description="a name: 1 to 200 characters on one line, no blank at either end",
    ),
]

Text = Annotated[str, Meta(pattern=r"\A[^\x00\ud800-\udfff]*\Z", description="a text")]


class Place(NamedTuple):
    """Where in a policy something stands.

    Attributes
    ----------
    source : str
        The file, preset or object.
    path : tuple of str or int
        Keys and positions that lead to the value.
    top : tuple of str
        The keys of the outermost table, so that one that slipped into a later table is recognised.

    Examples
    --------
    >>> str(Place("gate.toml").at("suites", "numerai28.6", "kpis", 0))
    'gate.toml: suites."numerai28.6".kpis[0]'
    """

    source: str
    path: tuple[str | int, ...] = ()
    top: tuple[str, ...] = ()

    def at(self, *steps: str | int) -> Place:
        """The place further inside."""
        return self._replace(path=(*self.path, *steps))

    @property
    def key(self) -> str:
        """The path alone, as TOML writes it."""
        text = ""
        for step in self.path:
            if isinstance(step, int):
                text += f"[{step}]"
            else:
                text += ("." if text else "") + (step if _BARE_KEY.match(step) else _quoted(step))
        return text

    def __str__(self) -> str:
        return f"{self.source}: {self.key}" if self.path else self.source


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def show(value: Any) -> str:
    """A received value for a message: short, as TOML writes it, with its type where that is the point.

    Examples
    --------
    >>> show("0.05"), show(True), show(0.1), show(None)
    ('the text "0.05"', 'the boolean true', '0.1', 'nothing (null)')
    """
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, str):
        return "the text " + _quoted(value if len(value) <= 60 else value[:57] + "...")
    if isinstance(value, int | float):
        try:
            text = repr(value)
        except ValueError:  # more digits than Python is willing to print
            return "a number of thousands of digits"
        return text if len(text) <= 60 else text[:57] + "..."
    if isinstance(value, Mapping):
        return f"a table of {len(value)} keys" if value else "an empty table"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)} values" if value else "an empty list"
    return f"a value of type {type(value).__name__}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` most resembles, whatever its case and separators; None if none does.

    Examples
    --------
    >>> nearest("minSuiteWins", ["min_cases", "min_suite_wins"])
    'min_suite_wins'
    """
    plain = {re.sub(r"[-_ .]", "", candidate).lower(): candidate for candidate in known}
    found = difflib.get_close_matches(re.sub(r"[-_ .]", "", name[:200]).lower(), plain, n=1, cutoff=0.6)
    return plain[found[0]] if found else None


def refuse_duplicates(names: Iterable[str], place: Place) -> None:
    """Raise `PolicyError` if a name stands twice in a list."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise PolicyError(
                "a name is listed twice", expected="each name once", received=show(name), where=str(place)
            )
        seen.add(name)


def suite_tables(suites: Sequence[Any], place: Place) -> dict[str, dict[str, Any]]:
    """Suites that are listed by name alone, as the empty tables they stand for."""
    if not all(isinstance(name, str) for name in suites):
        raise PolicyError(
            "a suite's name is no text",
            expected='names, as in suites = ["a", "b"], or tables [suites.a]',
            where=str(place),
        )
    refuse_duplicates(suites, place)
    return {name: {} for name in suites}


def require_known(name: str, known: Mapping[str, Any], what: str, place: Place) -> None:
    """Raise `PolicyError` if a policy has no tenant, profile or the like of this name."""
    if name not in known:
        similar = nearest(name, known) if isinstance(name, str) else None
        raise PolicyError(
            f"the policy has no {what} {name!r}",
            expected=f"one of {', '.join(known)}" if known else f"no {what}: the policy has none",
            where=str(place),
            hint=None if similar is None else f"did you mean {similar!r}?",
        )


def build(kind: type[S], data: Any, place: Place) -> S:
    """A struct of type `kind` from a mapping, as TOML or JSON gives it.

    Parameters
    ----------
    kind : type of msgspec.Struct
        Its fields are scalars (``Annotated`` with ``msgspec.Meta``, whose `description` says in words what is
        expected), literals, structs, ``tuple[T, ...]``, ``dict[Name, T]``, or one of these or None.
    data : mapping
        Keys are field names. Nothing is coerced but a whole number to a float.
    place : Place
        Where `data` stands.

    Returns
    -------
    struct
        With defaults for what `data` leaves out.

    Raises
    ------
    PolicyError
        For an unknown key (with the nearest known one), a missing key, a value of another type (a boolean is
        no number, a text is no number), outside its range, NaN or infinite.
    """
    table = _table(data, place)
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    for key in table:
        if key not in fields:
            raise _unknown_key(key, list(fields), place)
    values: dict[str, Any] = {}
    for name, field in fields.items():
        if name in table:
            values[name] = _value(field.type, table[name], place.at(name))
        elif field.required:
            raise PolicyError(
                f"the key {name!r} is missing", expected=_expectation(field.type), where=str(place.at(name))
            )
    return kind(**values)


def _table(data: Any, place: Place) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise PolicyError("this must be a table", expected="a table", received=show(data), where=str(place))
    for key in data:
        if not isinstance(key, str):
            raise PolicyError(
                "a key is no text", expected="keys of type str", received=show(key), where=str(place)
            )
    return data


def _unknown_key(key: str, known: list[str], place: Place) -> PolicyError:
    similar = nearest(key, known)
    if place.path and key in place.top:
        hint = f"{key!r} belongs to the policy itself: in TOML, before the first [table]"
    elif similar is not None:
        hint = f"did you mean {similar!r}?"
    else:
        hint = "remove the key, or see the known ones above"
    return PolicyError(
        f"the key {key[:200]!r} is unknown",
        expected=f"one of {', '.join(known)}",
        where=str(place.at(key[:200])),
        hint=hint,
    )


def _value(kind: Any, value: Any, place: Place) -> Any:
    kind = _required(kind)
    origin = get_origin(kind)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return build(kind, value, place)
    if origin is dict:
        key_kind, item_kind = get_args(kind)
        table = _table(value, place)
        return {
            _leaf(key_kind, key, place.at(key[:200])): _value(item_kind, item, place.at(key))
            for key, item in table.items()
        }
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise PolicyError(
                f"{place.key} must be a list",
                expected=_expectation(kind),
                received=show(value),
                where=str(place),
            )
        item_kind = get_args(kind)[0]
        return tuple(_value(item_kind, item, place.at(position)) for position, item in enumerate(value))
    return _leaf(kind, value, place)


def _leaf(kind: Any, value: Any, place: Place) -> Any:
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        value = value.item()  # a number out of an array is as good as Python's own
    # msgspec's bounds let NaN and infinity through where one side is open.
    finite = not isinstance(value, float) or math.isfinite(value)
    try:
        if finite:
            return msgspec.convert(value, kind, strict=True)
    except (msgspec.ValidationError, OverflowError, UnicodeError):
        pass
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    similar = nearest(value, choices) if isinstance(value, str) and choices else None
    raise PolicyError(
        f"{place.key} has a value that cannot be used",
        expected=_expectation(kind),
        received=show(value),
        where=str(place),
        hint=None if similar is None else f"did you mean {similar!r}?",
    )


def _required(kind: Any) -> Any:
    """``T`` of ``T | None``: a policy leaves a key out, it does not set it to null."""
    if get_origin(kind) in (Union, types.UnionType):
        (kind,) = (member for member in get_args(kind) if member is not type(None))
    return kind


def _expectation(kind: Any) -> str:
    kind = _required(kind)
    origin = get_origin(kind)
    if origin is Annotated:
        base, *notes = get_args(kind)
        words = [note.description for note in notes if isinstance(note, Meta) and note.description]
        return words[0] if words else _expectation(base)
    if origin is Literal:
        return " or ".join(_quoted(choice) for choice in get_args(kind))
    if origin is tuple:
        return f"a list, each item {_expectation(get_args(kind)[0])}"
    if origin is dict or (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return "a table"
    return {bool: "true or false", str: "a text", int: "a whole number", float: "a number"}[kind]
