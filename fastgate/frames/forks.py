"""Whether this process can run Polars: not after a fork of one that did, since its threads stay with the parent."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from fastgate.errors import DataError

__all__ = ["require_working_process"]

# Linux lists a process's threads. Importing Polars starts one, polars-ooc-…, which a fork can do without.
_THREADS = Path("/proc/self/task")
_WORKER = re.compile(r"polars-\d|async-executor")

# "used": this process has, as far as is known, started Polars' threads; "lost": a process it was forked from had.
_state = {"used": False, "lost": False}


def _look_for_workers() -> None:
    """Before a fork: note whether anybody, fastgate or its caller, has started Polars' threads."""
    if _state["used"]:
        return
    # Without such a list (macOS), what went through fastgate is known all the same.
    for task in _THREADS.iterdir() if _THREADS.is_dir() else ():
        with suppress(OSError):  # a thread that has just ended
            if _WORKER.match((task / "comm").read_text()):
                _state["used"] = True
                return


def _count_losses() -> None:
    _state["lost"] = _state["lost"] or _state["used"]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_look_for_workers, after_in_child=_count_losses)


def require_working_process() -> None:
    """Refuse to work where Polars would wait forever: in a fork of a process that had used it.

    Call it before anything that runs Polars.

    Raises
    ------
    DataError
        When this process was forked after Polars had been used.
    """
    if _state["lost"]:
        raise DataError(
            "this process was forked after Polars had been used, and Polars does not work after that",
            expected='a process of its own: multiprocessing.get_context("spawn") or ("forkserver")',
            received=f"process {os.getpid()}, a fork without the threads that Polars had in its parent",
            where="fastgate's intake of data",
            hint='start processes with "spawn" or "forkserver", or fork before the first gate, frame or query '
            "and call gates only in the parent or only in its children; fastgate.stats works after a fork",
        )
    _state["used"] = True
