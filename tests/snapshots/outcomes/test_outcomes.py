"""docs/reference/outcomes.md lists every code; `pytest --snapshot-update` writes it anew."""

from itertools import groupby
from pathlib import Path

from kernelwright.core.outcome import ReasonCode, WarningCode

DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "outcomes.md"
INTRODUCTION = """\
# Outcomes

A verdict that does not pass has reasons, and any verdict may have warnings. Each is a `code` with a
`detail`: in JSON, in receipts, in the archive, and in Python
(`kernelwright.core.outcome.ReasonCode`, `WarningCode`). The code is the judge's. The detail is for
people and may quote the candidate's own words, so decide by the code.

An archive or a receipt of before the codes opens: a text of a known shape gets its code, any other
is `unclassified`, and the whole text stays as the detail.
"""


def document() -> str:
    parts = [INTRODUCTION, "## Reasons\n"]
    for status, codes in groupby(ReasonCode, key=lambda code: code.status):
        parts.append(f"### {status or 'any status'}\n\n{table(codes)}")
    return "\n".join([*parts, f"## Warnings\n\n{table(WarningCode)}"])


def table(codes) -> str:
    rows = [f"| `{code}` | {code.meaning} |" for code in codes]
    return "\n".join(["| code | meaning |", "|---|---|", *rows]) + "\n"


def test_the_page_lists_every_code(request):
    if request.config.getoption("update_snapshots"):
        DOCUMENT.write_text(document())
    wanted = "run pytest tests/snapshots/outcomes --snapshot-update"
    assert DOCUMENT.read_text() == document(), wanted
    assert all(document().count(f"| `{code}` |") for code in (*ReasonCode, *WarningCode))
