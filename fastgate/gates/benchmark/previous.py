"""The previous release's result: which suites each candidate must not lose."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from fastgate.errors import ArgumentError, DataError, PolicyError
from fastgate.gates.benchmark.result import BenchmarkResult
from fastgate.gates.policy import policy_hash
from fastgate.gates.storage import load

if TYPE_CHECKING:
    from fastgate.gates.benchmark.policy import BenchmarkRules

__all__ = ["Previous", "previous_wins"]


class Previous(NamedTuple):
    """What the previous result says of today's candidates."""

    won: pl.DataFrame
    """candidate, baseline, suite, won_before (true): a row per suite that was won."""
    unmatched: list[str]
    """Candidates that the previous result does not hold."""
    record: dict[str, Any]
    """For the evidence."""


def previous_wins(
    previous: BenchmarkResult | str | PathLike[str],
    rules: BenchmarkRules,
    candidates: Sequence[str],
    previous_candidate: str | None,
) -> Previous:
    """The suites that the previous release won, for each of today's candidates.

    Parameters
    ----------
    previous : BenchmarkResult or path
        A result saved earlier.
    rules : BenchmarkRules
        The policy as applied today.
    candidates : sequence of str
        Today's candidates.
    previous_candidate : str, optional
        The released build in `previous`, with which every candidate is compared. Without it, that is the only
        candidate of `previous`; or, where there are several, the one of the same name.

    Raises
    ------
    ArgumentError
        When `previous_candidate` is not in the previous result.
    PolicyError
        When the previous result was judged by another policy.
    """
    where = "previous result"
    if isinstance(previous, str | PathLike):
        where = str(Path(previous))
        loaded = load(previous)
        if not isinstance(loaded, BenchmarkResult):
            raise DataError(
                "the previous result is another gate's",
                expected="a result of the benchmark gate",
                received=f"a result of the {loaded.gate} gate",
                where=where,
            )
        previous = loaded
    today, then = policy_hash(rules), previous.evidence.get("policy_hash")
    if then != today:
        changed = _differing(previous.policy, rules)
        raise PolicyError(
            "the previous result was judged by another policy, so its wins are not comparable",
            expected=f"policy hash {today[:16]}…",
            received=f"policy hash {str(then)[:16]}…"
            + (f"; they differ in {', '.join(changed)}" if changed else ""),
            where=where,
            hint="judge the previous release's samples again under today's policy and save the result",
        )
    names = list(previous)
    if previous_candidate is not None and previous_candidate not in names:
        raise ArgumentError(
            f"the previous result has no candidate {previous_candidate!r}",
            expected="one of " + ", ".join(names[:20]) + (", …" if len(names) > 20 else ""),
            where=where,
        )
    released = previous_candidate or (names[0] if len(names) == 1 else None)
    won = previous.suites.filter(pl.col("outcome") == "win").select(
        pl.col("candidate", "baseline", "suite").cast(pl.String), won_before=pl.lit(True)
    )
    if released is not None:
        of_release = won.filter(pl.col("candidate") == released).drop("candidate")
        won = pl.DataFrame({"candidate": candidates}, schema={"candidate": pl.String}).join(
            of_release, how="cross"
        )
        unmatched = []
    else:
        unmatched = [name for name in candidates if name not in set(names)]
        won = won.filter(pl.col("candidate").is_in(list(candidates)))
    record = {
        "policy_hash": then,
        "candidate": released,
        "input": previous.evidence.get("input"),
        "fastgate": previous.evidence.get("fastgate"),
    }
    return Previous(won.select("candidate", "baseline", "suite", "won_before"), unmatched, record)


def _differing(before: dict[str, Any], rules: BenchmarkRules) -> list[str]:
    from fastgate.gates.policy import to_dict

    now = to_dict(rules)
    skipped = {"name", "tenant", "confidence_level", "power"}
    return sorted(key for key in {*before, *now} - skipped if before.get(key) != now.get(key))
