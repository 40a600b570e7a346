"""Whether two runs may be compared: the fields of their manifests side by side."""

from __future__ import annotations

from typing import IO, Any

import polars as pl
from rich.console import RenderableType
from rich.text import Text

from fastgate.reports import words
from fastgate.reports.console import STYLES, indented, new_table, rendered
from fastgate.reports.safety.sentences import PROBLEMS

__all__ = ["comparability_data", "comparability_report"]


def comparability_data(table: pl.DataFrame) -> dict[str, Any]:
    """The table of `fastgate.gates.safety.compare_manifests` as plain data: ``comparable`` and ``fields``."""
    return {"comparable": bool(table["agrees"].all()), "fields": table.to_dicts()}


def comparability_report(table: pl.DataFrame, stream: IO[str]) -> str:
    """The table of `fastgate.gates.safety.compare_manifests` as text for `stream`."""
    differing = table.filter(~pl.col("agrees"))
    with_suites = table["suite"].n_unique() > 1
    parts: list[RenderableType] = []
    if differing.is_empty():
        parts.append(
            Text.assemble(
                ("COMPARABLE", STYLES["pass"]), f"  {words.plural(table.height, 'field')} compared, all agree"
            )
        )
    else:
        parts.append(
            Text.assemble(
                ("NOT COMPARABLE", STYLES["refused"]),
                f"  {words.count(differing.height)} of {words.plural(table.height, 'field')} differ or are missing: "
                f"{words.listing([words.name(name) for name in differing['field'].unique(maintain_order=True)], 8)}",
            )
        )
    shown = new_table()
    for heading in (*(("suite",) if with_suites else ()), "field", "baseline", "candidate", ""):
        shown.add_column(heading, overflow="fold")
    for row in table.iter_rows(named=True):
        style = "" if row["agrees"] else STYLES["undefined"]
        suite = [Text(words.name(row["suite"] or "every suite"))] if with_suites else []
        problem = "agrees" if row["agrees"] else PROBLEMS.get(row["problem"], row["problem"])
        shown.add_row(
            *suite,
            Text(words.name(row["field"]), style),
            *(
                Text("not stated" if row[side] is None else words.name(row[side]), style)
                for side in ("baseline", "candidate")
            ),
            Text(problem, style or "dim"),
        )
    return rendered([*parts, "", indented(shown)], stream)
