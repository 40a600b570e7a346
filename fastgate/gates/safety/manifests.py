"""The manifests of many runs: from files, frames, plain data, or columns of the outcomes themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate.errors import ArgumentError, DataError
from fastgate.gates.safety.comparability import agreement
from fastgate.gates.safety.manifest import CUSTOMARY, RunManifest, manifest_hash
from fastgate.gates.safety.manifest_sources import entries, typed
from fastgate.gates.schema import show

__all__ = ["COLUMNS", "Manifests", "compare_manifests", "manifests_of_rows", "read_manifests"]

COLUMNS: Final = (
    "suite_hash",
    "seed_list_hash",
    "temperature",
    "top_p",
    "max_tokens",
    "grader_version",
    "harness_version",
)
"""The columns of outcomes that are read as manifests, beside those that a policy requires."""

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Manifests:
    """Manifests by run, equal ones once.

    Parameters
    ----------
    distinct : list of RunManifest
        Without build and suite.
    numbers : dict
        From (build, suite), or (build, None) for every suite of a build, to a position in `distinct`.
    mixed : frozenset of (str, str)
        Runs whose rows state different conditions.
    """

    distinct: list[RunManifest]
    numbers: dict[tuple[str, str | None], int]
    mixed: frozenset[tuple[str, str]] = frozenset()

    def table(self, builds: Sequence[str], suites: Sequence[str]) -> Integers:
        """The position in `distinct` of each run's manifest, −1 where it has none; shape (n_builds, n_suites)."""
        rows = {build: row for row, build in enumerate(builds)}
        columns = {suite: column for column, suite in enumerate(suites)}
        table = np.full((len(builds), len(suites)), -1, np.int64)
        particular = []
        for (build, suite), number in self.numbers.items():
            if suite is not None:
                particular.append((build, suite, number))
            elif build in rows:
                table[rows[build]] = number
        for build, suite, number in particular:
            if suite in columns and build in rows:
                table[rows[build], columns[suite]] = number
        return table


def read_manifests(source: Any) -> Manifests:
    """The manifests of runs.

    Parameters
    ----------
    source : path, list of paths, mapping, RunManifest, sequence of RunManifest, frame, Manifests or None
        A JSON or TOML file is one manifest, or holds several: ``runs``, a list of them, and perhaps ``defaults``,
        fields of all of them that state no other; a JSON file may also be the list. Plain data likewise. A frame,
        or a Parquet, Arrow, CSV or NDJSON file, holds a manifest a row and a field a column; null is not stated.
        Each manifest names its ``build``, and its ``suite`` unless it holds for every suite of the build.

    Returns
    -------
    Manifests

    Raises
    ------
    DataError
        When a source cannot be read, a manifest names no build, or a run has two manifests that differ.
    ArgumentError
        When a field has an unusable value.
    """
    if isinstance(source, Manifests):
        return source
    collected = _Collected({}, [], {}, {})
    for data, where in entries(source):
        if isinstance(data, pl.DataFrame):
            for stated, builds, suites in _distinct(data):
                number = _number(collected, stated, where)
                for build, suite in zip(builds, suites, strict=True):
                    _assign(collected, number, build, suite, where)
        else:
            fields = dict(data)
            build, suite = fields.pop("build", None), fields.pop("suite", None)
            _assign(collected, _number(collected, fields, where), build, suite, where)
    return Manifests(collected.distinct, collected.numbers)


@dataclass(frozen=True)
class _Collected:
    """Manifests while they are read: by their bytes, so that equal ones are checked once."""

    by_bytes: dict[bytes, int]
    distinct: list[RunManifest]
    numbers: dict[tuple[str, str | None], int]
    hashes: dict[int, str]


def _assign(collected: _Collected, number: int, build: Any, suite: Any, where: str) -> None:
    """Let a run have the manifest of this number."""
    if not isinstance(build, str) or not build:
        raise DataError(
            "a manifest does not say which build it is of",
            expected='build = "..."',
            received=show(build),
            where=where,
        )
    if suite is not None and (not isinstance(suite, str) or not suite):
        raise DataError(
            "a manifest's suite is no name",
            expected="a text; leave it out for every suite of the build",
            received=show(suite),
            where=where,
        )
    known = collected.numbers.setdefault((build, suite), number)
    if known != number:
        for each in (known, number):
            if each not in collected.hashes:
                collected.hashes[each] = manifest_hash(collected.distinct[each])
        if collected.hashes[known] != collected.hashes[number]:
            raise DataError(
                "a run has two manifests that differ",
                expected="one manifest for each run",
                received=f"build {build!r}" + ("" if suite is None else f", suite {suite!r}") + " again",
                where=where,
            )


def _number(collected: _Collected, fields: Mapping[str, Any], where: str) -> int:
    try:
        key = msgspec.json.encode(fields, order="deterministic")
    except (TypeError, ValueError) as error:
        raise DataError("a manifest holds no plain data", received=str(error), where=where) from None
    if key not in collected.by_bytes:
        try:
            collected.distinct.append(RunManifest.from_dict(fields))
        except ArgumentError as error:
            error.where = f"{where}: {error.where}" if error.where else where
            raise
        collected.by_bytes[key] = len(collected.distinct) - 1
    return collected.by_bytes[key]


def manifests_of_rows(attributes: pl.DataFrame, where: str) -> Manifests:
    """The manifests that columns of the outcomes state.

    Parameters
    ----------
    attributes : DataFrame
        build, suite, and fields; each distinct row once.
    where : str
        For messages.
    """
    collected = _Collected({}, [], {}, {})
    mixed: set[tuple[str, str]] = set()
    for data, builds, suites in _distinct(typed(attributes, where)):
        number = _number(collected, data, where)
        for build, suite in zip(builds, suites, strict=True):
            if collected.numbers.setdefault((build, suite), number) != number:
                mixed.add((build, str(suite)))
    return Manifests(collected.distinct, collected.numbers, frozenset(mixed))


def _distinct(frame: pl.DataFrame) -> Iterator[tuple[dict[str, Any], list[str], list[str | None]]]:
    """Each distinct combination of fields, and the builds and suites that have it."""
    if "suite" not in frame.columns:
        frame = frame.with_columns(suite=pl.lit(None, pl.String))
    fields = [name for name in frame.columns if name not in ("build", "suite")]
    # Whoever judges ten thousand builds has few kinds of manifest.
    flat = not any(dtype.is_nested() for dtype in frame.schema.values())
    groups = frame.group_by(fields if flat else pl.int_range(pl.len()), maintain_order=True)
    table = groups.agg(*(() if flat else (pl.col(name).first() for name in fields)), "build", "suite")
    for row in table.iter_rows(named=True):
        stated = {name: row[name] for name in fields if row[name] is not None}
        yield stated, row["build"], row["suite"]


def compare_manifests(
    baseline: Any,
    candidate: Any,
    *,
    required: Sequence[str] = CUSTOMARY,
    ignored: Sequence[str] = (),
    baseline_build: str | None = None,
    candidate_build: str | None = None,
) -> pl.DataFrame:
    """All fields of two manifests side by side, suite by suite.

    Parameters
    ----------
    baseline, candidate : RunManifest, path, mapping, or anything else that `read_manifests` takes
        Of one build each, or with the build named.
    required, ignored : sequence of str, optional
        As a policy's.
    baseline_build, candidate_build : str, optional
        Which build of a source with several.

    Returns
    -------
    DataFrame
        suite (null where a manifest holds for every suite), field, baseline, candidate (as JSON, null where not
        stated), agrees, problem: ``differs``, ``other_order`` (of the same seeds), ``missing_in_baseline``,
        ``missing_in_candidate``, ``missing_in_both``, ``no_manifest`` (for the suite), or null.

    Raises
    ------
    DataError, ArgumentError
        As `read_manifests`; also when a source holds several builds and none is named.

    Examples
    --------
    >>> old, new = (RunManifest("ab", temperature=t, build=b) for t, b in ((0.2, "old"), (0, "new")))
    >>> compare_manifests(old, new, required=["suite_hash"]).filter(~pl.col("agrees")).rows()
    [(None, 'temperature', '0.2', '0', False, 'differs')]
    """
    one, one_build = _of_one_build(baseline, baseline_build, "baseline")
    other, other_build = _of_one_build(candidate, candidate_build, "candidate")
    suites = list(
        dict.fromkeys(
            suite
            for manifests, build in ((one, one_build), (other, other_build))
            for name, suite in manifests.numbers
            if name == build
        )
    )
    if len(suites) > 1:
        suites = [suite for suite in suites if suite is not None]
    tables = []
    for suite in suites:
        a, b = (
            manifests.numbers.get((build, suite), manifests.numbers.get((build, None)))
            for manifests, build in ((one, one_build), (other, other_build))
        )
        if a is None or b is None:
            states = ("a manifest" if number is not None else None for number in (a, b))
            row = dict(zip(("baseline", "candidate"), states, strict=True))
            table = pl.DataFrame({"field": ["manifest"], **row, "agrees": False, "problem": "no_manifest"})
        else:
            table = agreement(one.distinct[a], other.distinct[b], required=required, ignored=ignored)
        tables.append(
            table.select(
                pl.lit(suite, pl.String).alias("suite"),
                "field",
                pl.col("baseline", "candidate").cast(pl.String),
                "agrees",
                "problem",
            )
        )
    return pl.concat(tables)


def _of_one_build(source: Any, build: str | None, side: str) -> tuple[Manifests, str]:
    if isinstance(source, RunManifest) and source.build is None:
        source = {**source.to_dict(), "build": side}
    manifests = read_manifests(source)
    builds = list(dict.fromkeys(name for name, _ in manifests.numbers))
    if build is None and len(builds) == 1:
        return manifests, builds[0]
    if build not in builds:
        raise ArgumentError(
            f"the {side}'s manifests are of several builds"
            if build is None
            else f"there is no manifest of {build!r}",
            expected="one of " + ", ".join(builds[:20]) if builds else "one manifest at least",
            received="nothing" if not builds else None if build is None else repr(build),
            where=f"argument {side}_build",
        )
    return manifests, build
