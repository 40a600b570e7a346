"""The one place where compile options are chosen.

A kernel is a serial loop over the cells ``start … stop``: it writes into arrays that the caller owns,
never raises, and reports a status per cell. `fastgate.threads` runs one over all cells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["device", "inlined", "kernel", "reduction"]

F = TypeVar("F", bound=Callable[..., Any])

# NaN and infinity must survive: no `nnan`, no `ninf`. The others let LLVM use SIMD in sums, which takes a
# core from 4 to 27 GB/s; the order of additions they allow is fixed at compile time, so results repeat.
_REASSOCIATE = {"reassoc", "nsz", "arcp", "contract"}


def _compile(signature: Any, fastmath: set[str] | bool) -> Callable[[F], F]:
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
    arguments = [] if signature is None else [signature]

    def decorate(function: F) -> F:
        try:
            compiled = numba.njit(*arguments, cache=True, **options)(function)
        except RuntimeError as error:
            # numba finds no folder it may write its cache to; compiling anew in each process still works.
            if "locator" not in str(error):
                raise
            compiled = numba.njit(*arguments, **options)(function)
        return cast(F, compiled)

    return decorate


def kernel(signature: Any) -> Callable[[F], F]:
    """Compile a loop over cells with strict IEEE arithmetic, for one numba signature or a list of them."""
    return _compile(signature, False)


def reduction(signature: Any) -> Callable[[F], F]:
    """Compile a loop whose sums may be reordered for SIMD; NaN and infinity keep their meaning."""
    return _compile(signature, _REASSOCIATE)


def device(function: F) -> F:
    """Compile a scalar helper, called only by kernels; specialised to the types it is called with."""
    return _compile(None, False)(function)


def inlined(function: F) -> F:
    """Compile a scalar helper into each caller, so that the caller's loop can use SIMD.

    LLVM leaves a helper of a hundred operations as a call, and a loop with a call is not vectorised: the two-sided
    p of Student's t then takes 27 ns a value instead of 3.5.
    """
    return cast(F, numba.njit(nogil=True, error_model="numpy", forceinline=True)(function))
