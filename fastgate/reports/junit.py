"""JUnit XML as CI servers read it, whatever the names hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from fastgate.gates.verdict import VERDICTS, worst

if TYPE_CHECKING:
    from fastgate.reports.overview import Judged

__all__ = ["Case", "Suite", "junit_xml", "stated_properties", "together"]

# XML 1.0 has no way to write these, not even as references.
_FORBIDDEN: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ELEMENTS: Final = {"block": "failure", "refused": "error", "review": "skipped"}


class Case(NamedTuple):
    """A test case.

    Attributes
    ----------
    name, verdict : str
        ``pass`` is a case without further element, ``block`` a failure, ``refused`` an error, ``review`` skipped.
    message : str
        One line.
    text : str
        Everything else there is to say.
    """

    name: str
    verdict: str
    message: str
    text: str


class Suite(NamedTuple):
    """A test suite: a candidate with its cases."""

    name: str
    cases: Sequence[Case]


def junit_xml(title: str, suites: Sequence[Suite], properties: Iterable[tuple[str, str]] = ()) -> bytes:
    """The suites as one JUnit XML document.

    Parameters
    ----------
    title : str
    suites : sequence of Suite
    properties : iterable of (str, str), optional
        What the verdicts rest on; repeated in each suite, where readers look for it.

    Returns
    -------
    bytes
        UTF-8. Characters that XML forbids are removed.
    """
    stated = "".join(
        f"   <property name={_attribute(name)} value={_attribute(value)}/>\n" for name, value in properties
    )
    stated = f"  <properties>\n{stated}  </properties>\n" if stated else ""
    counted = _counts([case for suite in suites for case in suite.cases])
    lines = ['<?xml version="1.0" encoding="UTF-8"?>\n', f"<testsuites name={_attribute(title)} {counted}>\n"]
    for suite in suites:
        name = _attribute(suite.name)
        lines.append(f" <testsuite name={name} {_counts(suite.cases)}>\n{stated}")
        lines += [_case(case, name) for case in suite.cases]
        lines.append(" </testsuite>\n")
    lines.append("</testsuites>\n")
    return "".join(lines).encode()


def stated_properties(result: Judged) -> list[tuple[str, str]]:
    """What a result's verdicts rest on: fastgate, policy, input."""
    evidence, policy = result.evidence, result.policy
    return [
        ("fastgate", evidence["fastgate"]),
        ("policy", policy["name"]),
        ("policy_hash", evidence["policy_hash"]),
        ("tenant", policy["tenant"] or ""),
        ("input_fingerprint", str(evidence["input"]["fingerprint"])),
    ]


def together(name: str, verdict: str, cases: Sequence[Case], reasons: Sequence[str]) -> Case:
    """A last case that fails only where the verdict of all together is worse than that of each case."""
    if VERDICTS.index(verdict) <= VERDICTS.index(worst(case.verdict for case in cases)):
        verdict = "pass"
    return Case(name, verdict, "; ".join(reasons) if verdict != "pass" else "", "\n".join(reasons))


def _counts(cases: Sequence[Case]) -> str:
    found = [case.verdict for case in cases]
    return (
        f'tests="{len(found)}" failures="{found.count("block")}" '
        f'errors="{found.count("refused")}" skipped="{found.count("review")}"'
    )


def _case(case: Case, suite: str) -> str:
    head = f"  <testcase classname={suite} name={_attribute(case.name)}"
    text = f"   <system-out>{_text(case.text)}</system-out>\n" if case.text else ""
    element = _ELEMENTS.get(case.verdict)
    if element is None:
        return f"{head}>\n{text}  </testcase>\n" if text else f"{head}/>\n"
    kind = f' type="{case.verdict}"' if element != "skipped" else ""
    opening = f"   <{element}{kind} message={_attribute(case.message)}"
    if element == "skipped":  # has no text in most schemas
        return f"{head}>\n{opening}/>\n{text}  </testcase>\n"
    return f"{head}>\n{opening}>{_text(case.text)}</{element}>\n  </testcase>\n"


def _attribute(text: str) -> str:
    return quoteattr(_FORBIDDEN.sub("", text))


def _text(text: str) -> str:
    return escape(_FORBIDDEN.sub("", text))
