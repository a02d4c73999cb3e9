"""Files that rules could not finish: models are asked, and the ladder judges their answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kernelwright.hipify import Translation
from kernelwright.port.ladder import Rung, RungStatus
from kernelwright.proposers.port.repair import N_TRIES, Repair, Repairs, UnfinishedFile, repaired

Climb = Callable[[Translation], tuple[Rung, ...]]


def finished(
    work: UnfinishedFile,
    translation: Translation,
    rungs: tuple[Rung, ...],
    repairs: Repairs,
    climb: Climb,
) -> tuple[Translation, tuple[Rung, ...], tuple[Repair, ...]]:
    """Return the best text of a file after at most N_TRIES questions, the rungs it reached, and the
    calls.

    A text is better if every rung that passed before still passes, and more rungs pass or fewer
    faults are left. A rung that is not checked cannot be repaired, so no model is asked about it.

    Raises:
        ProposerError: a model cannot be asked at all.
    """
    made: list[Repair] = []
    unusable = ""
    for _ in range(N_TRIES):
        faults = faults_of(rungs)
        if not faults:
            break
        unfinished = replace(work, ported=translation.text, faults=faults)
        asked = repairs.ask(unfinished, unusable)
        if asked is None:
            break
        repair, text = asked
        unusable = repair.unusable
        if text:
            after = repaired(text, translation, model=repair.model, file=work.file)
            climbed = climb(after)
            if _is_better(climbed, rungs):
                translation, rungs, repair = after, climbed, replace(repair, is_kept=True)
        made.append(repair)
    return translation, rungs, tuple(made)


def faults_of(rungs: tuple[Rung, ...]) -> tuple[str, ...]:
    """Return the faults that rungs found."""
    return tuple(
        f"{rung.name}: {detail}"
        for rung in rungs
        if rung.status is RungStatus.FAILED
        for detail in rung.details
    )


def _is_better(after: tuple[Rung, ...], before: tuple[Rung, ...]) -> bool:
    passed = {rung.name for rung in before if rung.status is RungStatus.PASSED}
    passes = {rung.name for rung in after if rung.status is RungStatus.PASSED}
    if not passed <= passes:
        return False
    return len(passes) > len(passed) or len(faults_of(after)) < len(faults_of(before))
