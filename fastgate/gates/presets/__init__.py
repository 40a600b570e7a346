"""The policies that ship with fastgate, by name."""

from __future__ import annotations

from importlib import resources

__all__ = ["names", "text"]


def names() -> tuple[str, ...]:
    """The presets there are, sorted.

    Examples
    --------
    >>> names()
    ('concordia', 'litmus', 'stability')
    """
    files = (entry.name for entry in resources.files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml")))


def text(name: str) -> str:
    """The TOML of one preset; `name` is one of `names`."""
    return resources.files(__name__).joinpath(f"{name}.toml").read_text("utf-8")
