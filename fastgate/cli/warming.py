"""Every kernel compiled once, in several processes, and kept in numba's cache."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from fastgate.errors import DataError
from fastgate.progress import Listener, Step, unheard

__all__ = ["Warm", "warm"]

# A process takes about 300 MB.
_MOST_PROCESSES = 8
_CACHED = (".nbi", ".nbc")


class Warm(NamedTuple):
    """What the cache holds, and what it took."""

    folder: str
    """Where it lies."""
    kernels: int
    """How many it holds."""
    compiled: int
    """How many of them were compiled just now; the others were there already."""
    seconds: float
    """How long that took."""
    bytes: int
    """How large it is."""


class _Made(NamedTuple):
    """What one process found or compiled of some modules."""

    kernels: int
    folder: str | None
    """None where a kernel could not be kept."""
    fresh: list[str]


def warm(modules: Sequence[str] | None = None, listener: Listener = unheard) -> Warm:
    """Compile the kernels that numba's cache does not hold yet.

    numba's cache takes no care of two processes that compile the same function at the same time, so each process
    here has a folder of its own, and what it made of the kernels goes to the cache at the end. Helpers are part of
    the kernels that call them and are left out.

    Parameters
    ----------
    modules : sequence of str, optional
        Of `fastgate.kernels`; all unless given.
    listener : callable, optional
        Told how many kernels are ready.

    Raises
    ------
    DataError
        When numba finds no folder that it may write to, or not the one that NUMBA_CACHE_DIR names, or there is no
        room left.
    """
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    from fastgate.kernels import catalogue
    from fastgate.threads import thread_count

    began = time.perf_counter()
    found = {module: catalogue.kernels(module) for module in modules or catalogue.modules()}
    found = {module: kernels for module, kernels in found.items() if kernels}
    total = sum(map(len, found.values()))
    folder = _folder(next(iter(next(iter(found.values())).values())).cache_folder())
    listener(Step("compiling", 0, total, "kernels"))
    # Modules of one family share helpers, which each process compiles for itself; the largest families first, so
    # that no process ends long after the others.
    families = [list(family) for _, family in groupby(sorted(found), key=_family)]
    families.sort(key=lambda family: sum(len(found[module]) for module in family), reverse=True)
    done = compiled = 0
    with (
        tempfile.TemporaryDirectory(prefix="fastgate-warmup-") as aside,
        ProcessPoolExecutor(
            min(thread_count(), len(families), _MOST_PROCESSES),
            mp_context=get_context("spawn"),
            initializer=_begin,
            initargs=(aside, str(folder), families[0][0]),
        ) as processes,
    ):
        futures = [processes.submit(_compile, family) for family in families]
        try:
            for future in as_completed(futures):
                made = future.result()
                _keep(made, folder)
                compiled += len(made.fresh)
                done += made.kernels
                listener(Step("compiling", done, total, "kernels"))
        except BaseException:
            processes.shutdown(wait=False, cancel_futures=True)
            raise
    size = sum(file.stat().st_size for file in folder.iterdir() if file.suffix in _CACHED)
    return Warm(str(folder), total, compiled, time.perf_counter() - began, size)


def _folder(folder: str | None) -> Path:
    wanted = os.environ.get("NUMBA_CACHE_DIR")
    if folder is None:
        raise DataError(
            "nothing can be kept: numba's cache cannot be written",
            expected="a folder that this user may write to",
            received=wanted or "neither the folder of fastgate's kernels nor a cache folder of this user",
            where="environment variable NUMBA_CACHE_DIR",
            hint="set it to a folder that can be written, now and in later runs; without one every run works, and "
            "compiles the kernels it needs",
        )
    if wanted and not Path(folder).resolve().is_relative_to(Path(wanted).resolve()):
        raise DataError(
            "kernels cannot be kept where NUMBA_CACHE_DIR says",
            expected="a folder that this user may write to",
            received=wanted,
            where="environment variable NUMBA_CACHE_DIR",
            hint=f"set it to one that can be written, or unset it: kernels are then kept in {folder}",
        )
    return Path(folder)


def _begin(aside: str, folder: str, module: str) -> None:
    """In a new process: have numba keep its cache in a folder of this process, which begins as a copy."""
    os.environ["NUMBA_CACHE_DIR"] = str(Path(aside, str(os.getpid())))
    os.environ.pop("NUMBA_CACHE_LOCATOR_CLASSES", None)

    from fastgate.kernels import catalogue

    mine = next(iter(catalogue.kernels(module).values())).cache_folder()
    for file in Path(folder).iterdir():
        if file.suffix in _CACHED and mine is not None:
            shutil.copy2(file, mine)


def _family(module: str) -> str:
    return module.rpartition(".")[2].partition("_")[0]


def _compile(modules: Sequence[str]) -> _Made:
    from fastgate.kernels import catalogue

    number, folders, fresh = 0, set[str | None](), []
    for module in modules:
        for name, kernel in catalogue.kernels(module).items():
            statistics = kernel.dispatcher().stats
            number += 1
            folders.add(statistics.cache_path)
            if statistics.cache_misses:
                fresh.append(f"{module.rpartition('.')[2]}.{name}")
    return _Made(number, None if None in folders else folders.pop(), fresh)


def _keep(made: _Made, folder: Path) -> None:
    try:
        if made.folder is None:
            raise OSError("numba could not write a kernel")
        for name in made.fresh:
            _move(name, Path(made.folder), folder)
    except OSError as error:
        raise DataError(
            "the kernels cannot be kept",
            received=error.strerror or str(error),
            where=str(folder),
            hint="they take some 15 MB there, and meanwhile 30 MB a process in the folder for temporary files",
        ) from None


def _move(name: str, mine: Path, folder: Path) -> None:
    """Put a kernel's files into the cache: its index last, and each at once, so that no reader finds half of it."""
    for file in sorted(mine.glob(f"{name}-*"), key=lambda file: file.suffix == ".nbi"):
        aside = folder / f".{file.name}.{os.getpid()}"
        try:
            shutil.copyfile(file, aside)
            os.replace(aside, folder / file.name)
        finally:
            aside.unlink(missing_ok=True)
