"""Many candidates: judged portion by portion, each part of the result written as it comes, to be resumed at will."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

import fastgate
from fastgate.errors import DataError
from fastgate.gates import storage, tables
from fastgate.gates.benchmark.parts import joined
from fastgate.gates.benchmark.request import (
    Request,
    Seen,
    evidence_of,
    families,
    judge_portion,
    portions_of,
    prepare,
    seen,
)
from fastgate.gates.benchmark.result import TABLES, BenchmarkResult
from fastgate.gates.benchmark.significance import SweepPvalues
from fastgate.gates.policy import PolicySource, to_dict
from fastgate.gates.verdict import exit_code, worst
from fastgate.progress import Listener, unheard

if TYPE_CHECKING:
    from fastgate.frames.portions import Portion

__all__ = ["BenchmarkSweep", "benchmark_sweep"]

_PARTS: Final = "parts"
_LOCK: Final = ".lock"
# Where the parts of each table are; the verdicts' are put together at last.
_FOLDERS: Final = {name: _PARTS if name == "verdicts" else name for name in TABLES}
# A file of a part; with a dot before it and more behind it, one that was being written when the process was killed.
_NAME: Final = re.compile(
    r"(\d{5,}-[0-9a-f]{16})\.(parquet|json)|\.\d{5,}-[0-9a-f]{16}\.(parquet|json)\.[0-9a-f]+"
)


@dataclass(frozen=True, eq=False)
class BenchmarkSweep:
    """The result of a sweep, in a folder of Parquet files.

    Attributes
    ----------
    folder : Path
        What `fastgate.load` reads. ``cells/*.parquet``, ``suites/*.parquet`` and so on are parts of the tables of
        `BenchmarkResult`, any reader's to take.
    verdicts : DataFrame
        A row per candidate, as in `BenchmarkResult`.
    policy : dict
        The policy as applied.
    evidence : dict
        Versions, policy hash, input fingerprint, counts.
    parts, kept : int
        In how many parts it was written, and how many of them an earlier run had left.
    """

    folder: Path
    verdicts: pl.DataFrame
    policy: dict[str, Any]
    evidence: dict[str, Any]
    parts: int
    kept: int

    gate = "benchmark"

    @property
    def verdict(self) -> str:
        """The worst of the candidates' verdicts: ``pass``, ``review``, ``refused`` or ``block``."""
        return worst(self.verdicts["verdict"].to_list())

    def __getitem__(self, candidate: str) -> str:
        """The verdict of one candidate."""
        return tables.verdict_of(self.verdicts, candidate)

    def __iter__(self) -> Iterator[str]:
        """The candidates, in the order shown."""
        return iter(self.verdicts["candidate"].cast(pl.String).to_list())

    def __len__(self) -> int:
        return self.verdicts.height

    def exit_code(self, *, review_ok: bool = False) -> int:
        """0 pass, 1 block, 3 review (0 with `review_ok`), 4 refused."""
        return exit_code(self.verdict, review_ok=review_ok)

    def scan(self, table: str) -> pl.LazyFrame:
        """One of the tables as a query over its files, in the order in which they were written."""
        if table == "verdicts":
            return self.verdicts.lazy()
        return pl.scan_parquet(sorted((self.folder / table).glob("*.parquet")), hive_partitioning=False)

    def load(self) -> BenchmarkResult:
        """The whole result in memory."""
        result = storage.load(self.folder)
        if not isinstance(result, BenchmarkResult):
            raise AssertionError(f"a result of the {result.gate} gate")
        return result


def benchmark_sweep(
    samples: Any,
    policy: PolicySource,
    folder: str | PathLike[str],
    *,
    resume: bool = False,
    previous: BenchmarkResult | str | PathLike[str] | None = None,
    previous_candidate: str | None = None,
    tenant: str | None = None,
    candidates: Sequence[str] | None = None,
    columns: Mapping[str, str] | None = None,
    shape: str | None = None,
    replicates: int | None = None,
    replicates_seed: int = 0,
    memory: int | None = None,
    listener: Listener = unheard,
) -> BenchmarkSweep:
    """Judge candidates as `fastgate.benchmark_gate` does, in bounded memory, and write the result as it comes.

    Parameters
    ----------
    samples, policy, previous, previous_candidate, tenant, candidates, columns, shape, replicates, replicates_seed, \
    listener
        As of `fastgate.benchmark_gate`.
    folder : path
        Where the result goes; made where it is not there. What an earlier sweep wrote there is replaced.
    resume : bool, optional
        Keep the parts that an interrupted sweep of the same data, policy and options has written there. The data
        are read again, so that a part is kept only where the same measurements come again.
    memory : int, optional
        Bytes that a portion's measurements take at most, 2 GiB unless given. The whole process needs little more
        besides, whatever the number of rows and candidates: see Notes.

    Returns
    -------
    BenchmarkSweep
        The verdicts, and where the rest is.

    Raises
    ------
    DataError
        As `fastgate.benchmark_gate`; or when the folder cannot be written to.
    PolicyError, ArgumentError
        As `fastgate.benchmark_gate`.

    Notes
    -----
    Every file is written aside and renamed, the folder's ``result.json`` last of all: without it the folder is no
    result, and `fastgate.load` refuses it.

    The result is that of `fastgate.benchmark_gate`, bit for bit, whatever the size of the portions.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> runs = pl.DataFrame({
    ...     "build": ["new"] * 4 + ["old"] * 4, "suite": "chess", "kpi": "score",
    ...     "case": [1, 2, 3, 4] * 2, "value": [0.9, 0.8, 0.9, 0.7, 0.4, 0.5, 0.3, 0.4]})
    >>> policy = {"gate": "benchmark", "name": "demo", "baselines": ["old"], "min_suite_wins": 1,
    ...           "kpis": {"score": {"direction": "higher"}}, "suites": ["chess"]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sweep = benchmark_sweep(runs, policy, folder)
    ...     sweep["new"], sweep.load().cells["pvalue"].round(5).to_list()
    ('pass', [0.00057])
    """
    place = Path(folder)
    if place.is_file():
        raise DataError(
            "a sweep is written to a folder",
            expected="a folder, or a name that is not taken",
            received="a file",
            where=str(place),
        )
    request = prepare(
        samples,
        policy,
        previous=previous,
        previous_candidate=previous_candidate,
        tenant=tenant,
        candidates=candidates,
        columns=columns,
        shape=shape,
        replicates=replicates,
        replicates_seed=replicates_seed,
        memory=memory,
        listener=listener,
    )
    with _taken(place):
        return _written(request, place, resume, listener)


def _written(request: Request, place: Path, resume: bool, listener: Listener) -> BenchmarkSweep:
    # Without its manifest the folder is no result: nobody takes an earlier one, or half of this, for it.
    (place / storage.MANIFEST).unlink(missing_ok=True)
    if not resume:
        _clear(place, keep=frozenset())
    before = {file.name for file in (place / _PARTS).glob("*.json")}
    so_far: Seen | None = None
    parts: list[dict[str, Any]] = []
    for portion, family in zip(portions_of(request, listener), families(request, listener), strict=False):
        so_far = seen(request, portion, so_far)
        part = _part(request, portion, family, place, len(parts), reuse=resume)
        if part is not None:
            parts.append(part)
    if so_far is None:
        raise AssertionError("no portion was read")
    record = evidence_of(request, so_far, sum(part["comparisons"] for part in parts))
    files: dict[str, Any] = {name: [part["tables"][name] for part in parts] for name in TABLES}
    verdicts = _verdicts(place, files["verdicts"], request.candidates)
    files["verdicts"] = storage.write_table(verdicts, place, "verdicts.parquet")
    _clear(place, keep=frozenset(file["file"] for part in parts for file in part["tables"].values()))
    kept = sum(f"{Path(part['tables']['cells']['file']).stem}.json" in before for part in parts)
    sweep = BenchmarkSweep(place, verdicts, to_dict(request.rules), record, len(parts), kept)
    storage.write_manifest(sweep, place, files)
    return sweep


@contextmanager
def _taken(place: Path) -> Iterator[None]:
    """Keep other sweeps out of the folder; refuse one that holds anything else.

    Raises
    ------
    DataError
    """
    from fastgate.frames.portion_rows import lock_file

    try:
        place.mkdir(parents=True, exist_ok=True)
        there = {path.name for path in place.iterdir()}
        manifest = place / storage.MANIFEST
        gate = json.loads(manifest.read_bytes()).get("gate") if storage.MANIFEST in there else None
    except (OSError, ValueError, AttributeError) as error:
        raise DataError(
            "the folder cannot be used", received=f"{type(error).__name__}: {error}", where=str(place)
        ) from None
    if there and gate != "benchmark" and not (there & {_PARTS, _LOCK}):
        raise DataError(
            "the folder holds something else, which a sweep would be mixed with",
            expected="a folder that is not there yet, is empty, or was written by a sweep",
            received=f"a result of the {gate} gate" if gate else ", ".join(sorted(there)[:5]),
            where=str(place),
        )
    with (place / _LOCK).open("ab") as lock:
        try:
            lock_file(lock)
        except BlockingIOError:
            raise DataError(
                "another run is writing to this folder",
                expected="one run at a time",
                received="a lock that another process holds",
                where=str(place / _LOCK),
                hint="wait for it, or write to another folder",
            ) from None
        try:
            yield
        finally:
            (place / _LOCK).unlink(missing_ok=True)


def _part(
    request: Request, portion: Portion, family: SweepPvalues | None, place: Path, number: int, *, reuse: bool
) -> dict[str, Any] | None:
    """The record of one part, which is judged and written unless it is there already; None for nothing to judge."""
    key = _key(request, portion, family)
    stem = f"{number:05d}-{key}"
    if reuse:
        for file in sorted((place / _PARTS).glob(f"*-{key}.json")):
            found = _read(file, place)
            if found is not None:
                return found
    judged = judge_portion(request, portion, family)
    if judged is None:
        return None
    written = {
        name: storage.write_table(_plain(judged[name]), place, f"{_FOLDERS[name]}/{stem}.parquet")
        for name in TABLES
    }
    record = {"comparisons": judged["cells"].height, "tables": written}
    storage.write_aside(place / _PARTS / f"{stem}.json", lambda file: file.write(storage.to_json(record)))
    return record


def _plain(table: pl.DataFrame) -> pl.DataFrame:
    """The table as any part has it: categories of candidates would be other ones in each."""
    return table.with_columns(pl.selectors.by_name("candidate", require_all=False).cast(pl.String))


def _key(request: Request, portion: Portion, family: SweepPvalues | None) -> str:
    """16 hexadecimal digits of everything that the part depends on."""
    adjusted = b"" if family is None else family.win.tobytes() + family.loss.tobytes()
    everything = {
        "fastgate": fastgate.__version__,
        "policy": to_dict(request.rules),
        "samples": portion.samples.fingerprint,
        "family": hashlib.sha256(adjusted).hexdigest(),
        "candidates": sorted(set(portion.builds) & set(request.candidates)),
        **request.record,
    }
    return hashlib.sha256(json.dumps(everything, sort_keys=True).encode()).hexdigest()[:16]


def _read(file: Path, place: Path) -> dict[str, Any] | None:
    """The record of a part all of whose files are there as they were written."""
    try:
        record: dict[str, Any] = json.loads(file.read_bytes())
        for table in record["tables"].values():
            if storage.file_digest(place / table["file"]) != table["sha256"]:
                return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return record


def _verdicts(place: Path, files: Sequence[dict[str, str]], candidates: Sequence[str]) -> pl.DataFrame:
    frames = [tables.typed(TABLES["verdicts"], pl.read_parquet(place / file["file"])) for file in files]
    return joined({"verdicts": frames}, candidates)["verdicts"]


def _clear(place: Path, keep: frozenset[str]) -> None:
    """Remove what sweeps have written, but for some tables and, with them, the records of their parts."""
    for name in _FOLDERS:
        if _FOLDERS[name] == name:  # a result saved from memory has a single file here
            (place / f"{name}.parquet").unlink(missing_ok=True)
    stems = {Path(file).stem for file in keep}
    for folder in dict.fromkeys([*_FOLDERS.values(), _PARTS]):
        for file in (place / folder).glob("*"):
            match = _NAME.fullmatch(file.name)
            if match and match[1] not in stems:
                file.unlink(missing_ok=True)
