"""The errors a caller can meet; each says what was expected, what came, where, and what to do."""

from __future__ import annotations

__all__ = ["ArgumentError", "DataError", "FastgateError", "PolicyError"]


class FastgateError(Exception):
    """Base of every error that fastgate raises on purpose (exit code 2 on the command line).

    Parameters
    ----------
    problem : str
        What is wrong, in one sentence.
    expected, received, where, hint : str, optional
        What would have been right, what came instead, the place (file, table, column, cell), and
        what to do next. Those given become lines of the message.

    Examples
    --------
    >>> print(DataError("a column is missing", expected="value", received="build, suite, score",
    ...                 where="runs.csv", hint="map it: columns={'value': 'score'}"))
    a column is missing
      expected: value
      received: build, suite, score
      where:    runs.csv
      hint:     map it: columns={'value': 'score'}
    """

    def __init__(
        self,
        problem: str,
        *,
        expected: str | None = None,
        received: str | None = None,
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.problem = problem
        self.expected = expected
        self.received = received
        self.where = where
        self.hint = hint
        super().__init__(problem)

    def __str__(self) -> str:
        details = {
            "expected:": self.expected,
            "received:": self.received,
            "where:": self.where,
            "hint:": self.hint,
        }
        lines = [f"  {label:<9} {text}" for label, text in details.items() if text is not None]
        return "\n".join([self.problem, *lines])


class ArgumentError(FastgateError, ValueError):
    """An argument of a call is outside its domain."""


class DataError(FastgateError, ValueError):
    """A file, frame or column cannot be read as what it is given for."""


class PolicyError(FastgateError, ValueError):
    """A policy, or its combination with the data or a tenant, cannot be used."""
