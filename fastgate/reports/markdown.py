"""Markdown that shows any name as it is: no markup, no mentions, no broken tables."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from typing import Final

from fastgate.reports import words

__all__ = ["LIMIT", "MARKER", "code", "html_code", "table"]

# By this line a bot finds the comment that it is to replace.
MARKER: Final = "<!-- fastgate -->"
# GitHub takes comments of up to 65,536 characters.
LIMIT: Final = 60_000

_PLAIN: Final = re.compile(r"[\w .:/+@#,()=-]*[\w.:/+@#,()=-]")


def code(text: str) -> str:
    """A name from the data as code, for text and table cells: nothing in it is markup or a mention.

    Examples
    --------
    >>> code("build-1.2"), code("a|b`c")
    ('`build-1.2`', '<code>a&#124;b&#96;c</code>')
    """
    shown = words.name(text)
    if _PLAIN.fullmatch(shown) and not shown.startswith(" "):
        return f"`{shown}`"
    # In a code span a bar still ends a table's cell, and a backtick the span.
    return "<code>" + re.sub(r"[^\w\s-]|_", lambda sign: f"&#{ord(sign[0])};", shown) + "</code>"


def html_code(text: str) -> str:
    """A name from the data inside an HTML element, where Markdown is not read."""
    return f"<code>{html.escape(words.name(text))}</code>"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """A table; `right` are the columns that hold numbers. Cells are Markdown already.

    Examples
    --------
    >>> print(table(["suite", "wins"], [["`a`", "3"]], right=[1]))
    | suite | wins |
    |---|--:|
    | `a` | 3 |
    """
    ruled = ["--:" if column in set(right) else "---" for column in range(len(headings))]
    lines = [f"| {' | '.join(headings)} |", f"|{'|'.join(ruled)}|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)
