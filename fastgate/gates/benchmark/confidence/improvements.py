"""Improvements as a user states them: ``0.02``, ``0.5sd``, ``auc=0.01,cost=0.2sd``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from fastgate.errors import ArgumentError
from fastgate.gates.schema import nearest

__all__ = ["Gain", "Improvement", "improvement"]

_UNIT = "sd"


class Gain(NamedTuple):
    """By how much a KPI is better."""

    size: float
    """Above 0, whichever direction is better."""
    standardised: bool
    """In standard deviations of the values over the cases, not in the KPI's unit."""


class Improvement(NamedTuple):
    """By how much a candidate is made better."""

    text: str
    """As it was stated."""
    gains: dict[str, Gain]
    """Of the KPIs that are better; the others stay as they are."""


def improvement(text: str, kpis: Sequence[str]) -> Improvement:
    """What a text states.

    Parameters
    ----------
    text : str
        A number in the KPIs' unit, or with ``sd`` behind it in standard deviations, of every deciding KPI; or
        ``KPI=NUMBER`` of some, separated by commas.
    kpis : sequence of str
        Those that decide.

    Raises
    ------
    ArgumentError
        When it is neither, a number is not above 0, or a KPI decides nothing.

    Examples
    --------
    >>> improvement("0.5sd", ["auc", "cost"]).gains["cost"]
    Gain(size=0.5, standardised=True)
    >>> improvement("auc=0.01", ["auc", "cost"]).gains
    {'auc': Gain(size=0.01, standardised=False)}
    """
    text = text.strip()
    gains: dict[str, Gain] = {}
    for part in text.split(","):
        # A KPI's name may hold an equals sign; a number does not.
        kpi, equals, number = part.strip().rpartition("=")
        gain = _gain(number, text)
        if not equals:
            if "," in text:
                raise _unreadable(text, "a number for all KPIs beside others")
            return Improvement(text, dict.fromkeys(kpis, gain))
        if kpi not in kpis:
            similar = nearest(kpi, list(kpis))
            raise ArgumentError(
                f"an improvement is stated of {kpi!r}, which decides no suite",
                expected=f"one of {', '.join(kpis)}",
                received=text,
                where="improvement",
                hint=None if similar is None else f"did you mean {similar!r}?",
            )
        if kpi in gains:
            raise _unreadable(text, f"{kpi!r} twice")
        gains[kpi] = gain
    return Improvement(text, gains)


def _gain(number: str, text: str) -> Gain:
    stripped = number.strip()
    standardised = stripped.endswith(_UNIT)
    try:
        size = float(stripped.removesuffix(_UNIT))
    except ValueError:
        raise _unreadable(text, repr(number)) from None
    if not (size > 0 and math.isfinite(size)):
        raise _unreadable(text, f"{number.strip()}, which is no gain")
    return Gain(size, standardised)


def _unreadable(text: str, received: str) -> ArgumentError:
    return ArgumentError(
        f"the improvement {text!r} cannot be read",
        expected="a number above 0 in the KPIs' unit (0.02), in standard deviations (0.5sd), or of single KPIs "
        "(auc=0.01,cost=0.2sd)",
        received=received,
        where="improvement",
        hint="whichever direction is better, an improvement is above 0",
    )
