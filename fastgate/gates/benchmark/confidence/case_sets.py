"""Which cases are drawn for which builds: strata, each a set of cases with a key of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from fastgate.frames.samples import Samples

__all__ = ["CaseSets", "Group", "Stratum", "case_sets", "groups"]

Integers = npt.NDArray[np.int64]


class Stratum(NamedTuple):
    """Cases that are drawn together."""

    key: int
    """Of the suite's name and the cases' ids: the same wherever these are the same."""
    n_cases: int


class Group(NamedTuple):
    """Candidates whose cases, and whose baselines', are drawn together."""

    members: Integers
    """Their numbers."""
    universe: Integers
    """The codes of the cases, ascending; empty where cases have no ids and a value's place stands for its case."""
    strata: list[Stratum]
    """One; where cases have no ids, one for each build: the baselines', then the members'."""
    of_members: Integers
    """The stratum of each member."""
    of_baselines: Integers
    """The stratum of each baseline."""


class CaseSets(NamedTuple):
    """The cases of every cell of some samples."""

    sizes: Integers
    """How many entries a cell has."""
    numbers: Integers
    """The same for cells of the same cases."""
    hashes: npt.NDArray[np.uint64] | None
    """Of the cases' ids, by code."""


def case_sets(samples: Samples) -> CaseSets:
    """What `groups` knows of the cases."""
    from fastgate.frames.samples import text_hashes

    sizes = np.concatenate([part.sizes for part in samples.parts])
    fingerprint = samples.index["case_fingerprint"].fill_null(0).to_numpy()
    _, numbers = np.unique(fingerprint, return_inverse=True)
    by_size = numbers.astype(np.int64) * (int(sizes.max(initial=0)) + 1) + sizes[: numbers.size]
    _, numbers = np.unique(by_size, return_inverse=True)
    hashes = None if samples.cases is None else text_hashes(samples.case_names)
    return CaseSets(sizes, np.tile(numbers.astype(np.int64), len(samples.parts)), hashes)


def groups(
    samples: Samples,
    sets: CaseSets,
    suite: str,
    candidates: list[str],
    baselines: tuple[str, ...],
    candidate_cell: Integers,
    baseline_cell: Integers,
) -> Iterator[Group]:
    """The groups of candidates of one suite.

    Parameters
    ----------
    samples : Samples
        With values.
    sets : CaseSets
        Of these.
    suite : str
    candidates : list of str
    baselines : tuple of str
    candidate_cell, baseline_cell : ndarray of int64, shape (n_candidates, n_baselines, n_kpis)
        -1 where there is no such cell.

    Notes
    -----
    A candidate's cases are those that it or a baseline has in the suite, for whichever KPI, so that no other
    candidate matters. Nobody knows whether the cases of two builds without ids are the same: such builds are drawn
    each by itself.
    """
    n_members = candidate_cell.shape[0]
    if samples.cases is None and samples.shape == "runs":
        names = [*baselines, *candidates]
        cells = [*baseline_cell[0], *candidate_cell[:, 0]] if n_members else []
        strata = [
            _stratum(suite, name, int(_of(sets.sizes, mine).max(initial=0)), 0)
            for name, mine in zip(names, cells, strict=True)
        ]
        n_baselines = len(baselines)
        yield Group(
            np.arange(n_members),
            np.empty(0, np.int64),
            strata,
            np.arange(n_baselines, len(names)),
            np.arange(n_baselines),
        )
        return
    # Both cells of a pair have the same cases.
    rows = candidate_cell.reshape(n_members, -1)
    if samples.shape == "runs":
        of_baselines = np.broadcast_to(baseline_cell[:1].reshape(1, -1), (n_members, baseline_cell[:1].size))
        rows = np.concatenate([candidate_cell[:, 0], of_baselines], axis=1)
    # The same sets, whichever KPI has which, so that most candidates are of one group.
    ordered = np.sort(np.where(rows < 0, -1, sets.numbers[rows]), axis=1)
    if (ordered == ordered[:1]).all():
        first, group = np.zeros(min(n_members, 1), np.int64), np.zeros(n_members, np.int64)
    else:
        _, first, group = np.unique(ordered, axis=0, return_index=True, return_inverse=True)
    for number, member in enumerate(first):
        universe, stratum = _union(samples, suite, rows[member], sets)
        members = np.flatnonzero(group.ravel() == number)
        yield Group(
            members,
            universe,
            [stratum],
            np.zeros(members.size, np.int64),
            np.zeros(len(baselines), np.int64),
        )


def _of(sizes: Integers, cells: Integers) -> Integers:
    return np.where(cells < 0, 0, sizes[cells])


def _union(samples: Samples, suite: str, cells: Integers, sets: CaseSets) -> tuple[Integers, Stratum]:
    """The cases of some cells together."""
    cells = cells[cells >= 0]
    if sets.hashes is None:
        return np.empty(0, np.int64), _stratum(suite, "", int(sets.sizes[cells].max(initial=0)), 0)
    _, distinct = np.unique(sets.numbers[cells], return_index=True)
    codes = [samples.cell_cases(int(cell)) for cell in cells[distinct]]
    universe = np.unique(np.concatenate([np.empty(0, np.int64), *codes]))
    total = int(sets.hashes[universe].sum(dtype=np.uint64))
    return universe, _stratum(suite, "", universe.size, total)


def _stratum(suite: str, build: str, n_cases: int, cases: int) -> Stratum:
    text = f"{suite}\x1f{build}\x1f{n_cases}\x1f{cases}".encode()
    return Stratum(int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little"), n_cases)
