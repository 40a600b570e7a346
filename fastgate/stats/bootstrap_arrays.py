"""The bootstrap of many cells as arrays: cleans them, decides each cell's engine, and runs the kernels."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fastgate import threads
from fastgate.kernels import bootstrap_codes as codes
from fastgate.kernels.bootstrap_records import BootstrapLimits, BootstrapSamples, BootstrapTask, OrderTables
from fastgate.kernels.records import Codes, Floats, Integers
from fastgate.kernels.status import NO_ROOT, OK, PRECISION_LOSS, ZERO_VAR_DIFF, ZERO_VAR_EQUAL
from fastgate.stats.bootstrap_request import BootstrapRequest, Keys

__all__ = ["ENGINE_NAMES", "BootstrapArrays", "bootstrap_arrays", "normal_quantile"]

ENGINE_NAMES: Final = ("none", "exact", "saddlepoint", "resample")
"""The words for `BootstrapArrays.engine`."""

_EXACT_ROUTES: Final = (codes.CLOSED, codes.QUANTILE_LAW, codes.LATTICE, codes.MULTISETS, codes.QUANTILE_PAIR)


class BootstrapArrays(NamedTuple):
    """The result of each cell: arrays of shape (n_cells,)."""

    estimate: Floats
    """The statistic of the sample, or candidate - baseline (for a ratio, candidate / baseline)."""
    ci_low: Floats
    """Lower limit."""
    ci_high: Floats
    """Upper limit."""
    standard_error: Floats
    """The standard deviation of the bootstrap law (studentised: the estimate's own standard error)."""
    bias: Floats
    """Mean of the bootstrap law - estimate."""
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
    samples, missing, status = _samples(values, offsets, candidate_index, baseline_index, request, paired)
    task = BootstrapTask(
        request.statistic,
        request.q,
        request.method,
        request.engine,
        request.alpha,
        normal_quantile(request.alpha),
    )
    n_cells = candidate_index.size
    limits = BootstrapLimits._make([*(np.empty(n_cells) for _ in range(5)), status])
    route, valid, step = np.empty(n_cells, np.int8), np.empty(n_cells, np.int8), np.empty(n_cells)
    _plan(samples, task, route, valid, step, limits)
    for kernel_route in np.unique(route).tolist():
        _answer(kernel_route, samples, task, route, valid, step, limits)
    if request.engine == codes.AUTO:
        # The saddlepoint had no root after all: these cells are drawn.
        stuck = (route == codes.TILTED) & (status == NO_ROOT)
        route[stuck] = codes.DRAWN
        status[stuck] = OK
    if np.any(route == codes.DRAWN):
        _draw(samples, task, request, route, limits, keys)
    finite = np.isfinite(limits.low) & np.isfinite(limits.high) & np.isfinite(limits.error)
    status[(status == OK) & ~finite] = PRECISION_LOSS
    engine = np.zeros(n_cells, np.int8)
    engine[np.isin(route, _EXACT_ROUTES)] = codes.EXACT
    engine[(route == codes.DONE) & ((status == ZERO_VAR_EQUAL) | (status == ZERO_VAR_DIFF))] = codes.EXACT
    engine[route == codes.TILTED] = codes.SADDLEPOINT
    engine[route == codes.DRAWN] = codes.RESAMPLE
    n_other = samples.n_a.copy() if samples.paired else samples.n_b.copy()
    return BootstrapArrays(*limits[:5], samples.n_a.copy(), n_other, missing, status, engine)


def _read_only(samples: BootstrapSamples) -> BootstrapSamples:
    """The same arrays behind read-only views, which is what kernels are compiled for."""
    views = [array.view() for array in samples[:7]]
    for view in views:
        view.flags.writeable = False
    return BootstrapSamples._make([*views, samples.two, samples.paired])


def _samples(
    values: Floats,
    offsets: Integers,
    first: Integers,
    second: Integers | None,
    request: BootstrapRequest,
    paired: bool,
) -> tuple[BootstrapSamples, Integers, Codes]:
    """The cleaned samples, how many values are missing, and a status for each cell."""
    from fastgate.kernels.bootstrap_cleaning import clean, clean_pairs

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
        starts_b, n_b = (nowhere, nowhere) if difference else (places[:-1], n)
        samples = BootstrapSamples(a, places[:-1], n, b, starts_b, n_b, magnitude, not difference, True)
        return _read_only(samples), missing, status

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
        samples = BootstrapSamples(
            cleaned, shifted[first], n[first], empty, nowhere, nowhere, magnitude[first], False, False
        )
        return _read_only(samples), missing[first], status[first]
    samples = BootstrapSamples(
        cleaned, shifted[first], n[first], cleaned, shifted[second], n[second],
        np.maximum(magnitude[first], magnitude[second]), True, False,
    )  # fmt: skip
    return _read_only(samples), missing[first] + missing[second], np.maximum(status[first], status[second])


def _running(cost: npt.NDArray[Any]) -> Integers:
    total = np.zeros(cost.size + 1, np.int64)
    np.cumsum(cost.astype(np.int64), out=total[1:])
    return total


def normal_quantile(alpha: float) -> float:
    """The standard normal quantile of 1 − α/2."""
    from fastgate.kernels.special import normal_isf

    return float(normal_isf(0.5 * alpha))


def _plan(
    samples: BootstrapSamples,
    task: BootstrapTask,
    route: Codes,
    valid: Codes,
    step: Floats,
    limits: BootstrapLimits,
) -> None:
    from fastgate.kernels.bootstrap_routes import routes

    work = _running(5 * (samples.n_a + samples.n_b) + 300)
    threads.run(routes, route.size, samples, task, route, valid, step, limits, work=work)


def _answer(
    route: int,
    samples: BootstrapSamples,
    task: BootstrapTask,
    routes: Codes,
    valid: Codes,
    step: Floats,
    limits: BootstrapLimits,
) -> None:
    """Run the kernel of one of the routes that draw nothing."""
    mine = routes == route
    size = np.where(mine, samples.n_a + samples.n_b, 0)
    n_cells = routes.size
    if route == codes.CLOSED:
        half = task.z * limits.error[mine]
        limits.low[mine] = limits.estimate[mine] - half
        limits.high[mine] = limits.estimate[mine] + half
    elif route == codes.TILTED:
        from fastgate.kernels.bootstrap_saddlepoint import saddlepoint_limits

        threads.run(
            saddlepoint_limits, n_cells, samples, task, routes, valid, limits, work=_running(40 * size)
        )
    elif route == codes.LATTICE:
        from fastgate.kernels.bootstrap_lattice import lattice_limits

        work = _running(20 * size + 20_000 * mine)
        threads.run(lattice_limits, n_cells, samples, task, routes, step, limits, work=work)
    elif route == codes.MULTISETS:
        from fastgate.kernels.bootstrap_multisets import multiset_limits

        threads.run(multiset_limits, n_cells, samples, task, routes, limits, work=_running(1_000_000 * mine))
    elif route in (codes.QUANTILE_LAW, codes.QUANTILE_PAIR):
        _order_laws(route == codes.QUANTILE_PAIR, mine, samples, task, routes, limits)


def _order_laws(
    pair: bool,
    mine: npt.NDArray[np.bool_],
    samples: BootstrapSamples,
    task: BootstrapTask,
    routes: Codes,
    limits: BootstrapLimits,
) -> None:
    from fastgate.kernels.bootstrap_order_law import quantile_limits, quantile_pair_limits
    from fastgate.kernels.bootstrap_order_tables import COLUMNS, order_tables, order_windows

    sizes = np.unique(np.concatenate((samples.n_a[mine], samples.n_b[mine] if pair else samples.n_a[:0])))
    first, length = np.empty(sizes.size, np.int64), np.empty(sizes.size, np.int64)
    threads.run(order_windows, sizes.size, sizes, task.q, first, length, work=3e3)
    places = np.cumsum(length) - length
    tables = np.empty(COLUMNS * int(length.sum()))
    work = _running(500 * length)
    threads.run(order_tables, sizes.size, sizes, task.q, first, length, places, tables, work=work)
    laws = OrderTables(first, length, places, tables)
    for array in laws:
        array.flags.writeable = False
    table_a = np.where(mine, np.searchsorted(sizes, samples.n_a), 0)
    if pair:
        table_b = np.where(mine, np.searchsorted(sizes, samples.n_b), 0)
        work = _running(np.where(mine, 100_000 + 2_000 * (samples.n_a + samples.n_b), 0))
        threads.run(
            quantile_pair_limits,
            routes.size,
            samples,
            task,
            routes,
            table_a,
            table_b,
            laws,
            limits,
            work=work,
        )
    else:
        work = _running(np.where(mine, 5_000 + 50 * samples.n_a, 0))
        threads.run(quantile_limits, routes.size, samples, task, routes, table_a, laws, limits, work=work)


def _draw(
    samples: BootstrapSamples,
    task: BootstrapTask,
    request: BootstrapRequest,
    route: Codes,
    limits: BootstrapLimits,
    keys: Keys | None,
) -> None:
    if request.shared:
        from fastgate.stats.bootstrap_shared import shared_limits

        shared_limits(samples, task, request.n_resamples, request.seed, route, limits)
        return
    from fastgate.kernels.bootstrap_resample import resampled_limits

    cost = request.n_resamples * ((samples.n_a + samples.n_b) // 2 + 10)
    threads.run(
        resampled_limits, route.size, samples, task, request.n_resamples, np.uint64(request.seed),
        cell_keys(samples) if keys is None else keys, route, limits,
        work=_running(np.where(route == codes.DRAWN, cost, 0)),
    )  # fmt: skip


def cell_keys(samples: BootstrapSamples) -> Keys:
    """A key for each cell from its values, whatever their order."""
    from fastgate.kernels.rng import cell_keys as kernel

    keys = np.zeros(samples.n_a.size, np.uint64)
    sides: list[tuple[Any, ...]] = [samples[:3], samples[3:6]] if samples.two else [samples[:3]]
    for values, starts, n in sides:
        previous, keys = keys, np.empty_like(keys)
        threads.run(kernel, n.size, values.view(np.uint64), starts, n, previous, keys, work=_running(3 * n))
    return keys
