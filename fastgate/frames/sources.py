"""A table that has been opened but not read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import polars as pl

from fastgate.errors import DataError, FastgateError

__all__ = ["Source", "translated"]


@dataclass(frozen=True)
class Source:
    """A table that has been opened but not read.

    Parameters
    ----------
    where : str
        What to call it in a message.
    columns : tuple of str
        The names of its columns; of several files, every name that any of them has.
    textual : bool
        Whether numbers may be text because the format has no types (CSV).
    fetch : callable
        From a list of column names to a frame of just these columns.
    query : callable or None, optional
        From a list of column names to a query whose rows come in batches; None where the table is in memory, or
        has to be there before its first row is known.
    n_bytes : int, optional
        What it takes on disk, where there is a `query`.
    count : callable or None, optional
        The number of rows, where the source knows it without being read.
    list_values : callable or None, optional
        From names of columns of lists to the number of values in them, where the source knows it.
    """

    where: str
    columns: tuple[str, ...]
    textual: bool
    fetch: Callable[[list[str]], pl.DataFrame]
    query: Callable[[list[str]], pl.LazyFrame] | None = None
    n_bytes: int = 0
    count: Callable[[], int] | None = None
    list_values: Callable[[list[str]], int] | None = None

    def read(self, names: Sequence[str]) -> pl.DataFrame:
        """The columns `names`, each once, in this order.

        Raises
        ------
        DataError
            When a column is missing or there twice, the content is not readable, or there are no rows.
        """
        wanted = list(dict.fromkeys(names))
        self.require(wanted)
        with translated("the data cannot be read", self.where):
            frame = self.fetch(wanted)
        if frame.height == 0:
            raise self._empty()
        return frame

    def batches(self, names: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:
        """The columns `names` as `read` gives them, about `n_rows` rows at a time, in order.

        Raises
        ------
        DataError
            As `read`.
        """
        if self.query is None:
            yield from self.read(names).iter_slices(n_rows)
            return
        wanted = list(dict.fromkeys(names))
        self.require(wanted)
        found = False
        with translated("the data cannot be read", self.where):
            for frame in self.query(wanted).collect_batches(chunk_size=n_rows, maintain_order=True):
                if frame.height:
                    found = True
                    yield frame
        if not found:
            raise self._empty()

    def _empty(self) -> DataError:
        return DataError(
            "there are no rows",
            expected="at least one row of measurements",
            received=f"0 rows of the columns {', '.join(self.columns)}",
            where=self.where,
            hint="an empty table proves nothing: check the step that wrote it, or the query's filter",
        )

    def require(self, names: Sequence[str]) -> None:
        """Refuse columns that are missing or there twice."""
        for name in names:
            if self.columns.count(name) != 1:
                raise DataError(
                    f"the column {name!r} is {'missing' if name not in self.columns else 'there more than once'}",
                    expected=f"one column {name!r}",
                    received=", ".join(self.columns) or "no columns",
                    where=self.where,
                    hint=f"nothing tells which {name!r} is meant: rename or remove the others"
                    if name in self.columns
                    else None,
                )


@contextmanager
def translated(problem: str, where: str, hint: str | None = None) -> Iterator[None]:
    """Turn any error of a library that reads data into a DataError."""
    try:
        yield
    except FastgateError:
        raise
    except BaseException as error:
        # A panic in Polars' Rust code derives from BaseException, as KeyboardInterrupt does, which must pass.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        text = " ".join(str(error).split()) or type(error).__name__
        raise DataError(
            problem, received=text if len(text) <= 300 else text[:297] + "...", where=where, hint=hint
        ) from error
