"""From whatever happens in a command to an exit code and a message: no traceback, and never 1 by accident."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Final

import click

from fastgate.cli import streams
from fastgate.errors import FastgateError

__all__ = ["BAD_INPUT", "INTERNAL", "INTERRUPTED", "guarded"]

BAD_INPUT: Final = 2
INTERNAL: Final = 70  # EX_SOFTWARE of sysexits.h
INTERRUPTED: Final = 130  # as shells report a process that SIGINT ended


def guarded(app: click.Command, arguments: Sequence[str] | None) -> int:
    """Run a command.

    Parameters
    ----------
    app : click.Command
        A command returns its exit code, or None for 0.
    arguments : sequence of str, optional
        The process's own unless given.

    Returns
    -------
    int
        The command's code; 2 after an error of usage or input, 130 after an interruption, 70 after any
        other exception, each with its message on the standard error.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A name that the terminal cannot show must not end the command.
            stream.reconfigure(errors="backslashreplace")
    _end_in_order()
    try:
        code = app.main(
            None if arguments is None else list(arguments), prog_name="fastgate", standalone_mode=False
        )
        if sys.stdout is not None:
            sys.stdout.flush()
        return int(code or 0)
    except click.UsageError as error:
        error.show()
    except click.ClickException as error:
        _tell(f"error: {error.format_message()}")
    except FastgateError as error:
        _tell(f"error: {error}")
        _trace(error)
    except _Ended as error:
        _tell(f"ended by {signal.Signals(error.number).name}")
        return 128 + error.number
    except (click.Abort, KeyboardInterrupt):
        _tell("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        streams.leave()
        return 0
    except SystemExit as error:
        # No command exits by itself. Click does, with 1, when the reader of its help has gone.
        streams.leave()
        return error.code if isinstance(error.code, int) and error.code != 1 else 0
    except BaseException as error:  # also a panic of Polars, which is no Exception
        _internal(error)
        return INTERNAL
    return BAD_INPUT


class _Ended(BaseException):
    """A signal that asks the process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _end_in_order() -> None:
    """Let SIGTERM and SIGHUP, which a cancelled job gets, end a command as Ctrl-C does: nothing temporary is left."""

    def end(number: int, frame: object) -> None:
        raise _Ended(number)

    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, end)


def _tell(text: str) -> None:
    from fastgate.reports.words import printable

    with contextlib.suppress(OSError):  # nobody may listen; the exit code still speaks
        click.echo(printable(text), err=True)


def _internal(error: BaseException) -> None:
    detail = " ".join(str(error).split())[:300]
    _tell(f"internal error: {type(error).__name__}" + (f": {detail}" if detail else ""))
    if not _trace(error):
        _tell(
            "  This is a fault of fastgate or its installation, and no verdict. Please report it to fastgate's\n"
            "  maintainers, with the command and what it prints when FASTGATE_DEBUG=1 is set (a traceback)."
        )


def _trace(error: BaseException) -> bool:
    if not os.environ.get("FASTGATE_DEBUG"):
        return False
    import traceback

    _tell("".join(traceback.format_exception(error)))
    return True
