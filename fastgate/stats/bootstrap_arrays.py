"""The bootstrap of many cells as arrays: cleans them, decides each cell's engine, and runs the kernels."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fastgate import threads
from fastgate.kernels import bootstrap_codes as codes
from fastgate.kernels.status import NO_ROOT, OK, PRECISION_LOSS, ZERO_VAR_DIFF, ZERO_VAR_EQUAL
from fastgate.stats.bootstrap_request import BootstrapRequest, Keys

__all__ = ["ENGINE_NAMES", "BootstrapArrays", "Sides", "bootstrap_arrays"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]

ENGINE_NAMES: Final = ("none", "exact", "saddlepoint", "resample")
"""The words for `BootstrapArrays.engine`."""

_EXACT_ROUTES: Final = (codes.CLOSED, codes.QUANTILE_LAW, codes.LATTICE, codes.MULTISETS, codes.QUANTILE_PAIR)


class BootstrapArrays(NamedTuple):
    """The result of each cell: arrays of shape (n_cells,)."""

    estimate: Floats
    """The statistic of the sample, or candidate − baseline (for a ratio, candidate / baseline)."""
    ci_low: Floats
    """Lower limit."""
    ci_high: Floats
    """Upper limit."""
    standard_error: Floats
    """The standard deviation of the bootstrap law (studentised: the estimate's own standard error)."""
    bias: Floats
    """Mean of the bootstrap law − estimate."""
    n: Integers
    """Values used: of the sample, or complete pairs."""
    n_other: Integers
    """Values used of the other sample; as `n` for pairs, 0 without another sample."""
    n_missing: Integers
    """NaN values dropped, of both samples; for pairs, pairs dropped."""
    status: Codes
    """Status codes."""
    engine: Codes
    """Index into `ENGINE_NAMES`."""


class Sides(NamedTuple):
    """The cleaned samples of each cell."""

    a: Floats
    starts_a: Integers
    n_a: Integers
    b: Floats
    starts_b: Integers
    n_b: Integers
    magnitude: Floats
    missing: Integers
    status: Codes
    two: bool
    """Whether a cell has two samples (not differences of pairs)."""


def bootstrap_arrays(
    values: Floats,
    offsets: Integers,
    candidate_index: Integers,
    baseline_index: Integers | None,
    request: BootstrapRequest,
    *,
    paired: bool = False,
    keys: Keys | None = None,
) -> BootstrapArrays:
    """The bootstrap of cell ``candidate_index[i]``, alone or against ``baseline_index[i]``, without checks.

    Parameters
    ----------
    values : ndarray of float64, shape (n_values,)
        NaN is missing.
    offsets : ndarray of int64, shape (n_samples + 1,)
    candidate_index : ndarray of int64, shape (n_cells,)
        −1 stands for a sample that does not exist, which is ``too_few``.
    baseline_index : ndarray of int64, shape (n_cells,), or None
        None: one sample a cell.
    request : BootstrapRequest
        From `bootstrap_request` (with ``samples=2`` where there are baselines).
    paired : bool, optional
        Whether the two samples of a cell hold the same cases in the same order. The statistic is then that of
        the differences (a ratio of means: of the pairs). Samples of unequal sizes are ``too_few``.
    keys : ndarray of uint64, shape (n_cells,), optional
        By default from each cell's values.

    Returns
    -------
    BootstrapArrays
    """
    sides = _sides(values, offsets, candidate_index, baseline_index, request, paired)
    n_cells = candidate_index.size
    route, valid = np.empty(n_cells, np.int8), np.empty(n_cells, np.int8)
    step = np.empty(n_cells)
    out = [np.empty(n_cells) for _ in range(5)]
    joint = paired and baseline_index is not None
    _plan(sides, request, joint, route, valid, step, out)
    for kernel_route in np.unique(route).tolist():
        _answer(kernel_route, sides, request, route, valid, step, out)
    if request.engine == codes.AUTO:
        # The saddlepoint had no root after all: these cells are drawn.
        stuck = (route == codes.TILTED) & (sides.status == NO_ROOT)
        route[stuck] = codes.DRAWN
        sides.status[stuck] = OK
    if np.any(route == codes.DRAWN):
        _draw(sides, request, joint, route, out, keys)
    estimate, low, high, error, bias = out
    status = sides.status
    finite = np.isfinite(low) & np.isfinite(high) & np.isfinite(error)
    status[(status == OK) & ~finite] = PRECISION_LOSS
    engine = np.zeros(n_cells, np.int8)
    engine[np.isin(route, _EXACT_ROUTES)] = codes.EXACT
    engine[(route == codes.DONE) & ((status == ZERO_VAR_EQUAL) | (status == ZERO_VAR_DIFF))] = codes.EXACT
    engine[route == codes.TILTED] = codes.SADDLEPOINT
    engine[route == codes.DRAWN] = codes.RESAMPLE
    n_other = sides.n_a.copy() if joint else sides.n_b.copy()
    return BootstrapArrays(
        estimate, low, high, error, bias, sides.n_a, n_other, sides.missing, status, engine
    )


def _sides(
    values: Floats,
    offsets: Integers,
    first: Integers,
    second: Integers | None,
    request: BootstrapRequest,
    paired: bool,
) -> Sides:
    from fastgate.kernels.bootstrap_cells import clean, clean_pairs

    n_cells = first.size
    empty, nowhere = np.empty(0), np.zeros(n_cells, np.int64)
    if second is not None and paired:
        sizes = np.concatenate((np.diff(offsets), [0]))
        starts = np.concatenate((offsets[:-1], [0]))
        # Index −1 meets the empty sample at the end.
        fits = (sizes[first] == sizes[second]) & (first >= 0) & (second >= 0)
        length = np.where(fits, sizes[first], 0)
        places = np.concatenate(([0], np.cumsum(length)))
        difference = request.statistic != codes.RATIO
        a = np.empty(places[-1])
        b = empty if difference else np.empty(places[-1])
        n, missing = np.empty(n_cells, np.int64), np.empty(n_cells, np.int64)
        magnitude, status = np.empty(n_cells), np.empty(n_cells, np.int8)
        threads.run(
            clean_pairs, n_cells, values, starts[first], values, starts[second], length, places[:-1], request.binary,
            difference, a, b, n, missing, magnitude, status, work=places,
        )  # fmt: skip
        if difference:
            return Sides(a, places[:-1], n, b, nowhere, nowhere, magnitude, missing, status, False)
        return Sides(a, places[:-1], n, b, places[:-1], n, magnitude, missing, status, True)

    n_samples = offsets.size - 1
    begin = offsets[0]
    cleaned = np.empty(offsets[-1] - begin)
    shifted = offsets - begin
    n, missing = np.zeros(n_samples + 1, np.int64), np.zeros(n_samples + 1, np.int64)
    magnitude, status = np.zeros(n_samples + 1), np.zeros(n_samples + 1, np.int8)
    threads.run(
        clean, n_samples, values[begin : offsets[-1]], shifted, request.binary, cleaned, n, missing, magnitude, status,
        work=shifted,
    )  # fmt: skip
    # As above: index −1 meets an empty sample.
    shifted[-1] = 0
    if second is None:
        return Sides(
            cleaned,
            shifted[first],
            n[first],
            empty,
            nowhere,
            nowhere,
            magnitude[first],
            missing[first],
            status[first],
            False,
        )
    return Sides(
        cleaned, shifted[first], n[first], cleaned, shifted[second], n[second],
        np.maximum(magnitude[first], magnitude[second]), missing[first] + missing[second],
        np.maximum(status[first], status[second]), True,
    )  # fmt: skip


def _plan(
    sides: Sides,
    request: BootstrapRequest,
    paired: bool,
    route: Codes,
    valid: Codes,
    step: Floats,
    out: list[Floats],
) -> None:
    from fastgate.kernels.bootstrap_cells import routes

    threads.run(
        routes, route.size, *sides[:7], sides.two, paired, request.statistic, request.q, request.method,
        request.engine, request.alpha, route, valid, step, *out, sides.status,
        work=_running(5.0 * (sides.n_a + sides.n_b) + 300.0),
    )  # fmt: skip


def _running(cost: Floats) -> Integers:
    total = np.zeros(cost.size + 1, np.int64)
    np.cumsum(cost.astype(np.int64), out=total[1:])
    return total


def normal_quantile(alpha: float) -> float:
    """The standard normal quantile of 1 − α/2."""
    from fastgate.kernels.special import normal_isf

    return float(normal_isf(0.5 * alpha))


def _answer(
    route: int,
    sides: Sides,
    request: BootstrapRequest,
    routes: Codes,
    valid: Codes,
    step: Floats,
    out: list[Floats],
) -> None:
    """Run the kernel of one of the routes that draw nothing."""
    z = normal_quantile(request.alpha)
    mine = routes == route
    size = np.where(mine, sides.n_a + sides.n_b, 0)
    if route == codes.CLOSED:
        estimate, low, high, error, _ = out
        low[mine] = estimate[mine] - z * error[mine]
        high[mine] = estimate[mine] + z * error[mine]
    elif route == codes.TILTED:
        from fastgate.kernels.bootstrap_saddlepoint import saddlepoint_limits

        threads.run(
            saddlepoint_limits, routes.size, *sides[:6], sides.two, request.method, z, routes, valid, *out, sides.status,
            work=_running(40.0 * size),
        )  # fmt: skip
    elif route == codes.LATTICE:
        from fastgate.kernels.bootstrap_lattice import lattice_limits

        threads.run(
            lattice_limits, routes.size, *sides[:6], sides.two, request.method, request.alpha, z, routes, step, *out,
            sides.status, work=_running(np.where(mine, 2e4 + 20.0 * size, 0.0)),
        )  # fmt: skip
    elif route == codes.MULTISETS:
        from fastgate.kernels.bootstrap_multisets import multiset_limits

        threads.run(
            multiset_limits, routes.size, *sides[:7], sides.two, request.statistic, request.q, request.method,
            request.alpha, z, routes, *out, sides.status, work=_running(np.where(mine, 1e6, 0.0)),
        )  # fmt: skip
    elif route in (codes.QUANTILE_LAW, codes.QUANTILE_PAIR):
        _order_laws(route, sides, request, z, routes, size, out)


def _order_laws(
    route: int,
    sides: Sides,
    request: BootstrapRequest,
    z: float,
    routes: Codes,
    size: Integers,
    out: list[Floats],
) -> None:
    from fastgate.kernels import bootstrap_order_law as kernels

    mine = routes == route
    pair = route == codes.QUANTILE_PAIR
    sizes = np.unique(np.concatenate((sides.n_a[mine], sides.n_b[mine] if pair else sides.n_a[:0])))
    first, length = np.empty(sizes.size, np.int64), np.empty(sizes.size, np.int64)
    threads.run(kernels.order_windows, sizes.size, sizes, request.q, first, length, work=3e3)
    places = np.cumsum(length) - length
    tables = np.empty(4 * int(length.sum()))
    threads.run(
        kernels.order_tables, sizes.size, sizes, request.q, first, length, places, tables,
        work=_running(500.0 * length),
    )  # fmt: skip
    table_a = np.where(mine, np.searchsorted(sizes, sides.n_a), 0)
    tail = (first, length, places, tables, *out, sides.status)
    if pair:
        table_b = np.where(mine, np.searchsorted(sizes, sides.n_b), 0)
        threads.run(
            kernels.quantile_pair_limits, routes.size, *sides[:6], request.q, request.method, request.alpha, z, routes,
            table_a, table_b, *tail, work=_running(np.where(mine, 1e5 + 2e3 * size, 0.0)),
        )  # fmt: skip
    else:
        threads.run(
            kernels.quantile_limits, routes.size, *sides[:3], request.q, request.method, request.alpha, z, routes,
            table_a, *tail, work=_running(np.where(mine, 5e3 + 50.0 * size, 0.0)),
        )  # fmt: skip


def _draw(
    sides: Sides, request: BootstrapRequest, paired: bool, route: Codes, out: list[Floats], keys: Keys | None
) -> None:
    if request.shared:
        from fastgate.stats.bootstrap_shared import shared_limits

        shared_limits(sides, request, paired, route, out)
        return
    from fastgate.kernels.bootstrap_resample import resampled_limits

    threads.run(
        resampled_limits, route.size, *sides[:6], sides.two, paired, request.statistic, request.q, request.method,
        request.alpha, normal_quantile(request.alpha), request.n_resamples, np.uint64(request.seed),
        cell_keys(sides) if keys is None else keys, route, *out, sides.status,
        work=_running(np.where(route == codes.DRAWN, request.n_resamples * (0.5 * (sides.n_a + sides.n_b) + 10.0), 0.0)),
    )  # fmt: skip


def cell_keys(sides: Sides) -> Keys:
    """A key for each cell from its values, whatever their order."""
    from fastgate.kernels.rng import cell_keys as kernel

    keys = np.zeros(sides.n_a.size, np.uint64)
    samples: list[tuple[Any, ...]] = [(sides.a, sides.starts_a, sides.n_a)]
    if sides.two:
        samples.append((sides.b, sides.starts_b, sides.n_b))
    for values, starts, n in samples:
        previous, keys = keys, np.empty_like(keys)
        threads.run(kernel, n.size, values.view(np.uint64), starts, n, previous, keys, work=_running(3.0 * n))
    return keys
