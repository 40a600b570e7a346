"""Text for people: laid out by rich, returned as a string, plain where it does not go to a terminal."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import IO, Final

from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fastgate.reports.words import transliterated

__all__ = ["STYLES", "bullets", "indented", "new_table", "rendered", "width_of"]

STYLES: Final = {
    "pass": "bold green",
    "review": "bold yellow",
    "refused": "bold magenta",
    "block": "bold red",
    "win": "green",
    "loss": "red",
    "tie": "",
    "undefined": "magenta",
}
# A file or pipe has no width; this one keeps what is written there the same everywhere.
_FILE_WIDTH: Final = 100
_NARROWEST: Final = 40


def _console(stream: IO[str]) -> Console:
    terminal = stream.isatty()
    # Written into memory, not to the stream: rich would exit with 1, our "block", when a pipe closes early.
    return Console(
        file=io.StringIO(),
        force_terminal=terminal or None,
        width=None if terminal or os.environ.get("COLUMNS") else _FILE_WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
    )


def width_of(stream: IO[str]) -> int:
    """The columns that text for `stream` may take."""
    return max(_console(stream).width, _NARROWEST)


def rendered(parts: Sequence[RenderableType], stream: IO[str]) -> str:
    """The parts one below the other, as text for `stream`: its width, its colours, its encoding.

    Parameters
    ----------
    parts : sequence of rich renderables
        A ``str`` is a line that is never wrapped: a command to copy.
    stream : text file
        Where the text will be written; nothing is written here.

    Returns
    -------
    str
        Ends in a newline; no line has blanks at its end.
    """
    console = _console(stream)
    console.width = max(console.width, _NARROWEST)
    for part in parts:
        if isinstance(part, str):
            console.print(Text(part), soft_wrap=True)
        else:
            console.print(part)
    file = console.file
    assert isinstance(file, io.StringIO)
    lines = (line.rstrip(" ") for line in file.getvalue().split("\n"))
    return transliterated("\n".join(lines), getattr(stream, "encoding", None) or "utf-8")


def indented(part: RenderableType, columns: int = 2) -> Padding:
    """A part moved to the right."""
    return Padding(part, (0, 0, 0, columns))


def bullets(sentences: Sequence[str]) -> Table:
    """Sentences one below the other, wrapped under their own beginning."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for sentence in sentences:
        # A line that is part of the sentence above is indented by two.
        table.add_row(Text(" " if sentence.startswith("  ") else "-"), Text(sentence.lstrip()))
    return table


def new_table() -> Table:
    """An empty table with a line under its header and no other."""
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
