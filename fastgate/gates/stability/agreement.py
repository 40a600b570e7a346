"""Probes to what the rule reads: agreement of each build and kind, the pairs that flipped, the rows at fault."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate.errors import ArgumentError
from fastgate.frames.probes import UNKNOWN_CHOICE, UNKNOWN_FLAG, combined
from fastgate.gates import reasons as masks
from fastgate.gates.stability.reasons import bit
from fastgate.kernels.choices import ABSENT, NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastgate.frames.probes import Probes
    from fastgate.stats.choices import Comparison

__all__ = ["Agreements", "Looks", "measure", "settled_letters"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int8]

SWAP: Final = "order_swap"
_SHOWN_FAULTS: Final = 100
_NO_CODES: Final = np.empty(0, np.int8)


class Looks(NamedTuple):
    """What the probes of each pair showed, for every build and pair that was probed at all.

    A pair is looked up by ``build * n_pairs + pair`` in `keys`, which is sorted; or, where it is None, at that place.
    """

    keys: Integers | None
    flipped: Integers
    """Set of bits: the kinds that flipped the pair, in the policy's order."""
    probed: Integers
    """Set of bits: the kinds that were compared."""
    builds: Integers
    """The build of each place."""


@dataclass(frozen=True, eq=False)
class Agreements:
    """Agreement per cell, a row of ``probes.index``, with what is needed to tell which probes flipped.

    Parameters
    ----------
    n, agree, missing : ndarray of int64
    agreement, ci_low, ci_high, kappa : ndarray of float64
    faults : ndarray of uint32
        Mask of the reasons found in rows.
    compared : Comparison
        Per probe.
    kind : ndarray of int8
        Of each probe, its position among the policy's kinds, -1 for a kind that is ignored.
    looks : Looks
    fault_rows : dict of str to ndarray of int64
        Reason code → rows.
    """

    n: Integers
    agree: Integers
    missing: Integers
    agreement: Floats
    ci_low: Floats
    ci_high: Floats
    kappa: Floats
    faults: npt.NDArray[np.uint32]
    compared: Comparison
    kind: Codes
    looks: Looks
    fault_rows: dict[str, Integers]


def settled_letters(probes: Probes, stated: str | None, policy: str | None) -> str:
    """What the choices of swapped runs are: as column names, the call and the policy say, which must not differ.

    Raises
    ------
    ArgumentError
        When they differ, or none says it though an order was swapped: a guess could turn every agreement into a
        disagreement.
    """
    said = {
        "the name of the column of choices": probes.letters,
        "the argument letters": stated,
        "the policy": policy,
    }
    said = {who: word for who, word in said.items() if word is not None}
    if stated not in (None, "raw", "unswapped"):
        raise ArgumentError(
            "there are no such letters",
            expected="'raw' or 'unswapped'",
            received=repr(stated),
            where="argument letters",
        )
    if len(set(said.values())) > 1:
        raise ArgumentError(
            "it is not clear what the choices of swapped runs are",
            expected="the same everywhere",
            received="; ".join(f"{who} says {word!r}" for who, word in said.items()),
            where="letters",
        )
    for word in said.values():
        return str(word)
    if SWAP in probes.names("kind") or probes.primary_swapped.size or probes.probe_swapped.size:
        raise ArgumentError(
            "it is not clear what the choices of swapped runs are",
            expected="letters='raw' where they are the letters as shown, so that a stable ranker answers an order swap "
            "with the other letter; letters='unswapped' where that is undone already",
            received="neither",
            where="letters",
            hint="state it in the call, the policy, or by the column's name (probe_choice_raw, probe_choice_unswapped)",
        )
    return "unswapped"


def measure(probes: Probes, kinds: Sequence[str], letters: str) -> Agreements:
    """The agreement of every cell.

    Parameters
    ----------
    probes : Probes
    kinds : sequence of str
        The policy's kinds; others are left out of the pairs' flags.
    letters : {"raw", "unswapped"}
    """
    from fastgate.stats.choices import compare_arrays
    from fastgate.stats.probes import agreement_arrays

    names = probes.index["kind"].cast(pl.String).to_list()
    position = {name: number for number, name in enumerate(kinds)}
    kind_of_cell = np.array([position.get(name, -1) for name in names], np.int8)
    swap_of_cell = np.array([name == SWAP for name in names], np.bool_)
    swaps = _swaps(probes, swap_of_cell, letters)
    fault_rows = _fault_rows(probes, swap_of_cell, letters)
    primary = probes.primary
    if fault_rows["unknown_order"].size:
        primary = primary.copy()
        primary[fault_rows["unknown_order"]] = UNKNOWN_CHOICE
    first, second = probes.primary_reason, probes.probe_reason
    compared = compare_arrays(
        primary,
        probes.probe,
        primary_reason=first,
        probe_reason=second,
        primary_swapped=swaps[0],
        probe_swapped=swaps[1],
    )
    share, low, high, kappa, n, agree, missing, _status = agreement_arrays(
        probes.cell, probes.index.height, compared, primary_reason=first, probe_reason=second
    )
    faults = np.zeros(probes.index.height, np.uint32)
    for code, rows in fault_rows.items():
        faults[probes.cell[rows]] |= np.uint32(bit(code))
    kind = kind_of_cell[probes.cell]
    looks = _looks(probes, kind, compared.match)
    return Agreements(n, agree, missing, share, low, high, kappa, faults, compared, kind, looks, fault_rows)


def _swaps(probes: Probes, swap_of_cell: npt.NDArray[np.bool_], letters: str) -> tuple[Codes, Codes]:
    """The flags of primary and probe runs whose letters have to trade places."""
    if letters != "raw":
        return _NO_CODES, _NO_CODES
    if probes.primary_swapped.size or probes.probe_swapped.size:
        return probes.primary_swapped, probes.probe_swapped
    return _NO_CODES, swap_of_cell.astype(np.int8)[probes.cell] if swap_of_cell.any() else _NO_CODES


def _fault_rows(probes: Probes, swap_of_cell: npt.NDArray[np.bool_], letters: str) -> dict[str, Integers]:
    unknown = (probes.primary == UNKNOWN_CHOICE) | (probes.probe == UNKNOWN_CHOICE)
    return {
        "no_primary": np.flatnonzero(probes.primary == ABSENT),
        "duplicate_probe": probes.repeated_rows(),
        "unknown_choice": np.flatnonzero(unknown),
        "unknown_order": _unknown_order(probes, swap_of_cell),
        "self_comparison": probes.same_alternatives,
    }


def _unknown_order(probes: Probes, swap_of_cell: npt.NDArray[np.bool_]) -> Integers:
    """Rows whose order is not stated in a column that states it, and order swaps that swap nothing."""
    flags = [column for column in (probes.primary_swapped, probes.probe_swapped) if column.size]
    if not flags:
        return np.empty(0, np.int64)
    other = np.zeros(probes.n_rows, np.int8)
    first, second = flags if len(flags) == 2 else (flags[0], other)
    unstated = (first == UNKNOWN_FLAG) | (second == UNKNOWN_FLAG)
    return np.flatnonzero(unstated | (swap_of_cell[probes.cell] & (first == second)))


def _looks(probes: Probes, kind: Codes, match: Codes) -> Looks:
    from fastgate.stats.probes import stability_flags_arrays

    build_of_cell = probes.index["build"].to_physical().to_numpy().astype(np.int64)
    n_pairs = probes.pairs.height
    place = combined(probes.cell, (probes.pair, n_pairs), lookup=build_of_cell)
    size = len(probes.names("build")) * n_pairs
    keys = None
    if size > 4 * probes.n_rows + 1_000_000:
        keys, place = np.unique(place, return_inverse=True)
        size = keys.size
    if kind.size and kind.min() < 0:
        match = np.where(kind < 0, np.int8(-1), match)
        kind = np.maximum(kind, 0)
    flipped, probed = stability_flags_arrays(place, size, kind, match)
    builds = (np.arange(size) if keys is None else keys) // max(n_pairs, 1)
    return Looks(keys, flipped, probed, builds)


def looked_up(looks: Looks, key: Integers) -> Integers:
    """The place of each ``build * n_pairs + pair``, -1 where that pair was not probed."""
    if looks.keys is None:
        return key
    place = np.searchsorted(looks.keys, key)
    place[place == looks.keys.size] = 0
    place[looks.keys[place] != key] = -1
    return place


def flips(probes: Probes, measured: Agreements, kinds: Sequence[str], builds: Sequence[str]) -> pl.DataFrame:
    """The probes that made another choice, in the order of builds, pairs, kinds and variants."""
    from fastgate.stats.probes import observation_weight

    chosen = np.isin(probes.names("build"), list(builds))
    build_of_cell = probes.index["build"].to_physical().to_numpy().astype(np.int64)
    rows = np.flatnonzero(measured.compared.match == 0)
    build, kind = build_of_cell[probes.cell[rows]], measured.kind[rows]
    kept = chosen[build] & (kind >= 0)
    rows, build, kind = rows[kept], build[kept], kind[kept]
    pair, variant = probes.pair[rows], probes.variant[rows]
    order = _order(
        build, probes.pairs.height, pair, len(kinds), kind, max(probes.variants.height, 1), variant
    )
    rows, build, kind = rows[order], build[order], kind[order]
    pair, variant = pair[order], variant[order]
    place = looked_up(measured.looks, build * probes.pairs.height + pair)
    flipped, probed = measured.looks.flipped[place], measured.looks.probed[place]
    words = pl.Series([*NAMES, None], dtype=pl.String)
    return pl.DataFrame(
        {
            "build": pl.Series(probes.names("build"), dtype=pl.String).gather(build),
            **_texts(probes.pairs, ("suite", "pair"), pair),
            "kind": pl.Series(kinds, dtype=pl.String).gather(kind),
            **_texts(probes.variants, ("variant", "trial"), variant),
            "primary_choice": words.gather(measured.compared.primary[rows]),
            "probe_choice": words.gather(measured.compared.probe[rows]),
            "stability_flags": masks.listed(pl.Series(flipped), list(kinds)),
            "observation_weight": observation_weight(flipped, probed),
        }
    )


def _order(first: Integers, *sizes_and_codes: Any) -> Integers:
    """Rows in the order of some codes, each given with its size; quick where they are in order already."""
    key, size = first, int(first.max()) + 1 if first.size else 1
    for number, codes in zip(sizes_and_codes[::2], sizes_and_codes[1::2], strict=True):
        size *= number
        key = key * number + codes
    if size < 2**62:
        return np.argsort(key, kind="stable")
    return np.lexsort((*sizes_and_codes[::-2], first))


def _texts(frame: pl.DataFrame, names: Sequence[str], rows: Integers) -> dict[str, pl.Series]:
    """Some columns as text at some rows; null where the frame has no such column, or no name."""
    found = {}
    for name in names:
        if name in frame.columns:
            text = frame[name].cast(pl.String)
            found[name] = text.set(text == "", None).gather(rows)
        else:
            found[name] = pl.Series([None], dtype=pl.String).new_from_index(0, rows.size)
    return found


def faults(probes: Probes, measured: Agreements, kinds: Sequence[str], builds: Sequence[str]) -> pl.DataFrame:
    """The first rows at fault of each build and fault."""
    build_of_cell = probes.index["build"].to_physical().to_numpy().astype(np.int64)
    names = pl.Series(probes.names("build"), dtype=pl.String)
    parts = []
    for code, rows in measured.fault_rows.items():
        if not rows.size:
            continue
        found = pl.DataFrame(
            {
                "build": names.gather(build_of_cell[probes.cell[rows]]),
                "fault": pl.Series([code]).new_from_index(0, rows.size),
                "kind": probes.index["kind"].cast(pl.String).gather(probes.cell[rows]),
                **_texts(probes.pairs, ("suite", "pair"), probes.pair[rows]),
                **_texts(probes.variants, ("variant",), probes.variant[rows]),
            }
        )
        found = found.filter(pl.col("build").is_in(list(builds)) & pl.col("kind").is_in(list(kinds)))
        parts.append(
            found.sort(pl.all(), nulls_last=False).group_by("build", maintain_order=True).head(_SHOWN_FAULTS)
        )
    return pl.concat(parts) if parts else pl.DataFrame()
