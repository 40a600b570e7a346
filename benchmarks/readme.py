"""Puts what a script made between two marks of a Markdown file."""

from __future__ import annotations

from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def write_between(begin: str, end: str, text: str, path: Path = README) -> None:
    """Replace all that lies between the lines `begin` and `end`."""
    before, found, rest = path.read_text().partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise SystemExit(f"{path} has no place for this: add the two lines\n{begin}\n{end}")
    path.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}")


def significant(number: float) -> str:
    """Three digits, without an exponent."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def duration(seconds: float) -> str:
    """A time in the unit that suits it, to three digits."""
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size:
            return f"{significant(seconds / size)} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def memory(size: float) -> str:
    """Bytes in the unit that suits them."""
    return f"{size / 2**30:.2f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"
