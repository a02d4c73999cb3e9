"""The conformance suite of dialects.

Subclass ``DialectContract`` in a test file of yours; pytest runs every ``test_`` method of it::

    class TestMine(DialectContract):
        dialect = MyDialect()
        examples = (CANDIDATE,)
"""

from __future__ import annotations

import ast
import os
import re
from typing import Any, ClassVar

from kernelwright.core.candidate import Candidate
from kernelwright.core.device import JUDGED, Device
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.dialects.base import Dialect
from kernelwright.judge import Judge
from kernelwright.testing.contract import DEVICES, ContractError, require, require_registered

GROUP = "kernelwright.dialects"
STRANGERS = ("", "from x import *\n", "def f(*a, b: int = 1): yield (lambda: ...)\n")
"""Texts that a dialect must bear, whatever it says about them."""
_NAME = re.compile(r"[a-z][a-z0-9_]*")


class DialectContract:
    """What the judge, the search and the command line rely on in every dialect."""

    dialect: ClassVar[Dialect]
    examples: ClassVar[tuple[str, ...]]
    """Texts of candidates in the dialect."""
    others: ClassVar[tuple[str, ...]] = ("import torch\n", "x = 1\n")
    """Texts of files that are not in it."""
    task: ClassVar[str] = ""
    """The text of a task, in KernelBench's format, that the first of the ``examples`` solves. With
    it the example is judged on each device where the dialect works here."""

    def test_it_is_registered_under_its_name(self) -> None:
        name = self.dialect.name
        require(
            isinstance(name, str) and _NAME.fullmatch(name) is not None,
            "the name of a dialect is a word of small letters, digits and underscores",
            seen=name,
            do="choose one, such as 'cpp': users type it after --dialect",
        )
        require_registered(self.dialect, GROUP)

    def test_it_says_for_every_device_what_is_missing(self) -> None:
        for device in DEVICES:
            missing = self._asked("missing", device)
            if missing is None:
                continue
            require(
                isinstance(missing, str) and "; " in missing and "\n" not in missing,
                f"missing({device}) is neither None nor one line of 'what; remedy'",
                seen=missing,
                do="say what this machine lacks, then after a semicolon how to get it",
            )

    def test_it_says_for_every_device_whether_its_times_count(self) -> None:
        for device in DEVICES:
            found = self._asked("is_timed", device)
            require(
                isinstance(found, bool),
                f"is_timed({device}) is not a bool",
                seen=found,
                do="return True where a time measured on the device says something",
            )

    def test_its_environment_is_names_and_texts(self) -> None:
        for device in DEVICES:
            before = dict(os.environ)
            found = self._asked("environment", device)
            fits = isinstance(found, dict) and all(
                isinstance(text, str) and text and "\0" not in text
                for pair in found.items()
                for text in pair
            )
            require(
                fits and not any("=" in name for name in found),
                f"environment({device}) is not a dict of names and texts",
                seen=found,
                do="leave out a variable that has no value",
            )
            require(
                dict(os.environ) == before,
                f"environment({device}) changes the environment of this process",
                seen=sorted(set(os.environ.items()) ^ set(before.items())),
                do="return the variables: the judge sets them for the candidate's process alone",
            )

    def test_it_keeps_no_state(self) -> None:
        for device in DEVICES:
            for question in ("missing", "is_timed", "environment"):
                first = self._asked(question, device)
                if isinstance(first, dict):
                    first, given = dict(first), first
                    given["KERNELWRIGHT_CONTRACT"] = "1"  # the caller may add to its copy
                again = getattr(type(self.dialect)(), question)(device)
                require(
                    self._asked(question, device) == first == again,
                    f"{question}({device}) is not the same when it is asked again",
                    seen=(first, self._asked(question, device), again),
                    do="answer from the machine and the device alone, with a new dict each time",
                )

    def test_it_recognises_its_own_files_and_no_others(self) -> None:
        for texts, wanted in ((self.examples, True), (self.others, False), (STRANGERS, None)):
            for text in texts:
                found = self._recognises(text)
                require(
                    isinstance(found, bool),
                    "recognises(tree) is not a bool",
                    seen=found,
                    do="return True or False",
                )
                require(
                    wanted is None or found is wanted,
                    f"recognises is {found} for a file {'in' if wanted else 'not in'} the dialect",
                    seen=text[:200],
                    do="look at imports, calls and texts of the tree that only the dialect has",
                )

    def test_an_example_is_judged_right(self) -> None:
        if not self.task:
            return
        task = Task("contract", "kernelbench", self.task)
        candidate = Candidate(self.examples[0], self.dialect.name)
        for device in map(Device.parse, JUDGED):
            if self.dialect.missing(device) is not None:
                continue
            settings = Settings(device=str(device), threads=1)
            with Judge(task, device=device, settings=settings) as judge:
                verdict = judge.evaluate(candidate, timed=False)
            require(
                verdict.passed,
                f"the first example does not pass on {device}",
                seen=f"{verdict.status}: {verdict.why}",
                do="see that environment() names all that its build and its run need",
            )

    def _asked(self, question: str, device: Device) -> Any:
        try:
            return getattr(self.dialect, question)(device)
        except Exception as error:
            raise ContractError(
                f"{question}({device}) raises {type(error).__name__}",
                seen=str(error),
                do="answer for every kind of device, also for those that this machine lacks",
            ) from error

    def _recognises(self, text: str) -> Any:
        tree = ast.parse(text)
        before = ast.dump(tree)
        try:
            found = self.dialect.recognises(tree)
        except Exception as error:
            raise ContractError(
                f"recognises(tree) raises {type(error).__name__}",
                seen=f"{error}, for {text!r}",
                do="return False for files that it does not understand",
            ) from error
        require(
            ast.dump(tree) == before,
            "recognises(tree) changes the tree",
            seen=text[:200],
            do="only read it: the other dialects are asked about the same one",
        )
        return found
