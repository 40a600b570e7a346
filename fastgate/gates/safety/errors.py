"""The errors by which a single comparison is refused; a sweep refuses the candidate instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fastgate.errors import FastgateError

if TYPE_CHECKING:
    from fastgate.gates.safety.comparability import Difference

__all__ = ["LitmusIncomparableError", "LitmusNoiseFloorError"]


class LitmusIncomparableError(FastgateError, ValueError):
    """Two runs may not be compared.

    Attributes
    ----------
    differences : tuple of Difference
        Every comparability field that differs or is missing, with both values.
    """

    def __init__(
        self,
        problem: str,
        *,
        differences: Sequence[Difference] = (),
        expected: str | None = None,
        received: str | None = None,
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(problem, expected=expected, received=received, where=where, hint=hint)
        self.differences = tuple(differences)


class LitmusNoiseFloorError(FastgateError, ValueError):
    """There is no usable noise floor: no outcomes, or a method whose width is zero at the observed rate."""
