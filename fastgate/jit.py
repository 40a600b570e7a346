"""The one place where compile options are chosen.

A kernel is a serial loop over the cells ``start … stop``: it writes into arrays that the caller owns,
never raises, and reports a status per cell. `fastgate.threads` runs one over all cells.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import update_wrapper
from typing import Any, Final, NamedTuple, TypeVar, cast

import numba
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import typeof_impl

__all__ = ["Compiled", "Compiling", "compiling", "device", "inlined", "kernel", "reduction"]

F = TypeVar("F", bound=Callable[..., Any])

# NaN and infinity must survive: no `nnan`, no `ninf`. The others let LLVM use SIMD in sums, which takes a
# core from 4 to 27 GB/s; the order of additions they allow is fixed at compile time, so results repeat.
_REASSOCIATE: Final = {"reassoc", "nsz", "arcp", "contract"}

# More than any kernel has.
_MOST_HELPERS: Final = 200


class Compiled:
    """A function that numba compiles, or reads from its cache, when it is first needed.

    That is when it is called, or when another is compiled that calls it: a verdict pays for the kernels it
    needs, 1 to 11 ms each where they are cached, and not for their neighbours in a module.

    Parameters
    ----------
    function : callable
        As written in Python.
    signature : numba signature or list of them, optional
        The types it is compiled for, and no others; without it, those it is called with.
    options : dict
        Of `numba.njit`.
    """

    def __init__(self, function: Callable[..., Any], signature: Any, options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self.signature = signature
        self._options = options
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Run it."""
        return (self._dispatcher or self.dispatcher())(*arguments)

    def dispatcher(self) -> Any:
        """What numba makes of the function, with its signatures compiled."""
        # numba's own lock: with another, two threads that compile could wait for one another.
        with global_compiler_lock:
            if self._dispatcher is None:
                self._dispatcher = self._compiled()
        return self._dispatcher

    def cache_folder(self) -> str | None:
        """Where numba keeps what it makes of the function; None where it finds no folder that it may write to."""
        try:
            folder: str = numba.njit(cache=True)(self.py_func).stats.cache_path
        except RuntimeError as error:
            if "locator" not in str(error):
                raise
            return None
        return folder

    def _compiled(self) -> Any:
        arguments = [] if self.signature is None else [self.signature]
        try:
            return numba.njit(*arguments, **self._options)(self.py_func)
        except RuntimeError as error:
            # numba finds no folder it may write its cache to; compiling anew in each process still works.
            if "locator" not in str(error):
                raise
        except OSError:
            pass  # the disk is full, or the folder has gone meanwhile
        _compilations.kept = False
        uncached = numba.njit(*arguments, **{**self._options, "cache": False})
        for _ in range(_MOST_HELPERS):
            # A helper that cannot be kept is compiled nevertheless, so that the next attempt comes further.
            with suppress(OSError):
                return uncached(self.py_func)
        return uncached(self.py_func)


@typeof_impl.register(Compiled)  # type: ignore[untyped-decorator]
def _type(compiled: Compiled, context: Any) -> Any:
    return numba.types.Dispatcher(compiled.dispatcher())


def _options(fastmath: set[str] | bool) -> dict[str, Any]:
    return {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": fastmath}


def _decorator(signature: Any, options: dict[str, Any]) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        return cast(F, Compiled(function, signature, options))

    return decorate


def kernel(signature: Any) -> Callable[[F], F]:
    """Compile a loop over cells with strict IEEE arithmetic, for one numba signature or a list of them."""
    return _decorator(signature, _options(False))


def reduction(signature: Any) -> Callable[[F], F]:
    """Compile a loop whose sums may be reordered for SIMD; NaN and infinity keep their meaning."""
    return _decorator(signature, _options(_REASSOCIATE))


def device(function: F) -> F:
    """Compile a scalar helper, called only by kernels; specialised to the types it is called with."""
    return _decorator(None, _options(False))(function)


def inlined(function: F) -> F:
    """Compile a scalar helper into each caller, so that the caller's loop can use SIMD.

    LLVM leaves a helper of a hundred operations as a call, and a loop with a call is not vectorised: the two-sided
    p of Student's t then takes 27 ns a value instead of 3.5.
    """
    options = {"nogil": True, "error_model": "numpy", "forceinline": True}
    return _decorator(None, options)(function)


class Compiling(NamedTuple):
    """A compilation that goes on at this moment."""

    since: float
    """When this process first had to compile, by `time.monotonic`."""
    kept: bool
    """Whether later processes can read the result from numba's cache."""


class _Compilations(event.Listener):  # type: ignore[misc]
    """Hears of what is compiled, not of what is read from the cache; under numba's lock, and nested."""

    depth = 0
    since: float | None = None
    kept = True

    def on_start(self, event: Any) -> None:
        self.depth += 1
        if self.since is None:
            self.since = time.monotonic()

    def on_end(self, event: Any) -> None:
        self.depth -= 1


_compilations: Final = _Compilations()
event.register("numba:compile", _compilations)


def compiling() -> Compiling | None:
    """What is compiled at this moment; None where nothing is, or a kernel is but read from the cache."""
    since = _compilations.since if _compilations.depth else None
    return None if since is None else Compiling(since, _compilations.kept)
