"""Each gate's own reports, found by the gate's name: every one has the same four."""

from __future__ import annotations

from importlib import import_module
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastgate.reports.overview import Judged

__all__ = ["explain", "explanation_report", "junit", "markdown", "report"]


def _own(result: Judged, part: str) -> Any:
    return import_module(f"fastgate.reports.{result.gate}.{part}")


def report(result: Judged, stream: IO[str], *, saved: str | None = None) -> str:
    """The result for people, as text for `stream`; `saved` is where `fastgate explain` will find it."""
    text: str = _own(result, "terminal").report(result, stream, saved=saved)
    return text


def markdown(result: Judged) -> str:
    """The result as one Markdown comment."""
    text: str = _own(result, "markdown").markdown(result)
    return text


def junit(result: Judged) -> bytes:
    """The result as JUnit XML."""
    data: bytes = _own(result, "junit").junit(result)
    return data


def explain(result: Judged, candidate: str) -> dict[str, Any]:
    """Why one candidate got its verdict, as plain data.

    Raises
    ------
    ArgumentError
        When the result has no such candidate.
    """
    found: dict[str, Any] = _own(result, "explanation").explain(result, candidate)
    return found


def explanation_report(result: Judged, explanation: dict[str, Any], stream: IO[str]) -> str:
    """An explanation, as `explain` returns it, as text for `stream`."""
    text: str = _own(result, "explanation").explanation_report(result, explanation, stream)
    return text
