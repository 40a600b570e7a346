"""Names of candidates, baselines, suites and the like, as calls and messages have them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fastgate.errors import ArgumentError, DataError
from fastgate.gates.schema import nearest

__all__ = ["chosen_candidates", "some"]


def some(names: Sequence[str]) -> str:
    """The first ten names, and how many there are if there are more."""
    return ", ".join(names[:10]) + (f", … ({len(names)} in all)" if len(names) > 10 else "")


def chosen_candidates(found: Sequence[str], baselines: Sequence[str], wanted: Any, column: str) -> list[str]:
    """The candidates to judge.

    Parameters
    ----------
    found : sequence of str
        The builds that may be candidates.
    baselines : sequence of str
        Those that are not.
    wanted : sequence of str or int, or one of them, optional
        What the caller asks for; all that are found unless given.
    column : str
        Where the builds stand, for messages.

    Returns
    -------
    list of str
        Each once, in the order asked for.

    Raises
    ------
    DataError
        When there is no candidate at all.
    ArgumentError
        When one that is asked for is not there or is a baseline, or none is asked for.
    """
    if wanted is None:
        if not found:
            raise DataError(
                "there is no candidate to judge",
                expected="a build that is no baseline",
                received=some(baselines),
                where=f"column {column!r}",
            )
        return list(found)
    if isinstance(wanted, str) or not isinstance(wanted, Iterable):
        wanted = [wanted]
    wanted = [str(name) if isinstance(name, int) else name for name in wanted]  # builds numbered by integers
    for name in wanted:
        if not isinstance(name, str):
            raise ArgumentError("a candidate's name is a text", expected="str", received=repr(name))
    known = set(found)
    for name in wanted:
        if name not in known:
            similar = nearest(name, found)
            raise ArgumentError(
                f"{name!r} is a baseline, no candidate"
                if name in baselines
                else f"there is no candidate {name!r}",
                expected=some(found) or "a build that is no baseline",
                hint=f"did you mean {similar!r}?" if similar else None,
            )
    if not wanted:
        raise ArgumentError(
            "no candidate is named", expected="one at least, or None for all", received="none"
        )
    return list(dict.fromkeys(wanted))
