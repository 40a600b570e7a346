"""The words of a verdict, their order of severity, and the exit codes they become."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy.typing as npt
import polars as pl

from fastgate.kernels import status as kernel_status
from fastgate.stats.bootstrap_arrays import ENGINE_NAMES

__all__ = [
    "DIRECTIONS",
    "EXIT_CODES",
    "OUTCOMES",
    "ROLES",
    "SIGNALS",
    "STATUSES",
    "VERDICTS",
    "exit_code",
    "named",
    "worst",
]

# From the best to the worst: a set of candidates is as good as its worst member.
VERDICTS: Final = ("pass", "review", "refused", "block")
OUTCOMES: Final = ("win", "loss", "tie", "undefined")
DIRECTIONS: Final = ("higher", "lower")
GUARDS: Final = ("holds", "worse", "not_shown", "undefined")
ROLES: Final = ("decides", "guard", "shown")
STATUSES: Final = (*kernel_status.NAMES, "missing_cell")
SIGNALS: Final = ("no_signal", "improvement", "regression", "undefined")

Verdict: Final = pl.Enum(VERDICTS)
Outcome: Final = pl.Enum(OUTCOMES)
Direction: Final = pl.Enum(DIRECTIONS)
Role: Final = pl.Enum(ROLES)
Status: Final = pl.Enum(STATUSES)
Guard: Final = pl.Enum(GUARDS)
Signal: Final = pl.Enum(SIGNALS)
Engine: Final = pl.Enum(ENGINE_NAMES)

EXIT_CODES: Final = {"pass": 0, "block": 1, "review": 3, "refused": 4}


def named(names: Sequence[str], codes: npt.NDArray[Any]) -> pl.Series:
    """The names that codes stand for, as an Enum column.

    Examples
    --------
    >>> import numpy as np
    >>> import numpy as np
    >>> named(["a", "b"], np.array([1, 0, 1])).to_list()
    ['b', 'a', 'b']
    """
    return pl.Series(names, dtype=pl.Enum(names)).gather(codes)


def worst(verdicts: Iterable[str]) -> str:
    """The worst of some verdicts; ``refused`` when there is none, since nothing was judged.

    Examples
    --------
    >>> worst(["pass", "review", "pass"]), worst([])
    ('review', 'refused')
    """
    return max(verdicts, key=VERDICTS.index, default="refused")


def exit_code(verdict: str, *, review_ok: bool = False) -> int:
    """The exit code of a verdict: 0 pass, 1 block, 3 review (0 with `review_ok`), 4 refused.

    Examples
    --------
    >>> exit_code("review"), exit_code("review", review_ok=True), exit_code("block", review_ok=True)
    (3, 0, 1)
    """
    return 0 if review_ok and verdict == "review" else EXIT_CODES[verdict]
