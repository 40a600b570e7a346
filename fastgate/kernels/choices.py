"""The codes of a choice between two alternatives, one a probe or a preference."""

from __future__ import annotations

from typing import Final

__all__ = ["ABSENT", "ABSTAIN", "FIRST", "NAMES", "SECOND", "TIE"]

ABSENT: Final = -1
"""The run did not happen or gave no answer."""
FIRST: Final = 0
"""The alternative called A, or left."""
SECOND: Final = 1
"""The alternative called B, or right."""
TIE: Final = 2
ABSTAIN: Final = 3

NAMES: Final = ("A", "B", "tie", "abstain")
"""The names of the codes from 0 on."""
