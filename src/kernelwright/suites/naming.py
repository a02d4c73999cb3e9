"""The problem of a suite that a candidate's file is for, identified by the file's name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from kernelwright.suites.suite import SuiteEntry

END = r"(?![0-9a-zA-Z])"
_LEVEL = re.compile(rf"level_?(\d+){END}")
_SPELT = re.compile(rf"level_?(?P<level>\d+)[_-]problem_?(?P<problem>\d+){END}")
_PAIR = re.compile(rf"(?P<level>\d+)_(?P<problem>\d+){END}")
_ALONE = re.compile(rf"(?:problem_?)?(?P<problem>\d+){END}")


def entry_for(path: PurePath, entries: Sequence[SuiteEntry]) -> SuiteEntry | None:
    """Return the entry that a path, relative to the candidates' folder, names; None if none or
    several.

    The file's name is looked at first, then its folders from the inside out. A name identifies the
    problem by its own name (``softmax.py``, ``softmax_v2.py``), by level and number
    (``level_1_problem_3_sample_0.py`` as KernelBench writes them, ``1_3.py``, ``1_3_mine.py``), or
    by number alone (``3_mine.py``) if a folder (``level1/``), or the suite because it has only one
    level, gives the level.
    """
    words = (path.stem, *reversed(path.parent.parts))
    levels = {match[1] for word in words if (match := _LEVEL.match(word))}
    levels = levels or {entry.level for entry in entries}
    for word in words:
        entry = _by_name(word, entries, levels) or _by_number(word, entries, levels)
        if entry is not None:
            return entry
    return None


def _by_name(word: str, entries: Sequence[SuiteEntry], levels: set[str]) -> SuiteEntry | None:
    named = [e for e in entries if re.match(re.escape(e.name.rstrip("_")) + END, word)]
    longest = max((len(entry.name) for entry in named), default=0)
    return _only([e for e in named if len(e.name) == longest], levels)


def _by_number(word: str, entries: Sequence[SuiteEntry], levels: set[str]) -> SuiteEntry | None:
    for pattern in (_SPELT, _PAIR, _ALONE):
        match = pattern.match(word)
        if match is not None:
            said = match.groupdict()
            wanted = {said["level"]} if "level" in said else levels
            return _only([e for e in entries if str(e.problem) == said["problem"]], wanted)
    return None


def _only(entries: list[SuiteEntry], levels: set[str]) -> SuiteEntry | None:
    if len(entries) > 1 or (entries and entries[0].level.isdigit()):
        entries = [entry for entry in entries if entry.level in levels]
    return entries[0] if len(entries) == 1 else None
