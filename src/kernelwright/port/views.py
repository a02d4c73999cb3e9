"""A port for its reviewer: a patch, a page with both sides, and findings for code hosts."""

from __future__ import annotations

import difflib
import json
from importlib import metadata

from jinja2 import Environment, PackageLoader

from kernelwright.hipify import Finding, State
from kernelwright.port.report import PortedFile, PortReport

LEVELS = {State.UNPORTED: "error", State.CHANGED: "warning", State.REPAIRED: "note"}
"""SARIF's level of each state that is reported. Source: SARIF 2.1.0, 3.27.10."""
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
RULES = {
    State.UNPORTED: "The construct was left as it was.",
    State.CHANGED: "The construct was translated, and its meaning differs.",
    State.REPAIRED: "The text was changed, because it would have computed something else.",
}


def as_patch(report: PortReport) -> str:
    """Return a unified patch from the originals to the port; moved files are named as moved."""
    return "".join(_patch(file, report.to) for file in report.files)


def _patch(file: PortedFile, to: str) -> str:
    before, after = file.original, file.translation.text
    name = ported_name(file, to)
    if before == after and name == file.path:
        return ""
    head = [f"diff --git a/{file.path} b/{name}\n"]
    if name != file.path:
        head += [f"rename from {file.path}\n", f"rename to {name}\n"]
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True),
        f"a/{file.path}", f"b/{name}",
    )  # fmt: skip
    body = [
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    ]
    return "".join([*head, *body])


def ported_name(file: PortedFile, to: str) -> str:
    """Return the path of a file's translation in the port."""
    old, new = (".cu", ".hip") if to == "hip" else (".hip", ".cu")
    return file.path.removesuffix(old) + new if file.path.endswith(old) else file.path


def as_sarif(report: PortReport) -> str:
    """Return the findings in SARIF 2.1.0, at the lines of the originals."""
    results = [
        _result(file.path, finding) for file, finding in report.findings if finding.state in LEVELS
    ]
    driver = {
        "name": "kernelwright port",
        "version": metadata.version("kernelwright"),
        "rules": [
            {"id": str(state), "shortDescription": {"text": text}} for state, text in RULES.items()
        ],
    }
    runs = [{"tool": {"driver": driver}, "results": results}]
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": runs}, indent=1)


def _result(path: str, finding: Finding) -> dict[str, object]:
    parts = (finding.construct, finding.reason, finding.advice)
    place = {
        "artifactLocation": {"uri": path},
        "region": {"startLine": max(1, finding.line)},
    }
    return {
        "ruleId": str(finding.state),
        "level": LEVELS[finding.state],
        "message": {"text": "; ".join(part for part in parts if part)},
        "locations": [{"physicalLocation": place}],
    }


def as_page(report: PortReport) -> str:
    """Return one HTML page: the summary, rungs, and both sides of each file with the findings at
    their lines."""
    environment = Environment(loader=PackageLoader("kernelwright.port", "."), autoescape=True)
    files = [
        {
            "path": file.path,
            "became": ported_name(file, report.to),
            "rungs": file.rungs,
            "rows": _rows(file),
        }
        for file in report.files
    ]
    page = environment.get_template("page.html.j2")
    return page.render(summary=report.summary, files=files, to=report.to)


def _rows(file: PortedFile) -> list[dict[str, object]]:
    """Return the rows of a file: the line on each side, and the findings at the original's."""
    before, after = file.original.splitlines(), file.translation.text.splitlines()
    found: dict[int, list[Finding]] = {}
    for finding in file.translation.findings:
        if finding.state in LEVELS:
            found.setdefault(finding.line, []).append(finding)
    rows: list[dict[str, object]] = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, low, high, first, last in matcher.get_opcodes():
        for i in range(max(high - low, last - first)):
            left, right = low + i, first + i
            rows.append(
                {
                    "kind": kind,
                    "line": left + 1 if left < high else "",
                    "before": _readable(before[left]) if left < high else "",
                    "became": right + 1 if right < last else "",
                    "after": _readable(after[right]) if right < last else "",
                    "findings": found.get(left + 1, ()) if left < high else (),
                }
            )
    return rows


def _readable(line: str) -> str:
    return line.encode(errors="surrogateescape").decode(errors="replace")
