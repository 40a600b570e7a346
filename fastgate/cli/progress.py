"""What the standard error says of work while it runs: a bar on a terminal, or a line of JSON a second."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any, Final

from fastgate.progress import Listener, Step, unheard

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["MODES", "Log", "Pace", "Stages", "watched", "working"]

MODES: Final = ("auto", "json", "none")
# Work that is over before one could read about it shows nothing.
PATIENCE: Final = 1.0
# The kernels of a run take 0.2 s to load from the cache and many seconds to compile.
COMPILING: Final = 2.0
_BETWEEN_LINES: Final = 1.0
_BETWEEN_FRAMES: Final = 0.2
# Columns from which a bar has room beside the figures.
_WIDE: Final = 76
# Seconds over which a rate is averaged: what happened longer ago counts 1/e and less.
_MEMORY: Final = 15.0
_KEPT: Final = (
    "compiling kernels for this machine: the first run only, later ones read them from numba's cache"
)
_NOT_KEPT: Final = (
    "compiling kernels for this machine, in this run and in every later one: numba finds no folder that it may "
    "write its cache to; set NUMBA_CACHE_DIR to one"
)


class Pace:
    """How fast a stage goes: its mean rate, in which what happened long ago counts little.

    Parameters
    ----------
    step : Step
        The stage's first.
    now : float
        When it was told, in seconds by the clock that all later times are of.
    """

    def __init__(self, step: Step, now: float) -> None:
        self.step = step
        self._last = now
        self._counted = step.done
        self._mean = self._weight = 0.0

    def hear(self, step: Step, now: float) -> None:
        """Take in a later step of the stage."""
        passed = now - self._last
        if passed > 0.0:  # else it is counted with the next
            share = -math.expm1(-passed / _MEMORY)
            self._mean += share * ((step.done - self._counted) / passed - self._mean)
            self._weight += share * (1.0 - self._weight)
            self._last, self._counted = now, step.done
        self.step = step

    @property
    def rate(self) -> float | None:
        """Units a second; None as long as nothing is done."""
        return self._mean / self._weight if self._mean > 0.0 else None

    @property
    def seconds_left(self) -> float | None:
        """None where the total or the rate is not known."""
        done, total = self.step.done, self.step.total
        if total is None:
            return None
        if done >= total:
            return 0.0
        rate = self.rate
        return None if rate is None else (total - done) / rate


class Stages:
    """The stages of some work in the order they began; steps may come from any thread.

    Parameters
    ----------
    clock : callable
        Seconds that never run backwards.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self._lock = threading.Lock()
        self._paces: dict[str, Pace] = {}

    def hear(self, step: Step) -> None:
        """Take in a step."""
        now = self.clock()
        with self._lock:
            if step.stage in self._paces:
                self._paces[step.stage].hear(step, now)
            else:
                self._paces[step.stage] = Pace(step, now)

    def paces(self) -> list[tuple[Step, float | None, float | None]]:
        """The latest step of each stage, its rate, and the seconds that are left of it."""
        with self._lock:
            return [(pace.step, pace.rate, pace.seconds_left) for pace in self._paces.values()]


class Log:
    """Lines of JSON: the first and the last step of each stage, and about one a second between them.

    Parameters
    ----------
    stream : text file
        Where the lines go; one that can be written no more is given up.
    stages : Stages
    """

    def __init__(self, stream: IO[str], stages: Stages) -> None:
        self._stream = stream
        self._stages = stages
        self._began = self._last = stages.clock()
        self._lock = threading.Lock()
        self._written: dict[str, Step] = {}

    def hear(self, step: Step) -> None:
        """Take in a step, and write it where it is due."""
        self._stages.hear(step)
        with self._lock:
            written = self._written.get(step.stage)
            ended = step.total is not None and step.done >= step.total
            due = self._stages.clock() - self._last >= _BETWEEN_LINES
            if step != written and (written is None or ended or due):
                self._progress(step.stage)

    def tell(self, event: str) -> None:
        """Write that something happened: ``compiling``, ``done``, ``failed``."""
        with self._lock:
            self._write(event, None, None, None)

    def end(self, event: str) -> None:
        """Write the steps that were held back, then how the work ended."""
        with self._lock:
            for step, _, _ in self._stages.paces():
                if self._written.get(step.stage) != step:
                    self._progress(step.stage)
        self.tell(event)

    def _progress(self, stage: str) -> None:
        for step, rate, seconds_left in self._stages.paces():
            if step.stage == stage:
                self._written[stage] = step
                self._write("progress", step, rate, seconds_left)
        self._last = self._stages.clock()

    def _write(self, event: str, step: Step | None, rate: float | None, seconds_left: float | None) -> None:
        import json

        facts: dict[str, Any] = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "event": event,
            "elapsed": round(self._stages.clock() - self._began, 3),
            **(dict.fromkeys(Step._fields) if step is None else step._asdict()),
            "rate": None if rate is None else float(f"{rate:.4g}"),
            "seconds_left": None if seconds_left is None else round(seconds_left, 1),
        }
        _print(json.dumps(facts, allow_nan=False), self._stream)


@contextmanager
def watched(
    mode: str = "auto", *, quiet: bool = False, clock: Callable[[], float] = time.monotonic
) -> Iterator[Listener]:
    """Say on the standard error how the work inside goes on.

    Parameters
    ----------
    mode : {"auto", "json", "none"}
        ``auto``: on a terminal a line per stage, from the second second on, gone when the work is done; elsewhere
        nothing, but for kernels that are compiled for more than two seconds, lest that looks like a hang.
        ``json``: objects, one a line, about one a second. ``none``: nothing.
    quiet : bool, optional
        Show no bar in the mode ``auto``; compiling is told all the same.
    clock : callable, optional
        Seconds that never run backwards.

    Yields
    ------
    callable
        To be told of each step: see `fastgate.progress`.
    """
    stream = sys.stderr
    if stream is None or mode == "none":
        yield unheard
        return
    stages = Stages(clock)
    log = Log(stream, stages) if mode == "json" else None
    ended = threading.Event()
    watcher = threading.Thread(
        target=_watch, args=(stream, stages, log, ended, quiet), name="fastgate-progress", daemon=True
    )
    watcher.start()
    event = "failed"
    try:
        yield stages.hear if log is None else log.hear
        event = "done"
    finally:
        ended.set()
        watcher.join()
        if log is not None:
            log.end(event)


@contextmanager
def working(text: str) -> Iterator[None]:
    """`watched` for work of a single stage that cannot say how far it is.

    Parameters
    ----------
    text : str
        What is being done, such as ``planning``.
    """
    with watched() as listener:
        listener(Step(text, 0, None, ""))
        yield


def _watch(stream: IO[str], stages: Stages, log: Log | None, ended: threading.Event, quiet: bool) -> None:
    if ended.wait(PATIENCE):
        return
    if log is not None:
        _announce(ended, lambda news: log.tell("compiling"))
    elif stream.isatty() and not quiet:
        _draw(stages, ended)
    else:
        _announce(ended, lambda news: _print(news, stream))


def _announce(ended: threading.Event, tell: Callable[[str], None]) -> None:
    while not ended.wait(_BETWEEN_FRAMES):
        news = _compiling()
        if news is not None:
            tell(news)
            return


def _draw(stages: Stages, ended: threading.Event) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Column

    shown: dict[str, TaskID] = {}
    told = False
    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    progress = Progress(
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
        *([BarColumn(bar_width=20)] if console.width >= _WIDE else []),
        TextColumn("{task.fields[figures]}", markup=False, table_column=Column()),
        console=console,
        auto_refresh=False,
        transient=True,
    )
    with progress:
        while True:
            news = None if told else _compiling()
            if news is not None:
                progress.console.print(news)
                told = True
            _show(stages, progress, shown)
            progress.refresh()
            if ended.wait(_BETWEEN_FRAMES):
                return


def _show(stages: Stages, progress: Progress, shown: dict[str, TaskID]) -> None:
    for step, rate, seconds_left in stages.paces():
        if step.stage not in shown:
            shown[step.stage] = progress.add_task(step.stage, figures="")
        progress.update(
            shown[step.stage],
            completed=step.done,
            total=step.total,
            figures=_figures(step, rate, seconds_left),
        )


def _figures(step: Step, rate: float | None, seconds_left: float | None) -> str:
    """As in ``1,200 of 9,600 candidates, 310 a second, 27 s left``."""
    parts = []
    if step.total is not None:
        parts.append(f"{step.done:,} of {step.total:,} {step.unit}")
    elif step.done:
        parts.append(f"{step.done:,} {step.unit}")
    if rate is not None and seconds_left != 0.0:
        parts.append(f"{rate:,.0f} a second" if rate >= 10.0 else f"{60.0 * rate:,.3g} a minute")
        if seconds_left is not None:
            parts.append(f"{_duration(seconds_left)} left")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(math.ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _compiling() -> str | None:
    """What to say of compiling that goes on and has taken a while; numba is not loaded to find out."""
    compiling = getattr(sys.modules.get("fastgate.jit"), "compiling", None)
    now = None if compiling is None else compiling()
    if now is None or time.monotonic() - now.since < COMPILING:
        return None
    return _KEPT if now.kept else _NOT_KEPT


def _print(text: str, stream: IO[str]) -> None:
    with suppress(OSError, ValueError):  # nobody may read it any more; the work goes on
        stream.write(text + "\n")
        stream.flush()
