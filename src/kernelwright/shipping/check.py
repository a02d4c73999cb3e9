"""Packaged kernels judged again on this machine and software: still right, still faster?"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.archive.receipt import Receipt
from kernelwright.archive.repetition import Repetition
from kernelwright.core.candidate import Candidate
from kernelwright.core.errors import KernelwrightError, ReceiptError
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.outcome import Status
from kernelwright.core.places import as_text, written_whole
from kernelwright.core.standing import Standing
from kernelwright.report import facts
from kernelwright.search.again import judge_again
from kernelwright.shipping.package import package_at
from kernelwright.shipping.source import receipts_beside

RIGHT, WRONG, UNKNOWN = "right", "wrong", "not judged"
NOT_FASTER = (Standing.NO_FASTER, Standing.SLOWER)


@dataclass(frozen=True)
class Checked:
    """One package with its new verdict, or with the error that stood in the way."""

    path: Path
    repetition: Repetition | None = None
    error: KernelwrightError | None = None

    @property
    def evaluation(self) -> Evaluation | None:
        return None if self.repetition is None else self.repetition.evaluation

    @property
    def rightness(self) -> str:
        """Whether the kernel is still right."""
        if self.evaluation is None or self.evaluation.status is Status.INFRA_ERROR:
            return UNKNOWN
        return RIGHT if self.evaluation.passed else WRONG

    @property
    def speed(self) -> Standing:
        """Whether it is still faster than the strongest library setting."""
        return Standing.NOT_TIMED if self.evaluation is None else self.evaluation.standing

    @property
    def stands(self) -> bool:
        return (self.rightness, self.speed) == (RIGHT, Standing.FASTER)

    @property
    def why(self) -> str:
        """Why it does not stand; empty where it does."""
        if self.error is not None:
            return "; ".join(filter(None, (self.error.what, self.error.seen)))
        if self.evaluation is None or self.stands:
            return ""
        if not self.evaluation.passed:
            return f"{self.evaluation.status}: {self.evaluation.why}"
        return "; ".join(
            (facts.standing_text(self.evaluation), *(w.detail for w in self.evaluation.warnings))
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What of machine, software and result is another than in the receipt."""
        if self.repetition is None:
            return ()
        return (*self.repetition.differences, *self.repetition.notes)


def check(path: Path, overrides: Mapping[str, Any]) -> Checked:
    """Judge the kernel of a package again, with the settings of its receipt under ``overrides``.

    An error is part of the answer: one bad package does not stop the check of others.
    """
    try:
        return Checked(path, judge_again(*_shipped(path), overrides))
    except KernelwrightError as error:
        return Checked(path, error=error)


def _shipped(path: Path) -> tuple[Receipt, Candidate]:
    """The receipt of a package, and the kernel as it is there now.

    Raises:
        ReceiptError: there is no receipt.
        TaskError: the package cannot be read.
    """
    if package := package_at(path):
        if package.receipt is None:
            raise _no_receipt(path, "a package without receipt.json")
        return package.receipt, package.candidate(package.receipt.task)
    if path.suffix == ".json":
        receipt = Receipt.read(path)
        return receipt, receipt.candidate
    if path.suffix == ".py" and path.is_file():
        text = path.read_text(encoding="utf-8", errors="replace")
        for receipt in receipts_beside(path):
            if receipt.candidate.source == text:
                return receipt, receipt.candidate
        raise _no_receipt(path, f"no receipt of this text among the files of {path.parent}")
    raise _no_receipt(path, "no package and no candidate" if path.exists() else "nothing there")


def _no_receipt(path: Path, seen: str) -> ReceiptError:
    return ReceiptError(
        f"{path} cannot be checked",
        seen=seen,
        do="name a package of `kernelwright export`, or a receipt of `judge --receipt`",
    )


def write_junit(checked: Sequence[Checked], path: Path) -> None:
    """Write the results as JUnit's XML, which CI systems read: a wrong or slower kernel is a
    failure, and one that could not be judged or measured an error.

    Raises:
        OSError: the file cannot be written.
    """
    failures = [one for one in checked if _is_failure(one)]
    errors = [one for one in checked if not one.stands and one not in failures]
    counts = {"tests": len(checked), "failures": len(failures), "errors": len(errors)}
    attributes = {"name": "kernelwright check", **{k: str(n) for k, n in counts.items()}}
    suite = ET.Element("testsuite", attributes)
    for one in checked:
        case = ET.SubElement(suite, "testcase", classname="kernelwright", name=as_text(one.path))
        if one.evaluation is not None:
            cost = one.evaluation.cost
            case.set("time", f"{cost.build_s + cost.check_s + cost.time_s:.3f}")
        if not one.stands:
            kind = "failure" if one in failures else "error"
            ET.SubElement(case, kind, message=_printable(one.why))
        if one.notes:
            ET.SubElement(case, "system-out").text = _printable("\n".join(one.notes))
    suites = ET.Element("testsuites")
    suites.append(suite)
    with written_whole(path) as partial:
        ET.ElementTree(suites).write(partial, encoding="utf-8", xml_declaration=True)


def _is_failure(one: Checked) -> bool:
    return one.rightness == WRONG or (one.rightness == RIGHT and one.speed in NOT_FASTER)


def _printable(text: str) -> str:
    """The text without the control characters that XML does not know."""
    return "".join(c for c in text if c.isprintable() or c in "\n\t")
