"""Whether two runs may be compared at all: every comparability field must be stated by both, and agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import polars as pl

from fastgate.gates.canonical import canonical_json
from fastgate.gates.safety.errors import LitmusIncomparableError
from fastgate.gates.safety.manifest import CUSTOMARY, RunManifest, seed_hash

__all__ = ["PROBLEMS", "Difference", "agreement", "differences", "require_comparable"]

PROBLEMS: Final = (
    "differs",
    "other_order",
    "missing_in_candidate",
    "missing_in_baseline",
    "missing_in_both",
    "no_manifest",
    "mixed",
)
"""What may be wrong with a field; ``no_manifest`` and ``mixed`` concern all of a run's fields."""

_SHOWN: Final = 80


class Difference(NamedTuple):
    """A field on account of which two runs may not be compared."""

    field: str
    """Its name; of a table inside a table, dotted."""
    baseline: str | None
    """The baseline's value as JSON; None where it states none."""
    candidate: str | None
    problem: str
    """One of `PROBLEMS`."""

    def __str__(self) -> str:
        words = {"other_order": " (the same seeds in another order)"}
        sides = ("nothing" if value is None else value for value in (self.baseline, self.candidate))
        return "{}: baseline {}, candidate {}".format(self.field, *sides) + words.get(self.problem, "")


class _Field(NamedTuple):
    name: str
    baseline: Any
    candidate: Any
    problem: str | None


_ABSENT: Final = object()


def _within(name: str, table: str) -> bool:
    return name == table or name.startswith(table + ".")


def _fields(
    baseline: RunManifest, candidate: RunManifest, required: Sequence[str], ignored: Sequence[str]
) -> list[_Field]:
    """Every field that is compared, with what is wrong with it."""
    one, other = baseline.compared(), candidate.compared()
    if baseline.suite is not None and candidate.suite is not None:
        one["suite"], other["suite"] = baseline.suite, candidate.suite
    # A list of seeds can be compared with a hash of one.
    for mine, theirs, manifest in ((one, other, baseline), (other, one, candidate)):
        lists = mine.get("seeds"), theirs.get("seeds")
        if isinstance(lists[0], list) and isinstance(lists[1], str):
            mine["seeds"] = mine.pop("seed_list_hash", None) or seed_hash(manifest.seeds or ())
    # Of two lists the hashes need not be stated on both sides.
    if isinstance(one.get("seeds"), list) and isinstance(other.get("seeds"), list):
        hashes = [mine.pop("seed_list_hash", None) for mine in (one, other)]
        if None not in hashes:
            one["seed_list_hash"], other["seed_list_hash"] = hashes
    ignored = (*ignored, *(("seed_list_hash",) if "seeds" in ignored else ()))
    names = list(dict.fromkeys([*required, *one, *other]))
    found = []
    for name in names:
        if any(_within(name, table) for table in ignored) and name not in required:
            continue
        a, b = one.get(name, _ABSENT), other.get(name, _ABSENT)
        if name not in one and name not in other and any(_within(key, name) for key in (*one, *other)):
            continue  # a table: its fields are compared one by one
        found.append(_Field(name, a, b, _problem(name, a, b)))
    return found


def _problem(name: str, baseline: Any, candidate: Any) -> str | None:
    if baseline is _ABSENT and candidate is _ABSENT:
        return "missing_in_both"
    if baseline is _ABSENT:
        return "missing_in_baseline"
    if candidate is _ABSENT:
        return "missing_in_candidate"
    if canonical_json(baseline) == canonical_json(candidate):
        return None
    lists = name == "seeds" and isinstance(baseline, list) and isinstance(candidate, list)
    if lists and sorted(map(canonical_json, baseline)) == sorted(map(canonical_json, candidate)):
        return "other_order"
    return "differs"


def _shown(value: Any) -> str | None:
    if value is _ABSENT:
        return None
    text = canonical_json(value)
    if isinstance(value, list) and len(text) > _SHOWN:
        return f"{text[: _SHOWN - 30]}… ({len(value)} in all)"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def differences(
    baseline: RunManifest | None,
    candidate: RunManifest | None,
    *,
    required: Sequence[str] = CUSTOMARY,
    ignored: Sequence[str] = (),
) -> list[Difference]:
    """The fields on account of which two runs may not be compared; none if they may.

    Parameters
    ----------
    baseline, candidate : RunManifest or None
        None where a run has no manifest.
    required : sequence of str, optional
        Fields that both must state.
    ignored : sequence of str, optional
        Fields that are not compared, unless required; the name of a table stands for all in it.

    Returns
    -------
    list of Difference

    Notes
    -----
    Every field that either states is compared, known to fastgate or not: what a harness took the trouble to record may
    matter. Numbers are compared as numbers, texts byte by byte; the number 1 and the text "1" differ.
    """
    if baseline is None or candidate is None:
        if not required and baseline is candidate:
            return []
        one, other = (None if manifest is None else "a manifest" for manifest in (baseline, candidate))
        return [Difference("manifest", one, other, "no_manifest")]
    return [
        Difference(field.name, _shown(field.baseline), _shown(field.candidate), field.problem)
        for field in _fields(baseline, candidate, required, ignored)
        if field.problem is not None
    ]


def agreement(
    baseline: RunManifest,
    candidate: RunManifest,
    *,
    required: Sequence[str] = CUSTOMARY,
    ignored: Sequence[str] = (),
) -> pl.DataFrame:
    """All fields of two manifests side by side.

    Parameters
    ----------
    baseline, candidate, required, ignored
        As in `differences`.

    Returns
    -------
    DataFrame
        field, baseline, candidate (as JSON, null where not stated), agrees, problem (null where it agrees).

    Examples
    --------
    >>> table = agreement(RunManifest("ab", temperature=0.2), RunManifest("ab", temperature=0), required=["suite_hash"])
    >>> table.rows()
    [('suite_hash', '"ab"', '"ab"', True, None), ('temperature', '0.2', '0', False, 'differs')]
    """
    rows = [
        (field.name, _shown(field.baseline), _shown(field.candidate), field.problem is None, field.problem)
        for field in _fields(baseline, candidate, required, ignored)
    ]
    schema: Mapping[str, Any] = {
        "field": pl.String,
        "baseline": pl.String,
        "candidate": pl.String,
        "agrees": pl.Boolean,
        "problem": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def require_comparable(
    baseline: RunManifest,
    candidate: RunManifest,
    *,
    required: Sequence[str] = CUSTOMARY,
    ignored: Sequence[str] = (),
) -> None:
    """Refuse two runs that may not be compared.

    Parameters
    ----------
    baseline, candidate, required, ignored
        As in `differences`.

    Raises
    ------
    LitmusIncomparableError
        When a field differs or is missing; it lists each with both values.
    """
    found = differences(baseline, candidate, required=required, ignored=ignored)
    if found:
        raise LitmusIncomparableError(
            "the runs may not be compared",
            differences=found,
            expected="manifests that agree in every comparability field",
            received="\n            ".join(str(difference) for difference in found),
            hint="run the baseline again under the candidate's conditions, or the candidate under the baseline's",
        )
