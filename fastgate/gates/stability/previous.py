"""The previous release's result: the agreement of each kind, below which today's may not fall far."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from fastgate.errors import ArgumentError, DataError
from fastgate.gates.stability.result import StabilityResult

__all__ = ["Previous", "previous_agreement"]

_UNUSABLE = [
    "no_probes",
    "no_primary",
    "duplicate_probe",
    "unknown_choice",
    "unknown_order",
    "self_comparison",
]


class Previous(NamedTuple):
    """What the previous result says of today's builds."""

    counts: pl.DataFrame
    """build (today's name), kind, previous_n, previous_agree: a row per kind whose counts can be trusted."""
    unmatched: list[str]
    """Builds that the previous result does not hold."""
    record: dict[str, Any]
    """For the evidence."""


def previous_agreement(
    previous: StabilityResult | str | PathLike[str], builds: Sequence[str], previous_candidate: str | None
) -> Previous:
    """The previous release's agreement, for each of today's builds.

    What counts as agreement does not depend on thresholds, so a result judged by another policy can be compared.

    Parameters
    ----------
    previous : StabilityResult or path
        A result saved earlier.
    builds : sequence of str
        Today's.
    previous_candidate : str, optional
        The released build in `previous`, with which every build is compared. Without it, that is the only build of
        `previous`; or, where there are several, the one of the same name.

    Raises
    ------
    ArgumentError
        When `previous_candidate` is not in the previous result.
    DataError
        When `previous` is the result of another gate, or cannot be read.
    """
    where = "previous result"
    if isinstance(previous, str | PathLike):
        from fastgate.gates.storage import load

        where = str(Path(previous))
        loaded: Any = load(previous)
    else:
        loaded = previous
    if not isinstance(loaded, StabilityResult):
        raise DataError(
            "the previous result is none of the stability gate",
            expected="a StabilityResult, or the path of one that was saved",
            received=f"a result of the {loaded.gate} gate"
            if hasattr(loaded, "gate")
            else type(loaded).__name__,
            where=where,
        )
    names = list(loaded)
    if previous_candidate is not None and previous_candidate not in names:
        raise ArgumentError(
            f"the previous result has no build {previous_candidate!r}",
            expected="one of " + ", ".join(names[:20]) + (", …" if len(names) > 20 else ""),
            where=where,
        )
    released = previous_candidate or (names[0] if len(names) == 1 else None)
    usable = (
        (pl.col("n") > 0)
        & pl.col("agreement").is_finite()
        & (pl.col("reasons").list.set_intersection(_UNUSABLE).list.len() == 0)
    )
    counts = loaded.kinds.filter(usable).select(
        pl.col("build", "kind").cast(pl.String), previous_n="n", previous_agree="agree"
    )
    if released is not None:
        of_release = counts.filter(pl.col("build") == released).drop("build")
        counts = pl.DataFrame({"build": list(builds)}, schema={"build": pl.String}).join(
            of_release, how="cross"
        )
        unmatched = []
    else:
        unmatched = [name for name in builds if name not in set(names)]
    record = {
        "policy_hash": loaded.evidence.get("policy_hash"),
        "build": released,
        "input": loaded.evidence.get("input"),
        "fastgate": loaded.evidence.get("fastgate"),
    }
    return Previous(counts, unmatched, record)
