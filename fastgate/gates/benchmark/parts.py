"""The tables of a sweep in parts, each of some candidates, as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate.gates.verdict import named

__all__ = ["Tables", "joined"]

Tables = dict[str, pl.DataFrame]


def joined(parts: Mapping[str, Sequence[pl.DataFrame]], candidates: Sequence[str]) -> Tables:
    """The tables of several parts as one each, in the order of `candidates`.

    Parameters
    ----------
    parts : mapping of str to sequence of DataFrame
        For each of some tables of a result that of each part.
    candidates : sequence of str
        Those of all parts.
    """
    return {
        name: _faults(frames) if name == "faults" else _in_order(frames, candidates)
        for name, frames in parts.items()
    }


def _faults(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The faults of several parts: one of a baseline is found again with every part."""
    if len(frames) == 1:
        return frames[0]
    faults = pl.concat(frames).unique()
    return faults.sort(faults.columns)


def _in_order(frames: Sequence[pl.DataFrame], candidates: Sequence[str]) -> pl.DataFrame:
    """The rows of several tables in the order of `candidates`."""
    if len(frames) == 1:
        return frames[0]
    place = {name: number for number, name in enumerate(candidates)}
    # Categories of many candidates take 5 ms to make: once, not for each part.
    codes = np.concatenate([_places(frame["candidate"], place) for frame in frames])
    rest = pl.concat([frame.drop("candidate") for frame in frames])
    table = rest.insert_column(0, named(candidates, codes).alias("candidate"))
    return table if np.all(codes[1:] >= codes[:-1]) else table[np.argsort(codes, kind="stable")]


def _places(column: pl.Series, place: Mapping[str, int]) -> npt.NDArray[np.int64]:
    """The places of the candidates in a column of some of them."""
    names = column.dtype.categories.to_list()  # type: ignore[attr-defined]
    places = np.array([place[name] for name in names], np.int64)
    return np.take(places, column.to_physical().to_numpy())
