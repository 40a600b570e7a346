"""What a person at a terminal sees while work takes longer than a second."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.status import Status

__all__ = ["working"]

_PATIENCE: Final = 1.0
# The kernels of a run take 0.2 s to load from the cache and many seconds to compile.
_COMPILING: Final = 2.0
_COMPILING_TEXT: Final = (
    "compiling the kernels for this machine: the first run only, later ones read them from the cache"
)


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show on the standard error, from the second second on, what is being done; only to a terminal.

    Parameters
    ----------
    text : str
        What is being done, such as ``judging``.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(text, done), name="fastgate-progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _watch(text: str, done: threading.Event) -> None:
    if done.wait(_PATIENCE):
        return
    from rich.console import Console

    with Console(stderr=True, markup=False, highlight=False).status(text) as status:
        if not done.wait(_COMPILING - _PATIENCE):
            _tell_of_compiling(text, done, status)


def _tell_of_compiling(text: str, done: threading.Event, status: Status) -> None:
    told = False
    before = False
    while not done.wait(0.2):
        now = _compiling()
        if now and before and not told:
            status.console.print(_COMPILING_TEXT)
            told = True
        before = now


def _compiling() -> bool:
    """Whether the main thread stands in `fastgate.jit`, where a kernel is compiled or read from the cache."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None:
        if frame.f_globals.get("__name__") == "fastgate.jit":
            return True
        frame = frame.f_back
    return False
