"""What the command of every gate does once its arguments are read: judge, write, print, exit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from fastgate.cli import streams
from fastgate.cli.progress import watched
from fastgate.progress import Listener, Step

if TYPE_CHECKING:
    from pathlib import Path

    from fastgate.gates.benchmark.result import BenchmarkResult
    from fastgate.gates.benchmark.sweep import BenchmarkSweep
    from fastgate.gates.safety.result import SafetyResult
    from fastgate.gates.stability.result import StabilityResult

    Result = BenchmarkResult | SafetyResult | StabilityResult

__all__ = ["judge", "one_or_list"]


def one_or_list(paths: Sequence[str]) -> Any:
    """Paths as the gates take them: a single one as such, of which a message then speaks."""
    return paths[0] if len(paths) == 1 else list(paths)


def judge(
    gate: Callable[[Listener], Result],
    *,
    inputs: Iterable[str],
    outputs: tuple[str, ...],
    as_json: bool,
    quiet: bool,
    review_ok: bool,
    progress: str,
    sweep: Callable[[Listener, Path], BenchmarkSweep] | None = None,
) -> int:
    """Judge, write the outputs, print, and return the exit code.

    Parameters
    ----------
    gate : callable
        Returns the result, and tells a listener how far it is; what takes time to import, it imports.
    inputs : iterable of str
        Files that are read and must not be overwritten.
    outputs, as_json, quiet, review_ok, progress
        As `fastgate.cli.options.output_options` gives them.
    sweep : callable, optional
        Judges instead of `gate` where an output is a folder of Parquet files, and writes the result there as it comes.
    """
    if as_json and quiet:
        raise click.UsageError("--json and --quiet exclude one another")

    from fastgate.reports.outputs import PARQUET, check_outputs, loadable, write_output

    checked = check_outputs(outputs, inputs=inputs)
    written = [output for output in checked if sweep is not None and output.ending in PARQUET]
    if len(written) > 1:
        raise click.UsageError(
            "the result is written to a folder as it comes: name one folder of Parquet files"
        )
    others = [output for output in checked if output not in written]
    result: Result | BenchmarkSweep
    with watched(progress, quiet=quiet) as listener:
        result = sweep(listener, written[0].path) if sweep is not None and written else gate(listener)
        if others or as_json:
            result = result.load()
            for done, output in enumerate(others):
                listener(Step("writing", done, len(others), "files"))
                write_output(result, output)
            listener(Step("writing", len(others), len(others), "files"))
        text = _printed(result, as_json=as_json, quiet=quiet, saved=loadable(checked))
    streams.write(text)
    return result.exit_code(review_ok=review_ok)


def _printed(result: Result | BenchmarkSweep, *, as_json: bool, quiet: bool, saved: str | None) -> str:
    if as_json:
        from fastgate.gates.storage import to_json

        return to_json(result.load().to_dict()).decode()
    if quiet:
        from fastgate.reports.overview import verdict_lines

        return verdict_lines(result)
    from fastgate.reports.gates import report

    return report(result, streams.output(), saved=saved)
