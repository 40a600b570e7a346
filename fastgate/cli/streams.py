"""The standard output: whole texts, for readers that may stop reading."""

from __future__ import annotations

import io
import os
import sys
from typing import IO

from fastgate.errors import DataError

__all__ = ["leave", "output", "write"]


def output() -> IO[str]:
    """The standard output, for its width and encoding; another file where the caller has closed it."""
    return sys.stdout or io.StringIO()


def write(text: str) -> None:
    """Write a text to the standard output.

    A reader that has gone (``| head``) ends the output and not the command: the exit code is the verdict's.

    Raises
    ------
    DataError
        When the output cannot be written for another reason, such as a full disk.
    """
    if sys.stdout is None:  # closed by the caller
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        leave()
    except OSError as error:
        leave()
        raise DataError(
            "the standard output cannot be written", received=error.strerror or str(error)
        ) from None


def leave() -> None:
    """Point the standard output at nothing, so that closing it at exit fails no more."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = None
    finally:
        os.close(nothing)
