"""Choices of primary and perturbed runs: as codes, un-swapped, and compared probe by probe."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fastgate import threads
from fastgate.errors import ArgumentError
from fastgate.kernels.choices import ABSENT, ABSTAIN, FIRST, NAMES, SECOND, TIE
from fastgate.stats.arguments import check_length

__all__ = ["Comparison", "choice_codes", "compare", "compare_arrays", "outcome_codes"]

Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]

LETTERS: Final = ("raw", "unswapped")
OUTCOMES: Final = {
    "left": FIRST,
    "right": SECOND,
    "tie": TIE,
    "abstain": ABSTAIN,
    "A": FIRST,
    "B": SECOND,
    None: ABSENT,
}
_NO_CODES = np.empty(0, np.int8)
_NO_REASONS = np.empty(0, np.int64)


class Comparison(NamedTuple):
    """Probes after un-swapping, each array of int8 and shape (n_probes,)."""

    match: Codes
    """1 the same choice, 0 another, -1 a run is missing, -2 a choice of unknown code."""
    primary: Codes
    """Choice of the primary run: 0 A, 1 B, 2 tie, 3 abstain, -1 missing."""
    probe: Codes
    """Choice of the probe, in the primary's terms."""


def choice_codes(choices: Any, name: str = "choices") -> Codes:
    """The codes of choices: 0 for "A", 1 for "B", 2 for "tie", 3 for "abstain", -1 for None or NaN.

    Parameters
    ----------
    choices : array_like of str or of such codes, shape (n,)
    name : str, optional
        The argument's name, for messages.

    Returns
    -------
    ndarray of int8, shape (n,)

    Raises
    ------
    ArgumentError
        For any other word or code.

    Examples
    --------
    >>> choice_codes(["A", "B", None, "abstain"]).tolist()
    [0, 1, -1, 3]
    """
    array = np.asarray(choices)
    if array.ndim != 1:
        raise ArgumentError(
            f"{name} has the wrong number of dimensions",
            expected="one",
            received=str(array.ndim),
            where=f"argument {name}",
        )
    if array.dtype.kind in "iu":
        wrong = (array < ABSENT) | (array > ABSTAIN)
        found = array.astype(np.int8)
    else:
        known: dict[Any, int] = {word: code for code, word in enumerate(NAMES)}
        values = array.tolist()
        numbers = [known.get(x, ABSENT if x is None or x != x else ABSENT - 1) for x in values]
        found = np.array(numbers, np.int8)
        wrong = found < ABSENT
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ArgumentError(
            "a choice is not known",
            expected=f"{', '.join(repr(word) for word in NAMES)} or None (their codes are 0 to 3 and -1)",
            received=repr(array[row].item() if isinstance(array[row], np.generic) else array[row]),
            where=f"argument {name}, element {row}",
        )
    return np.ascontiguousarray(found)


def outcome_codes(outcome: Any) -> Codes:
    """The codes of preferences' outcomes: 0 left, 1 right, 2 tie, 3 abstain, -1 none.

    Parameters
    ----------
    outcome : array_like, shape (n,)
        Words "left" (or "A"), "right" (or "B"), "tie", "abstain", None; or numbers, the left alternative's
        share of the win: 1, 0, ½, or NaN for none.

    Returns
    -------
    ndarray of int8, shape (n,)

    Raises
    ------
    ArgumentError
        For any other word or number.

    Examples
    --------
    >>> outcome_codes(["left", "tie", None]).tolist(), outcome_codes([1, 0, 0.5]).tolist()
    ([0, 2, -1], [0, 1, 2])
    """
    array = np.asarray(outcome)
    if array.ndim != 1:
        raise ArgumentError(
            "outcome has the wrong number of dimensions",
            expected="one",
            received=str(array.ndim),
            where="argument outcome",
        )
    found = np.full(array.size, ABSENT - 1, np.int8)
    if array.dtype.kind in "fiub":
        found[array == 1] = FIRST
        found[array == 0] = SECOND
        found[array == 0.5] = TIE
        found[np.isnan(array)] = ABSENT
    else:
        unknown = ABSENT - 1
        found[:] = [OUTCOMES.get(x, unknown) if x == x else ABSENT for x in array.tolist()]
    if (found < ABSENT).any():
        row = int(np.argmax(found < ABSENT))
        raise ArgumentError(
            "an outcome is not known",
            expected="'left', 'right', 'tie', 'abstain' or None; or 1, 0, 0.5 or NaN",
            received=repr(array[row].item() if isinstance(array[row], np.generic) else array[row]),
            where=f"argument outcome, element {row}",
        )
    return found


def _reason_codes(primary: Any, probe: Any) -> tuple[Integers, Integers]:
    """Reason classes of both sides in one numbering, -1 where not known."""
    numbering: dict[Any, int] = {}
    columns = []
    for reasons in (primary, probe):
        array = np.asarray(reasons)
        if array.dtype.kind in "iu":
            columns.append(np.ascontiguousarray(array, np.int64))
            continue
        values = array.tolist()
        numbers = [-1 if x is None or x != x else numbering.setdefault(x, len(numbering)) for x in values]
        columns.append(np.array(numbers, np.int64))
    return columns[0], columns[1]


def compare_arrays(
    primary: Codes,
    probe: Codes,
    *,
    primary_reason: Integers = _NO_REASONS,
    probe_reason: Integers = _NO_REASONS,
    primary_swapped: Codes = _NO_CODES,
    probe_swapped: Codes = _NO_CODES,
) -> Comparison:
    """Un-swap and compare probes, without checks.

    Parameters
    ----------
    primary, probe : ndarray of int8, shape (n_probes,)
        Choices as `choice_codes` numbers them; a code outside -1 … 3 makes the probe's `match` -2.
    primary_reason, probe_reason : ndarray of int64, shape (n_probes,), optional
        Reason classes of abstentions in one numbering from 0 on, negative where not known. Empty: none is.
    primary_swapped, probe_swapped : ndarray of int8, shape (n_probes,), optional
        1 where A and B of a run have to trade places. Empty: nowhere.

    Returns
    -------
    Comparison
    """
    from fastgate.kernels.agreement import compare

    out = [np.empty(primary.size, np.int8) for _ in range(3)]
    reasons = (primary_reason, probe_reason)
    swaps = (primary_swapped, probe_swapped)
    threads.run(compare, primary.size, primary, probe, *reasons, *swaps, *out, work=4.0)
    return Comparison(out[2], out[0], out[1])


def _swap_flags(flags: Any, name: str, size: int) -> Codes:
    if flags is None:
        return _NO_CODES
    array = np.asarray(flags)
    if array.dtype.kind not in "b" and not (array.dtype.kind in "iu" and np.isin(array, (0, 1)).all()):
        raise ArgumentError(
            f"{name} does not hold flags",
            expected="True where the run showed the alternatives in swapped order",
            received=str(array.dtype),
            where=f"argument {name}",
            hint="fill null flags first: False where the order was not swapped",
        )
    check_length(array.size, size, name, "primary")
    return np.ascontiguousarray(array.reshape(-1), np.int8)


def compare(
    primary: Any,
    probe: Any,
    primary_reason: Any,
    probe_reason: Any,
    primary_swapped: Any,
    probe_swapped: Any,
    letters: str | None,
) -> tuple[Comparison, Integers, Integers]:
    """Check and compare what callers of `agreement` and `stability_flags` pass; with the reasons' codes."""
    first, second = choice_codes(primary, "primary"), choice_codes(probe, "probe")
    check_length(second.size, first.size, "probe", "primary")
    reasons = (_NO_REASONS, _NO_REASONS)
    if (primary_reason is None) != (probe_reason is None):
        raise ArgumentError(
            "reasons are given for one side only",
            expected="both primary_reason and probe_reason, or neither",
            received="primary_reason" if probe_reason is None else "probe_reason",
        )
    if primary_reason is not None:
        reasons = _reason_codes(primary_reason, probe_reason)
        for column, name in zip(reasons, ("primary_reason", "probe_reason"), strict=True):
            check_length(column.size, first.size, name, "primary")
    swapped = primary_swapped is not None or probe_swapped is not None
    known = letters is None or letters in LETTERS
    if not known or (letters is None and swapped) or (letters == "raw" and not swapped):
        raise ArgumentError(
            "it is not clear which letters have to trade places",
            expected="letters='raw' with flags (primary_swapped, probe_swapped) where choices are the letters "
            "as shown in swapped order; letters='unswapped' where that is undone already; neither where no "
            "order was swapped",
            received=f"letters={letters!r}, {'with' if swapped else 'without'} flags",
            where="argument letters",
        )
    flags = (_NO_CODES, _NO_CODES)
    if letters == "raw":
        flags = (
            _swap_flags(primary_swapped, "primary_swapped", first.size),
            _swap_flags(probe_swapped, "probe_swapped", first.size),
        )
    compared = compare_arrays(
        first,
        second,
        primary_reason=reasons[0],
        probe_reason=reasons[1],
        primary_swapped=flags[0],
        probe_swapped=flags[1],
    )
    return compared, *reasons
