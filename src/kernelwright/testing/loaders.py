"""The conformance suite of loaders.

Subclass ``LoaderContract`` in a test file of yours; pytest runs every ``test_`` method of it::

    class TestMine(LoaderContract):
        loader = MyLoader()

        def targets(self):
            return ["problem.mine"]
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from kernelwright.core import plugins
from kernelwright.core.errors import KernelwrightError
from kernelwright.core.task import Task
from kernelwright.loaders import Loader, open_reference
from kernelwright.testing.contract import (
    ContractError,
    require,
    require_clear,
    require_registered,
)

GROUP = "kernelwright.loaders"
STRANGERS: tuple[Any, ...] = (None, 0, 1.5, b"x", object(), (), {}, "", "no such thing", Path("/"))
"""Targets that no loader claims, and that every one is asked about."""


class LoaderContract:
    """What ``kernelwright.loaders`` relies on in every loader."""

    loader: ClassVar[Loader]

    def targets(self) -> Sequence[Any]:
        """Targets that the loader makes into tasks."""
        raise NotImplementedError("return targets that it can load")

    def broken(self) -> Sequence[Any]:
        """Targets that it claims by their form, and that hold no task."""
        return ()

    def test_it_is_registered(self) -> None:
        require_registered(self.loader, GROUP)

    def test_it_claims_its_targets_and_no_others(self) -> None:
        for target in self.targets():
            self._require_claim(target, True)
        for target in STRANGERS:
            self._require_claim(target, False)

    def test_no_other_loader_claims_its_targets(self) -> None:
        for name in plugins.names(GROUP):
            other = plugins.find(GROUP, name)
            if type(other) is type(self.loader):
                continue
            for target in self.targets():
                require(
                    not other.claims(target),
                    f'the loader "{name}" claims the same target',
                    seen=target,
                    do="claim a form that no other loader reads: the first that claims is used",
                )

    def test_its_tasks_can_be_opened(self) -> None:
        for target in self.targets():
            task = self.loader.load(target, name="contract")
            require(
                isinstance(task, Task),
                "load returns no Task",
                seen=type(task).__name__,
                do="return a kernelwright.Task, whose text is in KernelBench's format",
            )
            require(
                task.name == "contract",
                "the task does not bear the name that was asked for",
                seen=task.name,
                do="pass name on to Task",
            )
            reference = open_reference(task)
            reference.build(0)
            reference.inputs(0)

    def test_the_same_target_gives_the_same_task(self) -> None:
        for target in self.targets():
            digests = {self.loader.load(target).digest for _ in range(2)}
            digests.add(type(self.loader)().load(target).digest)
            require(
                len(digests) == 1,
                "the same target gives different tasks",
                seen=target,
                do="keep no state, and write nothing into the text that changes, such as a time",
            )

    def test_a_target_that_holds_no_task_is_a_clear_error(self) -> None:
        for target in self.broken():
            try:
                self.loader.load(target)
            except KernelwrightError as error:
                require_clear(error, f"about {target!r}")
            except Exception as error:
                raise ContractError(
                    f"load(target) raises {type(error).__name__}",
                    seen=f"{error}, for {target!r}",
                    do="raise TaskError(what, seen=..., do=...)",
                ) from error
            else:
                raise ContractError(
                    "a target that holds no task is loaded",
                    seen=target,
                    do="raise TaskError(what, seen=..., do=...)",
                )

    def _require_claim(self, target: Any, wanted: bool) -> None:
        try:
            found = self.loader.claims(target)
        except Exception as error:
            raise ContractError(
                f"claims(target) raises {type(error).__name__}",
                seen=f"{error}, for {target!r}",
                do="look at the target's form only, and return False for any other",
            ) from error
        require(
            found is wanted,
            f"claims(target) is {found!r} for a target that it {'loads' if wanted else 'does not'}",
            seen=target,
            do="return True for the form that it reads, and False for any other",
        )
