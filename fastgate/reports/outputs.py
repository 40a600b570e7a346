"""Files of a result, each in the format that its name's ending asks for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fastgate.errors import ArgumentError

if TYPE_CHECKING:
    import polars as pl

    from fastgate.gates.benchmark.result import BenchmarkResult
    from fastgate.gates.safety.result import SafetyResult
    from fastgate.gates.stability.result import StabilityResult

__all__ = ["FORMATS", "PARQUET", "Output", "check_outputs", "loadable", "write_data", "write_output"]

FORMATS: Final = {
    ".json": "everything in one file, which `fastgate explain` and --previous read",
    ".md": "Markdown for a comment",
    ".junit.xml": "test cases for a CI server",
    ".parquet": "a folder of Parquet tables, read like .json",
    ".arrow": "a folder of Arrow tables, read like .json",
    "/": "a folder, as .parquet",
}
PARQUET: Final = (".parquet", "/")
"""Endings that ask for a folder of Parquet tables, to which the result of a sweep is written as it comes."""
_FOLDERS: Final = (*PARQUET, ".arrow")
_LOADABLE: Final = (".json", *_FOLDERS)


class Output(NamedTuple):
    """Where to write, and in which of `FORMATS`."""

    path: Path
    ending: str


def check_outputs(
    paths: Sequence[str],
    inputs: Iterable[str] = (),
    formats: Mapping[str, str] = FORMATS,
    folders: Sequence[str] = _FOLDERS,
) -> list[Output]:
    """The outputs that some paths ask for, found fit to be written before any work is done.

    Parameters
    ----------
    paths : sequence of str
        Names of files or folders; each ends as one of `formats`.
    inputs : iterable of str, optional
        Files that are read and must not be overwritten.
    formats : mapping of str to str, optional
        The endings, each with what it stands for; those of a gate's result unless given.
    folders : sequence of str, optional
        The endings of outputs that are folders.

    Raises
    ------
    ArgumentError
        When an ending is unknown, a path is given twice or is an input, a file stands where a folder is to
        be written or the other way round, or the folder around it cannot be written to.
    """
    outputs: list[Output] = []
    taken = {_identity(Path(path)) for path in inputs}
    for text in paths:
        path = Path(text)
        ending = next((ending for ending in formats if text.rstrip("/").endswith(ending)), None)
        if "/" in formats and text.endswith("/") and ending not in folders:
            ending = "/"
        if ending is None or path.name == ending:
            raise ArgumentError(
                "the output's name does not say its format",
                expected="a name ending in " + ", ".join(formats),
                received=text,
                where="-o",
            )
        if _identity(path) in {_identity(other.path) for other in outputs}:
            raise ArgumentError("an output is given twice", received=text, where="-o")
        if _identity(path) in taken:
            raise ArgumentError(
                "the output would overwrite an input", expected="another name", received=text, where="-o"
            )
        _check_place(path, folder=ending in folders)
        outputs.append(Output(path, ending))
    return outputs


def _identity(path: Path) -> str:
    return os.path.realpath(path)


def _check_place(path: Path, *, folder: bool) -> None:
    if path.exists() and path.is_dir() != folder:
        raise ArgumentError(
            "something else stands where the output would be written",
            expected="a folder or nothing" if folder else "a file or nothing",
            received="a folder" if path.is_dir() else "a file",
            where=str(path),
        )
    # The nearest folder that is there is the one in which a file or another folder is made.
    around = path if folder and path.is_dir() else path.absolute().parent
    while not around.exists() and around != around.parent:
        around = around.parent
    if not around.is_dir() or not os.access(around, os.W_OK | os.X_OK):
        raise ArgumentError(
            "the output cannot be written",
            expected="a folder that may be written to",
            received="no such folder can be made" if around.is_dir() else "a file in the place of a folder",
            where=str(around),
        )


def loadable(outputs: Sequence[Output]) -> str | None:
    """The first output that `fastgate.load` reads; None where there is none."""
    return next((str(output.path) for output in outputs if output.ending in _LOADABLE), None)


def write_data(output: Output, data: Callable[[], Mapping[str, Any]], table: pl.DataFrame) -> None:
    """Write plain data as JSON, or a table as CSV or Parquet, by the output's ending; aside, then renamed.

    Raises
    ------
    DataError
        When it cannot be written.
    """
    from fastgate.gates.storage import to_json, write_aside

    if output.ending == ".json":
        write_aside(output.path, lambda file: file.write(to_json(data())))
    else:
        write_aside(output.path, table.write_csv if output.ending == ".csv" else table.write_parquet)


def write_output(result: BenchmarkResult | SafetyResult | StabilityResult, output: Output) -> None:
    """Write one output aside and rename it.

    Raises
    ------
    DataError
        When it cannot be written after all.
    """
    from fastgate.gates.storage import write_aside

    if output.ending in _LOADABLE:
        result.save(output.path)
    elif output.ending == ".md":
        from fastgate.reports.gates import markdown

        text = markdown(result)
        write_aside(output.path, lambda file: file.write(text.encode()))
    else:
        from fastgate.reports.gates import junit

        data = junit(result)
        write_aside(output.path, lambda file: file.write(data))
