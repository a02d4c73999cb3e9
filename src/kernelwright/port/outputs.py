"""The output of a port: it overwrites only files that an earlier port wrote."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kernelwright.core.errors import UsageError
from kernelwright.core.places import require_file, written_whole
from kernelwright.port.exact import read_exact, write_exact

REPORT = "port.json"
MARK = '{\n "to": "'
"""The beginning of a report."""


def output_path(under: Path, name: str, to: str) -> Path:
    """Return the path of a file's translation: .cu becomes .hip, and the reverse."""
    path = under / name
    if path.suffix in (".cu", ".hip"):
        path = path.with_suffix(".hip" if to == "hip" else ".cu")
    return path


def write_outputs(under: Path, places: Mapping[Path, Path], texts: Mapping[Path, str]) -> None:
    """Write texts by their paths; ``places`` maps sources to the paths of their translations.

    Raises:
        UsageError: two sources have one path, or a file exists that no port wrote, or that was
            changed since. Nothing is written in that case.
    """
    _require_apart(places)
    require_file(under / REPORT, "report of a port", MARK)
    recorded = _recorded(under)
    for path, text in texts.items():
        if path.exists() and _digest(path) != recorded.get(_name(path, under)):
            _require_same(path, text)
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as partial:
            write_exact(partial, text)


def write_report(under: Path, report: Mapping[str, Any], paths: Iterable[Path]) -> None:
    """Write the report of a port, with the digests of its files."""
    digests = {_name(path, under): _digest(path) for path in paths}
    with written_whole(under / REPORT) as partial:
        partial.write_text(json.dumps({**report, "digests": digests}, indent=1))


def _require_apart(places: Mapping[Path, Path]) -> None:
    sources = {source.resolve(): source for source in places}
    taken: dict[Path, Path] = {}
    for source, place in places.items():
        if place.resolve() in sources:
            raise UsageError(
                f"{source} would be written over {sources[place.resolve()]}",
                seen=f"--out {place.parent}",
                do="give --out another folder",
            )
        if place in taken:
            raise UsageError(
                f"two sources would be written to {place}",
                seen=f"{taken[place]}, {source}",
                do="rename one of them, or move the one that needs no port",
            )
        taken[place] = source


def _require_same(path: Path, text: str) -> None:
    """Refuse to overwrite a file whose text differs; an interrupted port may have left the same
    text."""
    if read_exact(path) != text:
        raise UsageError(
            f"{path} exists, and its text is not that of the last port",
            seen=f"a text that differs from the one recorded in {REPORT}",
            do="move it away to keep its changes, or give --out another folder",
        )


def _recorded(under: Path) -> Mapping[str, str]:
    """Return the digests of the last port's files; empty if its report is damaged."""
    try:
        return json.loads((under / REPORT).read_text()).get("digests", {})
    except (FileNotFoundError, ValueError):
        return {}


def _name(path: Path, under: Path) -> str:
    return str(path.relative_to(under))


def _digest(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
