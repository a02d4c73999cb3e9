"""Cases: the candidates of a zoo, each with the verdict that it must get.

A zoo is a folder with a ``catalogue.toml``, whose head says what its rows mean, and one folder
``FAMILY/TASK`` for each task: the reference is ``task.py``; the candidates lie in ``cheats`` and
``honest``. A candidate is judged as one standalone text. What many of them share is kept once, in a
file beside the catalogue, and takes the place of the line that imports it: ``from zoo.cpp import
build`` becomes the text of ``cpp.py``.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kernelwright.core.candidate import Candidate
from kernelwright.core.errors import UsageError, nearest
from kernelwright.core.outcome import Status, WarningCode
from kernelwright.core.task import Task
from kernelwright.loaders import load

ZOO = Path("zoo")
"""The zoo of a checkout, seen from its root."""
CATALOGUE = "catalogue.toml"
KINDS = {"cheats": "cheat", "honest": "honest"}
"""The kind of a case by the name of its file's folder."""
_SHARED = re.compile(r"^from zoo\.(\w+) import [\w, ]+\n", re.M)


@dataclass(frozen=True)
class Case:
    """One candidate, and the verdict that the judge owes it."""

    path: Path
    """``ZOO/FAMILY/TASK/cheats/NAME.py``, or ``honest`` in place of ``cheats``."""
    codes: tuple[str, ...] = ()
    """What kind of cheat it is: keys of the catalogue's ``[codes]``."""
    dialect: str = "torch"
    devices: tuple[str, ...] = ("cpu", "cuda")
    """Kinds of device that it can run on."""
    expect: tuple[Status, ...] = (Status.PASSED,)
    """The statuses that it may get. A cheat that may pass is bound by the fields below."""
    max_speedup: float | None = None
    """The speedup over the strongest baseline that it must stay below if it passes."""
    counts_as: tuple[str, ...] = ()
    """The kinds of win that a timed verdict must find."""
    never_counts_as: tuple[str, ...] = ()
    """The kinds of win that a verdict must not find."""
    warns: tuple[WarningCode, ...] = ()
    """A passing verdict must have a warning with one of these codes."""
    needs_clock: bool = False
    """Whether only a timed verdict can tell that it cheats."""
    threads: int = 0
    """CPU threads that the judge is told to grant; 0 means all."""
    requires: str = ""
    """A package without which it cannot run."""
    slow: bool = False
    """Whether a verdict takes more than ten seconds."""
    note: str = ""

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def task(self) -> str:
        """The task's name."""
        return self.path.parts[-3]

    @property
    def kind(self) -> str:
        """'cheat' or 'honest'."""
        return KINDS[self.path.parent.name]

    @property
    def is_cheat(self) -> bool:
        return self.kind == "cheat"

    @cached_property
    def candidate(self) -> Candidate:
        """The candidate's standalone text, as it is judged."""
        return Candidate(render(self.path), self.dialect)

    def load_task(self) -> Task:
        """The task that the candidate is for."""
        return load(str(self.path.parents[1] / "task.py"), name=self.task)

    def is_runnable(self) -> bool:
        """Whether the package that it requires is here."""
        return not self.requires or importlib.util.find_spec(self.requires) is not None


def cases(path: str | Path = ZOO, *, device: str | None = None) -> list[Case]:
    """The cases of the zoo at ``path``, or those for a kind of device; cheats first, by name.

    Raises:
        UsageError: there is no zoo at ``path``, or its catalogue does not describe its files.
    """
    root = Path(path)
    catalogue = read_catalogue(root)
    rows = catalogue["cases"]
    codes = catalogue.get("codes", {})
    found = [_read_row(root, file, row, codes) for file, row in rows.items()]
    unlisted = _candidate_files(root) - set(rows)
    if unlisted:
        file = min(unlisted)
        raise UsageError(f"{root / file} is not in the catalogue", do=f'add "{file}" to [cases]')
    known: dict[str, Case] = {}
    for case in found:
        if known.setdefault(case.name, case) is not case:
            raise UsageError(f'two cases are called "{case.name}"', do="rename one of them")
    chosen = [case for case in found if device is None or device in case.devices]
    return sorted(chosen, key=lambda case: (not case.is_cheat, case.name))


def read_catalogue(root: Path) -> dict[str, Any]:
    """The content of a zoo's catalogue.

    Raises:
        UsageError: no such folder, an empty one, no catalogue in it, or none that can be read.
    """
    path = root / CATALOGUE
    do = f"name a folder that holds {CATALOGUE}, such as zoo/ of a checkout"
    if not root.is_dir():
        raise UsageError(f"there is no zoo at {root}", seen="no such folder", do=do)
    if not path.is_file():
        seen = f"no {CATALOGUE} in it" if any(root.iterdir()) else "an empty folder"
        raise UsageError(f"there is no zoo at {root}", seen=seen, do=do)
    try:
        catalogue = tomllib.loads(path.read_text())
    except ValueError as error:
        raise UsageError(f"{path} cannot be read", seen=str(error), do="mend its TOML") from error
    if not catalogue.get("cases"):
        raise UsageError(f"{path} has no cases", do="list each candidate file under [cases]")
    return catalogue


def render(path: Path) -> str:
    """The standalone text of a candidate file: shared parts take the place of their imports.

    Raises:
        UsageError: a shared part is not there.
    """
    root = path.parents[3]

    def shared(match: re.Match[str]) -> str:
        part = root / f"{match[1]}.py"
        if not part.is_file():
            raise UsageError(f"{path} imports zoo.{match[1]}", seen=f"no {part}", do="add it")
        return _without_docstring(part.read_text())

    return _SHARED.sub(shared, path.read_text())


def _without_docstring(text: str) -> str:
    first = ast.parse(text).body[0]
    return "".join(text.splitlines(keepends=True)[first.end_lineno :]).lstrip("\n")


def _candidate_files(root: Path) -> set[str]:
    """The paths of all candidate files, relative to ``root``, as the catalogue names them."""
    found = (path for kind in KINDS for path in root.glob(f"*/*/{kind}/*.py"))
    return {path.relative_to(root).as_posix() for path in found}


def _read_row(root: Path, file: str, row: Mapping[str, Any], codes: Mapping[str, str]) -> Case:
    """The case that one row of the catalogue describes.

    Raises:
        UsageError: no such file, a key or code that is not known, or one is missing.
    """
    path = root / file
    if len(Path(file).parts) != 4 or path.parent.name not in KINDS or not path.is_file():
        raise UsageError(
            f'{root / CATALOGUE} lists "{file}"',
            seen="no such candidate file",
            do="name FAMILY/TASK/cheats/NAME.py or FAMILY/TASK/honest/NAME.py",
        )
    values: dict[str, Any] = {}
    for key, value in row.items():
        if key not in _READERS:
            raise UsageError(f'{file}: unknown key "{key}"', seen=key, do=nearest(key, _READERS))
        try:
            values[key] = _READERS[key](value)
        except (TypeError, ValueError) as error:
            raise UsageError(
                f'{file}: "{key}" does not fit', seen=str(error), do="mend the row"
            ) from error
    case = Case(path, **values)
    missing = {"codes", "expect"} - set(values) if case.is_cheat else set()
    if missing:
        raise UsageError(f"{file} lacks {', '.join(sorted(missing))}", do="add it to the row")
    for code in case.codes:
        if code not in codes:
            raise UsageError(f'{file}: unknown code "{code}"', seen=code, do=nearest(code, codes))
    return case


def _words(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise TypeError(f"{value!r} is not a list of words")
    return tuple(value)


def _statuses(value: Any) -> tuple[Status, ...]:
    return tuple(map(Status, _words(value)))


def _warnings(value: Any) -> tuple[WarningCode, ...]:
    return tuple(map(WarningCode, _words(value)))


def _exactly(kind: type) -> Callable[[Any], Any]:
    """A reader of values of one type."""

    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise TypeError(f"{value!r} is not of type {kind.__name__}")
        return value

    return read


_READERS: dict[str, Callable[[Any], Any]] = {
    "codes": _words,
    "dialect": _exactly(str),
    "devices": _words,
    "expect": _statuses,
    "max_speedup": _exactly(float),
    "counts_as": _words,
    "never_counts_as": _words,
    "warns": _warnings,
    "needs_clock": _exactly(bool),
    "threads": _exactly(int),
    "requires": _exactly(str),
    "slow": _exactly(bool),
    "note": _exactly(str),
}
