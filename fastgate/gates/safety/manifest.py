"""Run manifests: under what conditions a suite was run, in a form that can be compared and hashed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date, time
from types import MappingProxyType
from typing import Any, Final

from fastgate.errors import ArgumentError, DataError
from fastgate.gates.canonical import canonical_json
from fastgate.gates.schema import show

__all__ = ["CUSTOMARY", "RunManifest", "manifest_hash", "seed_hash"]

CUSTOMARY: Final = (
    "suite_hash",
    "seeds",
    "temperature",
    "top_p",
    "max_tokens",
    "grader_version",
    "harness_version",
)
"""The fields that two manifests must state and agree on unless a policy says otherwise."""

_LABELS: Final = ("build", "suite")
_TABLES: Final = ("sampling", "extra")

# Written so that NaN does not fit.
_NUMBERS: Final[dict[str, tuple[str, Callable[[float], bool]]]] = {
    "temperature": ("a number of 0 or more", lambda value: 0 <= value < math.inf),
    "top_p": ("a number above 0 and at most 1", lambda value: 0 < value <= 1),
    "max_tokens": ("a whole number of 1 or more", lambda value: 1 <= value < math.inf and value % 1 == 0),
}


@dataclass(frozen=True)
class RunManifest:
    """The conditions of one run.

    Parameters
    ----------
    suite_hash : str, optional
        Identifies the cases, their texts included.
    seed_list_hash : str, optional
        Identifies the seeds and their order, where the list itself is not kept; `seed_hash` computes one.
    temperature, top_p : float, optional
        Of the sampling; 0 or more, and above 0 to 1.
    max_tokens : int, optional
        Of an answer; 1 or more.
    grader_version, harness_version : str or int, optional
        What judged the answers, and what ran the cases.
    seeds : sequence of int or str, optional
        The seeds in their order.
    build, suite : str, optional
        What was run. They say whose manifest it is and are no part of its hash.
    extra : mapping, optional
        Any further fields: numbers, texts, booleans, lists and tables of them. All are compared.

    Raises
    ------
    ArgumentError
        When a field has an unusable value.

    Notes
    -----
    A field that is None is not stated, and where it matters that is a reason to refuse.

    Examples
    --------
    >>> one = RunManifest("ab12", temperature=0, top_p=1.0, seeds=[1, 2, 3], extra={"system_prompt": "v3"})
    >>> other = RunManifest.from_dict(
    ...     {"sampling": {"top_p": 1, "temperature": 0.0}, "system_prompt": "v3", "seeds": [1, 2, 3],
    ...      "suite_hash": "ab12"})
    >>> one == other, manifest_hash(one) == manifest_hash(other)
    (True, True)
    """

    suite_hash: str | None = None
    seed_list_hash: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    grader_version: str | int | None = None
    harness_version: str | int | None = None
    seeds: Sequence[int | str] | None = None
    build: str | None = None
    suite: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("suite_hash", "seed_list_hash", *_LABELS):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, str) and value.strip()):
                raise _unusable(name, value, "a text that is not empty")
        for name in ("grader_version", "harness_version"):
            value = getattr(self, name)
            if (
                value is not None
                and not (isinstance(value, str) and value.strip())
                and type(value) is not int
            ):
                raise _unusable(name, value, "a text or a whole number: as numbers 1.10 and 1.1 are the same")
        for name, (expected, fits) in _NUMBERS.items():
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if value is not None and not (number and fits(value)):
                raise _unusable(name, value, expected)
        if self.seeds is not None:
            object.__setattr__(self, "seeds", _checked_seeds(self.seeds))
        object.__setattr__(self, "extra", _checked_extra(self.extra))
        self.compared()  # refuses a.b beside a table a with a field b

    def __hash__(self) -> int:
        return hash((self.build, self.suite, manifest_hash(self)))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RunManifest:
        """A manifest from plain data, as JSON or TOML gives them.

        Parameters
        ----------
        data : mapping
            The fields by name; all others go to `extra`. A table ``sampling`` (or ``extra``) is taken as if
            its fields stood outside. A field that is null is not stated.

        Raises
        ------
        ArgumentError
            When a field stands twice or has an unusable value.
        """
        flat: dict[str, Any] = {}
        for name, value in _unnested(data):
            if name in flat:
                raise ArgumentError(
                    f"the field {name!r} stands twice in a manifest",
                    expected="each field once",
                    received=f"{show(flat[name])} and {show(value)}",
                )
            if value is not None:
                flat[name] = value
        own = {name: flat.pop(name) for name in _names() if name in flat}
        return cls(**own, extra=flat)

    def to_dict(self) -> dict[str, Any]:
        """The stated fields as plain data, those of `extra` beside the others."""
        own = {name: getattr(self, name) for name in _names() if getattr(self, name) is not None}
        if self.seeds is not None:
            own["seeds"] = list(self.seeds)
        return {**own, **_plain(self.extra)}

    def compared(self) -> dict[str, Any]:
        """What is compared with another manifest: every stated field but build and suite, tables as dotted names.

        The hash of the seed list is the field ``seeds``, unless the list is stated too: then both are compared.
        """
        own = self.to_dict()
        for name in _LABELS:
            own.pop(name, None)
        if "seeds" not in own and "seed_list_hash" in own:
            own["seeds"] = own.pop("seed_list_hash")
        return _dotted(own)


def _names() -> tuple[str, ...]:
    return tuple(one.name for one in fields(RunManifest) if one.name != "extra")


def _unnested(data: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in data.items():
        if not isinstance(name, str):
            raise ArgumentError("a field of a manifest has no name", expected="a text", received=show(name))
        if name in _TABLES and isinstance(value, Mapping):
            yield from _unnested(value)
        else:
            yield name, value


def _dotted(table: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """The fields of tables in tables by their dotted names."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        nested = isinstance(value, Mapping) and bool(value)
        for name, item in (_dotted(value, f"{above}{key}.") if nested else {f"{above}{key}": value}).items():
            if name in flat:
                raise ArgumentError(
                    f"the field {name!r} stands twice in a manifest",
                    expected="each field once",
                    received=f"{show(flat[name])} and {show(item)}",
                )
            flat[name] = item
    return flat


def _unusable(name: str, value: Any, expected: str) -> ArgumentError:
    return ArgumentError(
        f"the field {name!r} of a manifest has a value that cannot be used",
        expected=expected,
        received=show(value),
        where=f"field {name}",
    )


def _checked_seeds(seeds: Any) -> tuple[int | str, ...]:
    expected = "a list of whole numbers or texts, one at least"
    if isinstance(seeds, str | bytes | Mapping) or not isinstance(seeds, Sequence):
        raise _unusable("seeds", seeds, expected + "; its hash alone is seed_list_hash")
    for seed in seeds:
        if type(seed) is not int and not isinstance(seed, str):
            raise _unusable("seeds", seed, expected)
    if not seeds:
        raise _unusable("seeds", seeds, expected)
    return tuple(seeds)


def _checked_extra(extra: Any) -> Mapping[str, Any]:
    if not isinstance(extra, Mapping):
        raise _unusable("extra", extra, "a table of fields")
    for name in extra:
        if not isinstance(name, str) or not name or name in (*_names(), *_TABLES):
            raise _unusable("extra", name, "names of further fields")
    try:
        plain = _plain(extra)
        canonical_json(plain)
    except (TypeError, ValueError) as error:
        received = error.received if isinstance(error, ArgumentError) else str(error)
        raise _unusable("extra", received, "numbers, texts, booleans, and lists and tables of them") from None
    return MappingProxyType(plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("a table's key is no text")
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, date | time):
        return value.isoformat()  # TOML has dates, JSON texts
    return value


def seed_hash(seeds: Sequence[int | str]) -> str:
    """SHA-256, in hexadecimal, of a list of seeds in their order: of its canonical JSON.

    Examples
    --------
    >>> seed_hash([1, 2]) == seed_hash([2, 1])
    False
    """
    return hashlib.sha256(canonical_json(list(_checked_seeds(seeds))).encode()).hexdigest()


def manifest_hash(manifest: RunManifest) -> str:
    """SHA-256, in hexadecimal, of everything in a manifest that is compared: all but build and suite.

    Parameters
    ----------
    manifest : RunManifest

    Returns
    -------
    str
        The same for any order of fields and any spelling of a number (0, 0.0, 0e0), and whether the list of
        seeds is stated or the hash that `seed_hash` gives it. Equal hashes mean comparable runs, unless a field that is
        required is stated by neither.

    Examples
    --------
    >>> manifest_hash(RunManifest("ab12", temperature=0.2)) == manifest_hash(RunManifest("ab12", temperature=0.0))
    False
    """
    if not isinstance(manifest, RunManifest):
        raise DataError("this is no manifest", expected="a RunManifest", received=type(manifest).__name__)
    compared = manifest.compared()
    if manifest.seeds is not None:
        compared["seeds"] = seed_hash(manifest.seeds)
        if compared.get("seed_list_hash") == compared["seeds"]:
            del compared["seed_list_hash"]
    return hashlib.sha256(canonical_json(compared).encode()).hexdigest()
