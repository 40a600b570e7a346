"""Splits a range of cells over a thread pool, and works ahead: the only parallelism of fastgate.

Kernels release the GIL and each cell is computed by one thread in a fixed order, so results have the same
bits on any number of threads. The pool survives a fork (each process makes its own) and concurrent callers.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from fastgate.errors import ArgumentError

__all__ = ["ahead", "run", "thread_count"]

T = TypeVar("T")

# Work (in units of about a nanosecond) below which handing over to another thread costs more than it saves:
# a submit and a wake-up take about 50 µs.
_SERIAL_WORK = 200_000
# Several ranges a thread, so that one slow core does not keep the others waiting.
_RANGES_PER_THREAD = 4

_lock = threading.Lock()
_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}


def thread_count() -> int:
    """Threads in use: ``FASTGATE_NUM_THREADS`` where set, else the cores this process may run on."""
    text = os.environ.get("FASTGATE_NUM_THREADS", "").strip()
    if not text:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentError(
            "the number of threads is not usable",
            expected="a whole number of 1 or more",
            received=repr(text),
            where="environment variable FASTGATE_NUM_THREADS",
        )
    return int(text)


def _pool(workers: int) -> ThreadPoolExecutor:
    key = (os.getpid(), workers)
    with _lock:
        if key not in _pools:
            _pools[key] = ThreadPoolExecutor(workers, thread_name_prefix="fastgate")
        return _pools[key]


def _forget_pools() -> None:
    global _lock
    _lock = threading.Lock()  # another thread of the parent may have held the old one while forking
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pools)


def run(
    kernel: Callable[..., Any], n_cells: int, *arguments: Any, work: float | np.ndarray[Any, Any] = 100.0
) -> None:
    """Call ``kernel(start, stop, *arguments)`` over ranges that together cover ``0 … n_cells``.

    Parameters
    ----------
    kernel : callable
        Releases the GIL, writes its results into some of `arguments`, touches only the cells
        ``start … stop - 1``.
    n_cells : int
        The number of cells.
    *arguments
        Passed on as they are.
    work : float or ndarray of shape (n_cells + 1,), optional
        About how many nanoseconds a cell takes; or, for ragged cells, a non-decreasing running total (the
        cells' offsets, at about a nanosecond a value), by which ranges of equal work are cut.
    """
    if n_cells == 0:
        return
    total = float(work[-1] - work[0]) + 20.0 * n_cells if isinstance(work, np.ndarray) else work * n_cells
    workers = thread_count()
    if workers == 1 or n_cells == 1 or total < _SERIAL_WORK:
        kernel(0, n_cells, *arguments)
        return
    pieces = min(workers * _RANGES_PER_THREAD, n_cells)
    if isinstance(work, np.ndarray):
        targets = np.linspace(float(work[0]), float(work[-1]), pieces + 1)
        cuts = np.searchsorted(work, targets[1:-1])
    else:
        cuts = np.linspace(0, n_cells, pieces + 1).astype(np.int64)[1:-1]
    bounds = np.unique(np.concatenate(([0], np.clip(cuts, 0, n_cells), [n_cells]))).tolist()
    pool = _pool(workers)
    futures = [pool.submit(kernel, start, stop, *arguments) for start, stop in pairwise(bounds)]
    for future in futures:
        future.result()


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The items, each made in a thread of its own while the one before it is worked on.

    Parameters
    ----------
    items : iterator
        Used by no one else. One item lies ready at most; on one thread (see `thread_count`) none.

    Raises
    ------
    BaseException
        Whatever `items` raises, where its item would come.

    Examples
    --------
    >>> list(ahead(iter(range(4))))
    [0, 1, 2, 3]
    """
    if thread_count() == 1:
        yield from items
        return
    end: Any = object()
    with ThreadPoolExecutor(1, thread_name_prefix="fastgate-ahead") as worker:
        coming = worker.submit(next, items, end)
        try:
            while (item := coming.result()) is not end:
                coming = worker.submit(next, items, end)
                yield item
        finally:
            # Whoever stops listening: the item that is being made is finished, and then the source is closed.
            coming.exception()
            if hasattr(items, "close"):
                items.close()
