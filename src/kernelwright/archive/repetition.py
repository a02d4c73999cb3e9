"""A receipt beside the verdict of its repetition: does it stand?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kernelwright.archive.receipt import Receipt
from kernelwright.core.evaluation import Evaluation, Ratio
from kernelwright.core.outcome import Status

ABSENT = "not there"


@dataclass(frozen=True)
class Repetition:
    """A receipt and the verdict that was reached when its candidate was judged again.

    The seeds of the repetition are fresh: the one in the receipt says what was, and a judge whose
    seed is known beforehand could be prepared for.
    """

    receipt: Receipt
    evaluation: Evaluation

    @property
    def stands(self) -> bool | None:
        """Whether status and speedup are those of the receipt.

        None where either was not measured, or so badly that nearly any speedup would agree.
        """
        if Status.INFRA_ERROR in (self.receipt.evaluation.status, self.evaluation.status):
            return None
        if self.differences:
            return False
        return None if self._too_wide else True

    @property
    def differences(self) -> tuple[str, ...]:
        """The reasons why the receipt does not stand: another status, or another speedup."""
        before, after = self.receipt.evaluation, self.evaluation
        if before.status is not after.status:
            why = f" ({after.why})" if after.reasons else ""
            return (f"the status was {before.status} and is {after.status}{why}",)
        if before.speedup is None or after.speedup is None:
            if before.speedup is after.speedup:
                return ()
            return (f"it was {_timed(before)} and is {_timed(after)}",)
        if overlap(before.speedup, after.speedup):
            return ()
        moved = after.speedup.median / before.speedup.median - 1
        return (
            f"the speedup against the strongest library setting was {before.speedup} and "
            f"is {after.speedup}: moved by {moved:+.1%}",
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Other differences, of software or machine, which may explain those of the result."""
        before, after = self.receipt.evaluation, self.evaluation
        pairs: list[tuple[str, Any, Any]] = [
            ("judge version", before.judge_version, after.judge_version),
            ("strongest library setting", _strongest(before), _strongest(after)),
            ("kind", " ".join(before.kinds), " ".join(after.kinds)),
            ("device", before.environment.device, after.environment.device),
            *_facts(before.environment.facts, after.environment.facts),
        ]
        said = [f"{name}: {_word(was)} → {_word(now)}" for name, was, now in pairs if was != now]
        said += _lost("guarantee that held then and not now", before.guarantees, after.guarantees)
        known = {warned.detail for warned in before.warnings}
        said += _lost("new warning", [one.detail for one in after.warnings], known)
        said += [f"too wide to say anything: {which} speedup" for which in self._too_wide]
        return tuple(said)

    @property
    def _too_wide(self) -> tuple[str, ...]:
        """Of which verdicts the speedup is not known well enough."""
        named = (("the receipt's", self.receipt.evaluation), ("the new", self.evaluation))
        return tuple(
            which for which, one in named if one.speedup is not None and not one.speedup.is_known
        )


def overlap(one: Ratio, other: Ratio) -> bool:
    """Whether two intervals have a point in common."""
    return one.low <= other.high and other.low <= one.high


def _facts(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    names = dict.fromkeys((*before, *after))
    return [(name, before.get(name, ABSENT), after.get(name, ABSENT)) for name in names]


def _lost(what: str, whole: Iterable[str], kept: Iterable[str]) -> list[str]:
    return [f"{what}: {item}" for item in whole if item not in set(kept)]


def _word(value: Any) -> str:
    return "–" if value == "" else str(value)


def _strongest(evaluation: Evaluation) -> str:
    return evaluation.timing.strongest if evaluation.timing else ""


def _timed(evaluation: Evaluation) -> str:
    return "not timed" if evaluation.timing is None else "timed"
