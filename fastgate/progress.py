"""What long work says of itself while it runs: how far it is, to whoever listens."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

__all__ = ["Listener", "Step", "unheard"]


class Step(NamedTuple):
    """How far one stage of some work is."""

    stage: str
    """What is being done, in a word or two: ``reading``, ``judging``."""
    done: int
    """How much of it is done; never less than in the step before of the same stage."""
    total: int | None
    """How much there is to do; None where that is not known."""
    unit: str
    """What is counted, in the plural: ``rows``, ``candidates``."""


Listener = Callable[[Step], None]
"""Told of each step, in the thread that works, and so quickly."""


def unheard(step: Step) -> None:
    """A listener that does nothing."""
